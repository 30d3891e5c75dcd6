import Foundation

/// The formats in which documents can be stored.
enum DocumentFormat: String, Sendable {
    case json
    case plist

    func decode<Value: Decodable>(_ type: Value.Type, _ bytes: Data) throws -> Value {
        switch self {
        case .json: try Coders.value(type, inJSON: Array(bytes))
        case .plist: try Coders.value(type, inPropertyList: bytes)
        }
    }

    func encode<Value: Encodable>(_ value: Value) throws -> Data {
        switch self {
        case .json: try Coders.jsonEncoder.encode(value)
        case .plist: try Coders.propertyList(of: value)
        }
    }
}

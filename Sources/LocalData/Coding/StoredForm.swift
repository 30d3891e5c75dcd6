import BackendContract
import Foundation

/// How the values of a key are stored: as its serializer's bytes, with one exception.
///
/// A `Data` value of the serializer `.json` is stored as its bytes, under the serializer's name `data`: as JSON it is text in base64, a third longer. Values that
/// earlier versions stored as JSON are still read.
extension TypedKey {
    /// The name of the serializer that is stored beside a value.
    var storedSerializer: String { storesBytes ? Self.bytesName : typed.serializer.name }

    /// The stored bytes of a value; those of the records that it refers to are collected.
    func storedBytes(of value: Value, _ references: ReferenceCollector? = nil) throws -> [UInt8] {
        if storesBytes, let data = value as? Data { return Array(data) }
        return try references?.encoding(value, typed.serializer) ?? Array(try typed.serializer.encode(value))
    }

    /// The serializer that reads what a serializer of some name has stored: the one that wrote it, if both are built in.
    /// - Parameters:
    ///   - name: The stored name; nil for bytes of another program.
    ///   - typeTag: The stored name of the value's type. The serializer `.data` reads what another one wrote of any other type as it is.
    func reading(_ name: String?, typeTag: String?) -> Serializer<Value> {
        let own = typed.serializer
        let isOfType = own.name != Self.bytesName || typeTag == String(describing: Value.self)
        guard let name, name != own.name, isOfType, ["json", "plist", Self.bytesName].contains(own.name) else { return own }
        return switch name {
        case "json": .json
        case "plist": .plist
        case Self.bytesName: .bytes(else: own)
        default: own
        }
    }

    private var storesBytes: Bool { Value.self == Data.self && typed.serializer.name == "json" }
    private static var bytesName: String { "data" }
}

extension Serializer {
    /// Reads bytes as a value that can be made of data: `Data`, or a document. Other values are read as by another serializer.
    fileprivate static func bytes(else other: Serializer) -> Serializer {
        Serializer(name: "data", encode: other.encode) { data in
            do { return try NativeCoding.decodeForeign(.data(Array(data)), as: Value.self) } catch { return try other.decode(data) }
        }
    }
}

extension Serializer<StoredDocument> {
    /// Data as a document that is nothing else.
    static var dataDocument: Serializer {
        Serializer(
            name: "data",
            encode: { document in
                guard case .data(let data) = document.root else { throw CocoaError(.coderInvalidValue) }
                return data
            },
            decode: { StoredDocument(.data($0)) })
    }
}

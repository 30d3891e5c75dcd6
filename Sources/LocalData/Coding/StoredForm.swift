import BackendContract
import Foundation

/// The stored form of a key's values: the bytes of its serializer, with one exception.
///
/// A `Data` value with the serializer `.json` is stored as its bytes, under the serializer name `data`. As JSON it
/// would be Base64 text, which is a third longer. Values that earlier versions stored as JSON can still be read.
extension TypedKey {
    /// The name of the serializer in the metadata of stored values.
    var storedSerializer: String { storesBytes ? Self.bytesName : typed.serializer.name }

    /// Returns the stored bytes of a value.
    /// - Parameter references: Collects the records that the value holds in its references.
    func storedBytes(of value: Value, _ references: ReferenceCollector? = nil) throws -> [UInt8] {
        if storesBytes, let data = value as? Data { return Array(data) }
        return try references?.encoding(value, typed.serializer) ?? Array(try typed.serializer.encode(value))
    }

    /// Returns the serializer for reading stored bytes. It is the one that wrote the bytes, if that one and the key's
    /// serializer are both built in. Otherwise it is the key's serializer.
    /// - Parameters:
    ///   - name: The stored name of the serializer; nil for bytes of another program.
    ///   - typeTag: The stored name of the value's type. If it is not the key's type, a key with the serializer `.data`
    ///     reads the bytes unchanged.
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

    // Reason: "A Data value is stored as its bytes" in Docs/Decisions/Stores.md.
    private var storesBytes: Bool { Value.self == Data.self && typed.serializer.name == "json" }
    private static var bytesName: String { "data" }
}

extension Serializer {
    /// Returns a serializer for bytes that were stored as `Data`. It decodes them as `Data` or as a document; for all
    /// other types it uses another serializer.
    /// - Parameter other: The serializer for all other types.
    fileprivate static func bytes(else other: Serializer) -> Serializer {
        Serializer(name: "data", encode: other.encode) { data in
            do { return try NativeCoding.decodeForeign(.data(Array(data)), as: Value.self) } catch { return try other.decode(data) }
        }
    }
}

extension Serializer<StoredDocument> {
    /// A serializer for documents that consist of one `Data` value. It stores the bytes of this value.
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

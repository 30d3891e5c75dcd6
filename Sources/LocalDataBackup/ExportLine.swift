import BackendContract
import Foundation
import LocalData

/// A line of an export: one value and its metadata, as JSON.
struct ExportLine<Value: Codable>: Codable {
    /// The description of the domain, with its scope.
    var domain: String
    /// The collection of a record; omitted for a key.
    var collection: String?
    /// The key's name, or the record's id.
    var name: String
    var value: Value
    /// ``ExportLineHead/bytes`` if the value is bytes, which JSON writes as Base64; omitted for other values.
    var kind: String?
    /// The attributes of a record; omitted if there are none.
    var attributes: [String: String]?
    /// The expiration date in seconds since 1970; omitted if the value never expires.
    var expires: Double?
}

/// The part of a line that identifies its value.
struct ExportLineHead: Decodable {
    var domain: String
    var collection: String?
    var name: String
    var kind: String?

    /// The kind of a value that is bytes.
    static let bytes = "data"

    /// The name of the value in reports: "NAME", or "COLLECTION/ID".
    var title: String { collection.map { "\($0)/\(name)" } ?? name }
}

/// The first line of an export.
struct ExportStart: Codable {
    /// "LocalData export 1".
    var format: String
    var application: String

    static let format = "LocalData export 1"
}

/// The last line of an export: the number of lines between the first line and this one. An export without it is truncated.
struct ExportEnd: Codable {
    var lines: Int
}

/// Encodes and decodes the lines of an export.
enum ExportCoding {
    static func line(_ value: some Encodable, _ name: String) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do { return Array(try encoder.encode(value)) + [UInt8(ascii: "\n")] } catch {
            throw StorageError(
                StorageError.encodingFailed, key: name,
                "The value cannot be written as JSON. Leave it out of the export, or make a backup instead.")
        }
    }

    static func decode<Value: Decodable>(_ type: Value.Type, _ line: [UInt8]) throws -> Value {
        do { return try JSONDecoder().decode(type, from: Data(line)) } catch { throw damaged }
    }

    static var damaged: StorageError {
        StorageError(
            StorageError.corrupted, key: "export",
            "The file is not an export of these values, or was cut off. Nothing of this line was stored.")
    }
}

import BackendContract
import Foundation
import LocalData

/// A line of an export: JSON of one value, with what stands beside it.
struct ExportLine<Value: Codable>: Codable {
    /// The domain in words, with its scope.
    var domain: String
    /// The collection of a record; left out for a key.
    var collection: String?
    /// The key's name, or the record's id.
    var name: String
    var value: Value
    /// A record's attributes; left out where there are none.
    var attributes: [String: String]?
    /// When it stops being valid, in seconds since 1970; left out for never.
    var expires: Double?
}

/// The part of a line that says whose value it is.
struct ExportLineHead: Decodable {
    var domain: String
    var collection: String?
    var name: String

    /// The value in words.
    var title: String { collection.map { "\($0)/\(name)" } ?? name }
}

/// The first line of an export.
struct ExportStart: Codable {
    /// "LocalData export 1".
    var format: String
    var application: String

    static let format = "LocalData export 1"
}

/// The last line: how many lines are between it and the first. Without it, an export is cut off.
struct ExportEnd: Codable {
    var lines: Int
}

/// Codes lines.
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

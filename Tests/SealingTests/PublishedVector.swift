import BackendContract
import Foundation
import Testing

/// A test vector that another project has published, from a file in `Tests/Fixtures`.
///
/// The first line of such a file has the names of the fields. Each other line is one vector: its fields in the same
/// order, separated by spaces. A hyphen is an empty field.
struct PublishedVector: CustomStringConvertible {
    private let fields: [String: String]
    /// The file and the line, which identify the vector in a failure.
    let description: String

    /// Reads all vectors of a file.
    /// - Parameter path: The path below `Tests/Fixtures`.
    static func all(in path: String) throws -> [PublishedVector] {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let text = try String(contentsOf: tests.appending(path: "Fixtures/\(path)"), encoding: .utf8)
        let lines = text.split(separator: "\n").map { line in line.split(separator: " ").map { $0 == "-" ? "" : String($0) } }
        let names = try #require(lines.first)
        var vectors: [PublishedVector] = []
        for (index, values) in lines.enumerated().dropFirst() {
            try #require(values.count == names.count, "\(path), line \(index + 1)")
            vectors.append(
                PublishedVector(
                    fields: Dictionary(uniqueKeysWithValues: zip(names, values)), description: "\(path), line \(index + 1)"))
        }
        return vectors
    }

    /// Returns a field as text.
    func text(_ name: String) throws -> String { try #require(fields[name], "the field \(name)") }

    /// Returns a decimal number.
    func number(_ name: String) throws -> Int {
        let digits = try text(name)
        return try #require(Int(digits))
    }

    /// Returns bytes that the file has in hexadecimal.
    func hex(_ name: String) throws -> [UInt8] {
        let digits = try text(name)
        return try #require(bytes(ofHexadecimal: digits))
    }

    /// Returns whether Wycheproof has marked the vector with a flag.
    func hasFlag(_ flag: String) throws -> Bool { try text("flags").split(separator: ",").contains { $0 == flag } }
}

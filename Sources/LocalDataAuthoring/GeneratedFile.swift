import Foundation

/// A source file that is written once. A person edits it afterwards, so it is never replaced.
struct GeneratedFile {
    let file: URL
    let text: String
    /// The declarations that the file must contain, each with the code that a person can paste into an edited file.
    var declarations: [(name: String, code: String)] = []

    /// Whether the file must be written.
    /// - Throws: ``AuthoringRefusal`` if an edited file lacks a declaration.
    func isMissing() throws -> Bool {
        guard FileManager.default.fileExists(atPath: file.path) else { return true }
        let content = String(decoding: try Data(contentsOf: file), as: UTF8.self)
        let missing = declarations.filter { !content.contains("\($0.name)(") }
        guard missing.isEmpty else {
            throw AuthoringRefusal(
                "\(file.path) exists and was edited, so it is not replaced. It lacks these declarations. Add them:\n\n"
                    + missing.map(\.code).joined(separator: "\n\n"))
        }
        return false
    }

    /// Writes the file, and the folder that contains it.
    /// - Throws: An error of the file system, also if another program created the file.
    func write() throws {
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file, options: .withoutOverwriting)
    }
}

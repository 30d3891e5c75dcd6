import Foundation

/// The folder with the data that earlier releases wrote, as fixtures. It has one subfolder for each release.
struct FixtureFolder {
    let place: URL

    /// Refers to the folder with the given path, relative to a test's source file.
    init(_ path: String, relativeTo file: String) {
        place = URL(filePath: path, relativeTo: URL(filePath: file).deletingLastPathComponent()).absoluteURL
    }

    /// The subfolder of one release. It need not exist.
    func release(_ name: String) -> URL { place.appending(path: name) }

    /// The names of the recorded releases, sorted.
    func releases() throws -> [String] {
        guard FileManager.default.fileExists(atPath: place.path) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: place.path).filter {
            FileManager.default.fileExists(atPath: release($0).appending(path: "release.json").path)
        }.sorted()
    }

    /// Runs a closure with a temporary folder that only this user can read, and deletes the folder afterwards.
    static func withTemporary<R>(_ body: (URL) async throws -> R) async throws -> R {
        let folder = FileManager.default.temporaryDirectory.appending(path: "golden-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        do {
            let answer = try await body(folder)
            try FileManager.default.removeItem(at: folder)
            return answer
        } catch {
            try? FileManager.default.removeItem(at: folder)
            throw error
        }
    }

    /// Copies a folder and makes the copy private to this user.
    /// Reason: "A replay works on a private copy of the fixture" in Docs/Decisions/Tests.md.
    static func copyPrivately(_ source: URL, to target: URL) throws {
        try FileManager.default.copyItem(at: source, to: target)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: target.path)
        for name in try FileManager.default.subpathsOfDirectory(atPath: target.path) {
            let path = target.appending(path: name).path
            var isFolder: ObjCBool = false
            _ = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
            try FileManager.default.setAttributes([.posixPermissions: isFolder.boolValue ? 0o700 : 0o600], ofItemAtPath: path)
        }
    }

    /// Removes lock files, the ledger, and the history of migrations. These files belong to one machine, and no stored value
    /// depends on them.
    static func removeMachineFiles(in root: URL) throws {
        for name in ["locks", "state/ledger.plist", "state/pins.plist", "state/history.log"] {
            let path = root.appending(path: name)
            if FileManager.default.fileExists(atPath: path.path) { try FileManager.default.removeItem(at: path) }
        }
        for name in try FileManager.default.subpathsOfDirectory(atPath: root.path) where name.hasSuffix("-lock") {
            try FileManager.default.removeItem(at: root.appending(path: name))
        }
    }

    /// Writes a value as JSON. Equal values produce equal text.
    static func write<Value: Encodable>(_ value: Value, to file: URL) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try (try encoder.encode(value) + Data("\n".utf8)).write(to: file)
    }

    /// Reads a value that ``write(_:to:)`` wrote.
    static func read<Value: Decodable>(_ type: Value.Type, from file: URL) throws -> Value {
        try JSONDecoder().decode(type, from: try Data(contentsOf: file))
    }
}

import Foundation
import LocalDataTesting

/// The recorded files of one catalog: `schema.json` with the shapes of all versions, and a folder for each release.
///
/// The folder of a release is a golden store, and has a further `schema.json` with the shapes of this release.
struct RecordedCatalog: Sendable {
    let folder: URL

    init(_ names: CatalogNames, in package: String) {
        folder = URL(filePath: package, directoryHint: .isDirectory).appending(path: "Migrations").appending(
            path: SwiftText.fileName(names.id))
    }

    /// The file with the snapshot of the catalog.
    var snapshotFile: URL { folder.appending(path: "schema.json") }

    /// Returns the recorded snapshot; nil if the catalog was never recorded.
    func snapshot() throws -> CatalogSnapshot? {
        if let snapshot = try read(snapshotFile) { return snapshot }
        guard try releases().isEmpty else {
            throw AuthoringRefusal("\(snapshotFile.path) is missing, but releases are recorded beside it. Restore it from version control.")
        }
        return nil
    }

    /// Returns the numbers of the recorded releases, in ascending order.
    func releases() throws -> [Int] {
        guard FileManager.default.fileExists(atPath: folder.path) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: folder.path).compactMap { name in
            let file = folder.appending(path: name).appending(path: "release.json")
            guard let number = Int(name), String(number) == name, FileManager.default.fileExists(atPath: file.path) else { return nil }
            return number
        }.sorted()
    }

    /// Returns the shapes of the values of a release; nil if the release has no snapshot.
    func shapes(of release: Int) throws -> CatalogSnapshot? { try read(folder.appending(path: "\(release)/schema.json")) }

    /// Records the values of a release. After an error or a crash, the release is not recorded.
    /// - Parameter fill: Writes the release into the folder of the given path, under its number.
    func record(_ release: Int, _ shapes: CatalogSnapshot, _ fill: (_ folder: String) async throws -> Void) async throws {
        let files = FileManager.default
        let draft = folder.appending(path: ".draft-\(UUID().uuidString)")
        defer { try? files.removeItem(at: draft) }
        try files.createDirectory(at: draft, withIntermediateDirectories: true)
        try await fill(draft.path)
        let recorded = draft.appending(path: "\(release)")
        try shapes.json().write(to: recorded.appending(path: "schema.json"))
        // A golden store is private to its user. A fixture is a file of the repository.
        try files.setAttributes([.posixPermissions: 0o755], ofItemAtPath: recorded.path)
        try files.moveItem(at: recorded, to: folder.appending(path: "\(release)"))
    }

    private func read(_ file: URL) throws -> CatalogSnapshot? {
        guard FileManager.default.fileExists(atPath: file.path) else { return nil }
        do { return try CatalogSnapshot(json: try Data(contentsOf: file)) } catch {
            throw AuthoringRefusal("\(file.path) is not a snapshot of a catalog: \(error). Restore it from version control.")
        }
    }
}

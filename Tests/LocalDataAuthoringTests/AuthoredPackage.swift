import Foundation
import LocalData
import TestSupport

@testable import LocalDataAuthoring

/// A package in a temporary folder, in which tests run the commands of the plugin.
struct AuthoredPackage {
    private let directory: TemporaryDirectory
    let layout: PackageLayout

    /// Creates the folder. The targets have the names and relative paths of this repository, so the generated files are equal.
    /// - Parameter module: The target that declares the catalogs.
    init(module: String = "AuthoringSamples") throws {
        directory = try TemporaryDirectory()
        layout = PackageLayout(
            package: directory.file("AuthoringSamples"),
            targets: [
                PackageLayout.Target(
                    name: module, folder: directory.file("AuthoringSamples/Desk"), isTest: false, dependencies: ["LocalData"]),
                PackageLayout.Target(
                    name: "LocalDataAuthoringTests", folder: directory.file("LocalDataAuthoringTests"), isTest: true,
                    dependencies: [module, "LocalDataTesting"]),
            ])
    }

    /// Runs a command, and returns its output.
    func run(
        _ arguments: String..., for catalog: any StorageKeyCatalog, fill: (StorageRouter) async throws -> Void = { _ in }
    ) async throws -> (text: String, status: Int32) {
        let description = String(decoding: try JSONEncoder().encode(layout), as: UTF8.self)
        let report = await AuthoringCommand.run(
            arguments + ["--layout", description], [catalog], configure: { _ in }, fill: fill)
        return (report.lines.joined(separator: "\n"), report.status)
    }

    /// The paths of all files, relative to the folder above the package.
    func files() throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: directory.path).filter { path in
            var isFolder: ObjCBool = false
            return FileManager.default.fileExists(atPath: directory.file(path), isDirectory: &isFolder) && !isFolder.boolValue
        }.sorted()
    }

    func url(_ path: String) -> URL { URL(filePath: directory.file(path)) }

    func text(_ path: String) throws -> String { try String(contentsOf: url(path), encoding: .utf8) }

    /// The content of every file, to see that a command changes nothing.
    func contents() throws -> [String: Data] {
        try Dictionary(files().map { ($0, try Data(contentsOf: url($0))) }) { first, _ in first }
    }
}

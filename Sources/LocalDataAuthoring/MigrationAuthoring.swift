import Foundation
public import LocalData

/// The program with which `swift package localdata` makes migrations.
///
/// The plugin cannot load the catalogs of a package. So the package has an executable target that depends on the targets
/// with its catalogs and on `LocalDataAuthoring`, and has one file, `main.swift`:
///
/// ```swift
/// import LocalDataAuthoring
/// import Notes
///
/// await MigrationAuthoring.main(NotesKeys())
/// ```
///
/// The plugin builds and runs this program. The program reads and writes only the folder of the package and temporary
/// files. It does not open the stores or the keyring of the user.
public enum MigrationAuthoring {
    /// Runs the command that the plugin passes in the arguments of the process, prints its report, and ends the process.
    ///
    /// ```swift
    /// await MigrationAuthoring.main(AppKeys()) { storage in
    ///     try await storage.set("Graz", for: .city)  // if it throws, the release is not recorded, and the exit status is 1
    /// }
    /// ```
    ///
    /// The exit status is 0 if the command succeeded, 1 if the package must be corrected, and 64 for invalid arguments.
    /// - Parameters:
    ///   - catalogs: The catalogs of the program.
    ///   - fill: Stores further values of a release, after a sample was stored for each key. Use it if the samples do not
    ///     fit a type.
    ///   - configure: Changes the configuration with which the values of a release are recorded and read, for example to
    ///     add a backend. Pass the same closure to the generated tests.
    public static func main(
        _ catalogs: any StorageKeyCatalog..., fill: (StorageRouter) async throws -> Void = { _ in },
        configure: (inout StorageConfiguration) -> Void = { _ in }
    ) async -> Never {
        let report = await AuthoringCommand.run(Array(CommandLine.arguments.dropFirst()), catalogs, configure: configure, fill: fill)
        let output: FileHandle = report.status == 0 ? .standardOutput : .standardError
        try? output.write(contentsOf: Data((report.lines.joined(separator: "\n") + "\n").utf8))
        exit(report.status)
    }
}

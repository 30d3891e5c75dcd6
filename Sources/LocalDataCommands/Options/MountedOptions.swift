import ArgumentParser
import LocalData

/// Selects the storage of the program that mounts the commands.
struct MountedOptions<Application: StorageApplication>: StorageOptions {
    static var program: String { "\(Failure.program) storage" }

    @Flag(help: JSONHelp.text) var json = false

    var applicationID: String? { Application.configuration.applicationID }

    var catalogs: [any StorageKeyCatalog]? { Application.catalogs }

    func configuration(for use: StorageUse) async throws -> StorageConfiguration {
        var configuration = Application.configuration
        // The commands name values by their domain, and those values need no key of a catalog.
        configuration.requiresRegistration = false
        return configuration
    }
}

/// The help of the flag `--json`, which all selections of a storage have.
enum JSONHelp {
    static let text: ArgumentHelp = "Print one JSON value: on standard output the answer, on standard error an error."
}

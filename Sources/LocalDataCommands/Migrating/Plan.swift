import ArgumentParser
import LocalData

/// `localdata plan`: shows the changes of the next migration, and makes none.
struct Plan<Options: StorageOptions>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "plan", abstract: "Shows what migrate would change, and changes nothing.",
            discussion: """
                A program that mounts these commands plans its migrations. The tool has no keys of a program: with --from-bus, it plans \
                the copy of a keyring service from another session bus.

                Example: \(Options.catalogExample("plan"))
                """)
    }

    @OptionGroup var keyring: KeyringCopyOptions
    @OptionGroup var place: Options

    func run() async throws {
        if let bus = keyring.fromBus {
            let copy = try await keyring.withCopy(place, from: bus) { $0 }
            return try copy.show(asJSON: place.json, isPlan: true)
        }
        _ = try place.requireCatalogs("plan")
        let report = try await place.withRouter { await $0.planSweep() }
        try ShownSweep(report).show(asJSON: place.json)
    }
}

extension StorageOptions {
    /// Returns an example of a command that needs the keys of a program.
    static func catalogExample(_ command: String) -> String {
        self == PlaceOptions.self ? "myapp storage \(command)" : "\(program) \(command)"
    }
}

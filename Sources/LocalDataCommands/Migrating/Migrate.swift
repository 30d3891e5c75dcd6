import ArgumentParser
import Foundation
import LocalData

/// `localdata migrate`: migrates the values of a program's keys, or copies the items of one keyring to another.
struct Migrate<Options: StorageOptions>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "migrate", abstract: "Migrates the values of the program, or copies a keyring service to another keyring.",
            discussion: """
                A program that mounts these commands migrates the values of its keys. With --from-bus, the command copies all items of a \
                keyring service from the keyring on another session bus to the keyring of this session, and reads them back. The other \
                keyring does not change. Exit status 65 if a value could not be migrated, 73 if an item exists with other content, 75 if \
                values wait for a store.

                Example: \(Options.program) migrate keychain:com.example.app --from-bus unix:path=/run/user/1000/other-bus
                """)
    }

    @OptionGroup var keyring: KeyringCopyOptions
    @Flag(help: "With --from-bus: replace items with other content. The keyring keeps them in another namespace.") var replace = false
    @OptionGroup var consent: ConsentOptions
    @OptionGroup var place: Options

    func run() async throws {
        if let bus = keyring.fromBus { return try await copy(from: bus) }
        _ = try place.requireCatalogs("migrate")
        let report = try await place.withRouter(effect: .changes) { router in
            await ProgressPrinter.showing(unless: place.json) { printer in
                await router.sweep { progress in printer?.show(progress) }
            }
        }
        let shown = ShownSweep(report)
        try shown.show(asJSON: place.json)
        if let status = shown.exit { throw ExitCode(status.rawValue) }
    }

    private func copy(from bus: String) async throws {
        let (isJSON, replace, consent) = (place.json, replace, consent)
        let copy = try await keyring.withCopy(place, from: bus) { copy in
            if !copy.different.isEmpty {
                guard replace else {
                    throw Refusal(
                        status: .exists, code: "itemExists", name: copy.service,
                        message:
                            "\(copy.different.count) items of \(copy.service) exist here with other content. Nothing was copied. To replace them: --replace."
                    )
                }
                let user = ShellCommand.describedUser(geteuid())
                try await consent.require(
                    "This replaces \(copy.different.count) items of \(copy.service) in the keyring of user \(user).")
            }
            try await ProgressPrinter.showing(unless: isJSON) { printer in
                try await copy.run { printer?.show(copy.service, done: $0, total: copy.count, unit: .things("items")) }
            }
            return copy
        }
        try copy.show(asJSON: isJSON)
    }
}

extension ProgressPrinter {
    /// Shows the progress of a sweep: of the collection that is being swept, or else of all keys.
    fileprivate func show(_ progress: MigrationProgress) {
        if let records = progress.records {
            show(progress.key, done: records.finished, total: records.total, unit: .things("records"))
        } else {
            show("keys", done: progress.finished, total: progress.total, unit: .things("keys"))
        }
    }
}

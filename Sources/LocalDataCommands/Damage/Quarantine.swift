import ArgumentParser
import Foundation
import LocalData

/// `localdata quarantine`: shows and purges quarantined values. These are values that a migration displaced and kept
/// for a review by the user.
struct Quarantine<Options: StorageOptions>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "quarantine", abstract: "Shows and purges values that a migration displaced and that no user has reviewed.",
            discussion: "Example: \(Options.program) quarantine list",
            subcommands: [ListEntries.self, Show.self, Purge.self], defaultSubcommand: ListEntries.self)
    }

    struct ListEntries: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "list", abstract: "Lists the quarantined values.", discussion: "Example: \(Options.program) quarantine list")
        }

        @OptionGroup var place: Options

        func run() async throws {
            let values = try await place.withRouter(selection: .placed) { try await $0.quarantine.values() }.sorted {
                $0.since ?? .distantPast < $1.since ?? .distantPast
            }
            if place.json { return try Output.json(values) }
            for value in values { Output.line("\(value.id)  \(value.key.isEmpty ? "-" : value.key)  \(value.place)") }
            if values.isEmpty { Failure.write("The quarantine is empty.") }
        }
    }

    struct Show: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "show", abstract: "Describes an entry; writes its bytes only with --raw.",
                discussion: "Example: \(Options.program) quarantine show ID --raw > value")
        }

        /// The JSON output for an entry. It contains the bytes only with `--raw`.
        private struct Shown: Encodable {
            let entry: QuarantinedValue
            let base64: Data?
        }

        @Argument(help: "The entry's id.") var id: String
        @Flag(help: "Write the bytes unchanged to standard output.") var raw = false
        @OptionGroup var place: Options

        func run() async throws {
            try await place.withQuarantined(id) { router, value in
                let data = raw ? try await router.quarantine.data(of: value) : nil
                if place.json { return try Output.json(Shown(entry: value, base64: data)) }
                if let data { return Output.bytes(data, isRaw: true) }
                Output.line("key     \(value.key.isEmpty ? "-" : value.key)")
                Output.line("place   \(value.place.isEmpty ? "-" : value.place)")
                Output.line("reason  \(value.reason)")
                Output.line("since   \(value.since?.ISO8601Format() ?? "-")")
                Output.line("sealed  \(value.isSealed ? "yes" : "no")")
            }
        }
    }

    struct Purge: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "purge", abstract: "Purges an entry for good. There is no other copy.",
                discussion: "Example: \(Options.program) quarantine purge ID --yes")
        }

        @Argument(help: "The entry's id.") var id: String
        @OptionGroup var consent: ConsentOptions
        @OptionGroup var place: Options

        func run() async throws {
            try await place.withQuarantined(id, effect: .changes) { router, value in
                try await consent.require("This purges the entry \(id). There is no other copy.", of: router.configuration)
                try await router.quarantine.purge(value)
            }
            if place.json { try Output.done() }
        }
    }
}

extension StorageOptions {
    /// Runs a command with one entry of the quarantine.
    fileprivate func withQuarantined(
        _ id: String, effect: StorageUse.Effect = .reads, _ body: (StorageRouter, QuarantinedValue) async throws -> Void
    ) async throws {
        try await withRouter(selection: .placed, effect: effect) { router in
            guard let value = try await router.quarantine.values().first(where: { $0.id == id }) else {
                throw StorageError(.notFound, key: id, "The quarantine has no entry with this id. To list the entries: quarantine list.")
            }
            try await body(router, value)
        }
    }
}

import ArgumentParser
import Foundation
import LocalData

/// `localdata quarantine`: shows and purges quarantined values. These are values that a migration displaced and kept
/// for a review by the user.
struct Quarantine: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows and purges values that a migration displaced and that no user has reviewed.",
        subcommands: [ListEntries.self, Show.self, Purge.self], defaultSubcommand: ListEntries.self)

    /// The options that identify the program whose quarantine is used. They are required, because the quarantine of a
    /// default program would be empty.
    struct Owner: ParsableArguments {
        @OptionGroup var place: PlaceOptions

        func validate() throws {
            if place.appID == nil, place.root == nil { throw ValidationError("Name the owner of the quarantine: --app-id or --root.") }
        }

        /// Runs a command with one entry of the quarantine.
        func withEntry(_ id: String, _ body: (StorageRouter, QuarantinedValue) async throws -> Void) async throws {
            try await place.withRouter { router in
                guard let value = try await router.quarantine.values().first(where: { $0.id == id }) else {
                    throw StorageError(
                        StorageError.notFound, key: id,
                        "The quarantine has no entry with this id. To list the entries: localdata quarantine list.")
                }
                try await body(router, value)
            }
        }
    }

    struct ListEntries: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "list", abstract: "Lists the quarantined values.")

        @OptionGroup var owner: Owner

        func run() async throws {
            let values = try await owner.place.withRouter { try await $0.quarantine.values() }.sorted {
                $0.since ?? .distantPast < $1.since ?? .distantPast
            }
            if owner.place.json { return try Output.json(values) }
            for value in values { Output.line("\(value.id)  \(value.key.isEmpty ? "-" : value.key)  \(value.place)") }
            if values.isEmpty { Failure.write("The quarantine is empty.") }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Describes an entry; prints its bytes only with --reveal.")

        /// The JSON output for an entry. It contains the bytes only with `--reveal`.
        private struct Shown: Encodable {
            let entry: QuarantinedValue
            let base64: Data?
        }

        @Argument(help: "The entry's id.") var id: String
        @Flag(help: "Print the bytes to standard output.") var reveal = false
        @OptionGroup var owner: Owner

        func run() async throws {
            try await owner.withEntry(id) { router, value in
                let data = reveal ? try await router.quarantine.data(of: value) : nil
                if owner.place.json { return try Output.json(Shown(entry: value, base64: data)) }
                if let data { return Output.bytes(data) }
                Output.line("key     \(value.key.isEmpty ? "-" : value.key)")
                Output.line("place   \(value.place.isEmpty ? "-" : value.place)")
                Output.line("reason  \(value.reason)")
                Output.line("since   \(value.since?.ISO8601Format() ?? "-")")
                Output.line("sealed  \(value.isSealed ? "yes" : "no")")
            }
        }
    }

    struct Purge: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Purges an entry for good. There is no other copy.")

        @Argument(help: "The entry's id.") var id: String
        @OptionGroup var owner: Owner

        func run() async throws {
            try await owner.withEntry(id) { router, value in try await router.quarantine.purge(value) }
            if owner.place.json { try Output.done() }
        }
    }
}

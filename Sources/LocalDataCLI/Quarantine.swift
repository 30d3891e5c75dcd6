import ArgumentParser
import Foundation
import LocalData

/// `localdata quarantine`: shows and purges values that a migration displaced.
struct Quarantine: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows and purges values that a migration displaced and that no user has reviewed.",
        subcommands: [ListEntries.self, Show.self, Discard.self], defaultSubcommand: ListEntries.self)

    /// The owner of the quarantine; a default owner would only ever show an empty one.
    struct Owner: ParsableArguments {
        @OptionGroup var place: PlaceOptions

        func validate() throws {
            if place.appID == nil, place.root == nil { throw ValidationError("Name the owner of the quarantine: --app-id or --root.") }
        }

        /// Runs a command on one entry.
        func withEntry(_ id: String, _ body: (StorageRouter, QuarantinedValue) async throws -> Void) async throws {
            try await place.withRouter { router in
                guard let value = try await router.audit().quarantine.first(where: { $0.id == id }) else {
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
            let values = try await owner.place.withRouter { try await $0.audit().quarantine }
            for value in values.sorted(by: { $0.since < $1.since }) { print("\(value.id)  \(value.key)  \(value.place)") }
            if values.isEmpty { Failure.write("The quarantine is empty.") }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Describes an entry; prints its bytes only with --reveal.")

        @Argument(help: "The entry's id.") var id: String
        @Flag(help: "Print the bytes to standard output.") var reveal = false
        @OptionGroup var owner: Owner

        func run() async throws {
            try await owner.withEntry(id) { router, value in
                if reveal { return FileHandle.standardOutput.write(try await router.quarantinedData(value)) }
                print("key     \(value.key)")
                print("stood   \(value.place)")
                print("reason  \(value.reason)")
                print("since   \(Date(timeIntervalSince1970: value.since).ISO8601Format())")
                print("sealed  \(value.isSealed ? "yes" : "no")")
            }
        }
    }

    struct Discard: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Purges an entry for good. There is no other copy.")

        @Argument(help: "The entry's id.") var id: String
        @OptionGroup var owner: Owner

        func run() async throws {
            try await owner.withEntry(id) { router, value in try await router.discardQuarantined(value) }
        }
    }
}

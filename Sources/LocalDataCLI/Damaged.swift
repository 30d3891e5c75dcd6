import ArgumentParser
import Foundation
import LocalData
import LocalDataBackup

/// `localdata damaged`: lists, exports and removes damaged records.
struct Damaged: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists what is damaged in a domain, exports it, sets it aside and removes it.",
        discussion: "Each damaged record has a handle, which is valid until the record changes. Programs print the same handles.",
        subcommands: [ListDamage.self, Export.self, SetAside.self, RemoveDamage.self], defaultSubcommand: ListDamage.self)

    /// The options that identify a damaged record.
    struct RecordOptions: ParsableArguments {
        @Argument(help: DomainArgument.help) var domain: DomainArgument
        @Argument(help: "The handle, as listed.") var handle: String
        @OptionGroup var place: PlaceOptions

        func withRecord<Answer>(_ body: (StorageRouter, DamagedRecord) async throws -> Answer) async throws -> Answer {
            guard let record = DamagedRecord(handle: handle, in: domain.domain) else {
                throw ValidationError("This is no handle. To list the handles: localdata damaged list DOMAIN.")
            }
            return try await place.withRouter(for: [domain.domain]) { try await body($0, record) }
        }
    }

    struct ListDamage: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Lists damaged records: handle, name if it is known, and reason, on a line each.")

        @Argument(help: DomainArgument.help) var domain: DomainArgument
        @Option(help: "The records of this collection, instead of the values of keys.") var collection: String?
        @OptionGroup var place: PlaceOptions

        func run() async throws {
            let (names, damage) = try await place.withRouter(for: [domain.domain]) {
                try await $0.namesAndDamage(in: domain.domain, collection: collection)
            }
            if place.json { return try Output.json(damage) }
            for record in damage { Output.line("\(record.handle)  \(record.name ?? "-")  \(record.reason)") }
            if damage.isEmpty { Failure.write("There is no damage among \(names.count) names.") }
        }
    }

    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Writes the bytes of a damaged record to standard output, in their stored form.")

        @OptionGroup var record: RecordOptions

        func run() async throws {
            let data = try await record.withRecord { try await $0.damagedData($1) }
            if record.place.json { return try Output.json(["base64": data]) }
            Output.bytes(data)
        }
    }

    struct SetAside: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Moves a damaged record into the quarantine of --app-id.",
            discussion: "The other records are not changed. To see it there: localdata quarantine list.")

        @OptionGroup var record: RecordOptions

        func run() async throws {
            try await record.withRecord { try await $0.setAside($1) }
            if record.place.json { try Output.done() }
        }
    }

    struct RemoveDamage: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove", abstract: "Removes a damaged record for good. Nothing is kept of it: export it first.")

        @OptionGroup var record: RecordOptions

        func run() async throws {
            try await record.withRecord { try await $0.removeDamaged($1) }
            if record.place.json { try Output.done() }
        }
    }
}

import ArgumentParser
import Foundation
import LocalData
import LocalDataBackup

/// `localdata damaged`: lists, exports, sets aside and removes damaged records, and sets aside a whole damaged property list.
struct Damaged<Options: StorageOptions>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "damaged", abstract: "Lists damaged data of a domain, exports it, sets it aside and removes it.",
            discussion: """
                Each damaged record has a handle, which is valid until the record changes. Programs print the same handles.

                Example: \(Options.program) damaged list sqlite:documents
                """,
            subcommands: [ListDamage.self, ExportDamage.self, SetAside.self, RemoveDamage.self], defaultSubcommand: ListDamage.self)
    }

    struct ListDamage: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "list", abstract: "Lists damaged records: handle, name if it is readable, and reason, on a line each.",
                discussion: "Example: \(Options.program) damaged list sqlite:documents --collection notes")
        }

        @Argument(help: DomainArgument.help) var domain: DomainArgument
        @Option(help: "The records of this collection, instead of the values of keys.") var collection: String?
        @OptionGroup var place: Options

        func run() async throws {
            let (names, damage) = try await place.withRouter(for: [domain.domain]) {
                try await $0.namesAndDamage(in: domain.domain, collection: collection)
            }
            if place.json { return try Output.json(damage) }
            for record in damage { Output.line("\(record.handle)  \(record.name ?? "-")  \(record.reason)") }
            if damage.isEmpty { Failure.write("There is no damage among \(names.count) names.") }
        }
    }

    struct ExportDamage: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "export", abstract: "Writes the bytes of a damaged record to standard output, in their stored form.",
                discussion: "Example: \(Options.program) damaged export sqlite:documents HANDLE > record")
        }

        @OptionGroup var record: DamagedRecordOptions
        @Flag(help: "Write the bytes unchanged, also to a terminal.") var raw = false
        @OptionGroup var place: Options

        func run() async throws {
            let data = try await record.withRecord(place) { try await $0.damagedData($1) }
            if place.json { return try Output.json(["base64": data]) }
            Output.bytes(data, isRaw: raw)
        }
    }

    struct SetAside: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "set-aside",
                abstract: "Moves a damaged record into the quarantine, or a damaged property list to another file.",
                discussion: """
                    With HANDLE, the other records are not changed: to see the record afterwards, list the quarantine. Without HANDLE, the \
                    whole property list is damaged. The program begins with an empty one, and the command prints the path of the damaged \
                    file, which is kept. A property list that can be read is refused. Restore a backup instead if there is one.

                    Example: \(Options.program) damaged set-aside defaults:com.example.app --yes
                    """)
        }

        @Argument(help: DomainArgument.help) var domain: DomainArgument
        @Argument(help: "The handle, as listed. Default: the whole property list.") var handle: String?
        @OptionGroup var consent: ConsentOptions
        @OptionGroup var place: Options

        func run() async throws {
            guard let handle else { return try await setAsideList() }
            let record = try DamagedRecordOptions.record(handle, in: domain.domain)
            try await place.withRouter(for: [domain.domain], effect: .changes) { router in
                try await consent.require(
                    "The program does not find the record any more. Its bytes are kept in the quarantine.", of: router.configuration)
                try await router.setAside(record)
            }
            if place.json { try Output.done() }
        }

        private func setAsideList() async throws {
            let copy = try await place.withRouter(for: [domain.domain], effect: .changes) { router in
                try await consent.require(
                    "The program then begins with an empty \(domain.domain.text). The damaged file is kept.", of: router.configuration)
                return try await router.setAsideDamagedStore(of: domain.domain)
            }
            if place.json { try Output.json(["copy": copy]) } else { Output.line(copy) }
        }
    }

    struct RemoveDamage: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "remove", abstract: "Removes a damaged record for good. No copy is kept: export it first.",
                discussion: "Example: \(Options.program) damaged remove sqlite:documents HANDLE --yes")
        }

        @OptionGroup var record: DamagedRecordOptions
        @OptionGroup var consent: ConsentOptions
        @OptionGroup var place: Options

        func run() async throws {
            try await record.withRecord(place, effect: .changes) { router, record in
                try await consent.require("This removes the damaged record for good.", of: router.configuration)
                try await router.removeDamaged(record)
            }
            if place.json { try Output.done() }
        }
    }
}

/// The arguments that identify a damaged record.
struct DamagedRecordOptions: ParsableArguments {
    @Argument(help: DomainArgument.help) var domain: DomainArgument
    @Argument(help: "The handle, as listed.") var handle: String

    /// Returns the record of a handle.
    /// - Throws: `ValidationError` for a text that is not a handle.
    static func record(_ handle: String, in domain: StorageDomain) throws -> DamagedRecord {
        guard let record = DamagedRecord(handle: handle, in: domain) else {
            throw ValidationError("This is no handle. To list the handles: damaged list DOMAIN.")
        }
        return record
    }

    func withRecord<Answer>(
        _ place: some StorageOptions, effect: StorageUse.Effect = .reads, _ body: (StorageRouter, DamagedRecord) async throws -> Answer
    ) async throws -> Answer {
        let record = try Self.record(handle, in: domain.domain)
        return try await place.withRouter(for: [domain.domain], effect: effect) { try await body($0, record) }
    }
}

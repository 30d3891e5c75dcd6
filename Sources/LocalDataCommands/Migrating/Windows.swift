import ArgumentParser
import LocalData

/// `localdata windows`: lists release windows, and ends one. In a release window, the legacy location of a value is kept up to date for an
/// earlier release of the program.
struct Windows<Options: StorageOptions>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "windows", abstract: "Lists the release windows of a program, and ends one.",
            discussion: "Example: \(Options.program) windows end sqlite:documents draft",
            subcommands: [ListWindows.self, End.self])
    }

    struct ListWindows: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "list", abstract: "Lists the values whose legacy location is kept up to date, and until when.",
                discussion: """
                    The program declares its release windows, so only a program that mounts this command lists them.

                    Example: \(Options.catalogExample("windows list"))
                    """)
        }

        @OptionGroup var place: Options

        /// The output for one window.
        private struct Shown: Encodable {
            let key, domain, kept, until: String
        }

        func run() async throws {
            _ = try place.requireCatalogs("windows list")
            let rows = try await place.withRouter { try await $0.audit().rows }
            let windows = rows.compactMap { row in
                row.keeps.map { Shown(key: row.key, domain: row.domain.text, kept: DomainWords.replacing(in: $0.place), until: $0.until) }
            }
            if place.json { return try Output.json(windows) }
            for window in windows { Output.line("\(window.key)  \(window.domain)  \(window.kept)  \(window.until)") }
            if windows.isEmpty { Failure.write("No release window is open.") }
        }
    }

    struct End: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "end", abstract: "Ends the release window of a value.",
                discussion: """
                    DOMAIN and NAME are the destination of the value, not its legacy location. A program that mounts this command ends the \
                    window at once. The tool requests it, and the program ends the window in its next sweep. Programs of the earlier \
                    release then find nothing in the legacy location. With --collection, NAME is a collection, and the window of all its \
                    records ends.

                    Example: \(Options.program) windows end sqlite:documents draft
                    """)
        }

        @Flag(help: "NAME is a collection.") var collection = false
        @OptionGroup var slot: SlotOptions
        @OptionGroup var place: Options

        func run() async throws {
            // The request is stored in the ledger, a file of the program, so the command line must identify the program.
            try await place.withRouter(for: [slot.domain.domain], selection: .placed, effect: .changes) { router in
                if let catalogs = place.catalogs { return try await endNow(router, catalogs.flatMap { $0.allKeys }) }
                let key = slot.key(DocumentValue.self)
                guard collection else { return try await router.requestReleaseWindowEnd(for: key) }
                let records = StorageCollection<DocumentValue>(
                    key.name, domain: key.domain, security: key.security, owner: key.owner, description: key.description, id: { _ in "" })
                try await router.requestReleaseWindowEnd(in: records)
            }
            if place.json { try Output.done() }
        }

        private func endNow(_ router: StorageRouter, _ keys: [AnyStorageKey]) async throws {
            let finder = StoreFinder(router.configuration)
            let domain = finder.scoped(slot.domain.domain)
            let found = keys.first {
                $0.name == slot.name && finder.scoped($0.domain) == domain && ($0.collection != nil) == collection
            }
            guard let found else {
                throw Refusal.unknown(
                    "unknownKey", slot.name, "The program has no \(collection ? "collection" : "key") \(slot.name) in \(domain.text).",
                    known: keys.filter { finder.scoped($0.domain) == domain }.map(\.name).sorted())
            }
            func endKey<Key: OpenedKey>(_ key: Key) async throws { try await router.endReleaseWindow(for: key.typed) }
            func endCollection<Collection: TypedCollection>(_ collection: Collection) async throws {
                try await router.endReleaseWindow(in: collection.typed)
            }
            if let collection = found.collection { return try await endCollection(collection) }
            try await endKey(found.opened)
        }
    }
}

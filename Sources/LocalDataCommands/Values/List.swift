import ArgumentParser
import LocalData

/// `localdata list`: lists the names in a domain; without a domain, the stores of an application; without an application, the applications.
struct List<Options: StorageOptions>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "list", abstract: "Lists names without values: of a domain, of all stores, or of all applications.",
            discussion: """
                With DOMAIN, the names of its values. Without it, the stores of the application, with the numbers of values and of the \
                records of each collection. Without an application, the applications of the session. The names of collections in an \
                encrypted database are encrypted: only a program that mounts these commands lists them. The tool counts their rows. If a \
                store is lost or cannot be read, the exit status tells the reason.

                Example: \(Options.program) list sqlite:documents
                """)
    }

    @Argument(help: DomainArgument.help) var domain: DomainArgument?
    @OptionGroup var place: Options

    func run() async throws {
        if let domain { return try await listNames(in: domain.domain) }
        if let choices = try await place.reporting({ try place.choices() }) { return try listApplications(choices) }
        try await listStores()
    }

    // MARK: Names

    private func listNames(in domain: StorageDomain) async throws {
        let (names, damage) = try await place.withRouter(for: [domain]) { try await $0.namesAndDamage(in: domain) }
        if place.json {
            return try Output.json(names.map { ShownName(name: $0, damaged: nil) } + damage.map { ShownName(name: nil, damaged: $0) })
        }
        for name in names { Output.line(name) }
        for record in damage {
            Failure.write("\(record.isLocked ? "locked" : "damaged"): \(record.name ?? "a record without a name"): \(record.reason)")
        }
    }

    /// The JSON output for an entry. Exactly one of the properties is set.
    private struct ShownName: Encodable {
        let name: String?
        let damaged: ShownDamage?
    }

    // MARK: Applications

    private func listApplications(_ ids: [String]) throws {
        if place.json { return try Output.json(ids.map { ["application": $0] }) }
        for id in ids { Output.line(id) }
        Failure.write(ids.isEmpty ? "No application stored anything in this session." : "To list the stores of one: --app-id ID")
    }

    // MARK: Stores

    private func listStores() async throws {
        let summaries = try await place.withRouter(selection: .placed) { router in
            let counter = StoreCounter(
                router: router, collections: CollectionNames(router: router, catalogs: place.catalogs ?? []))
            var summaries: [StoreSummary] = []
            for store in try await ApplicationStores(router).find() {
                if store.state == .present {
                    summaries.append(await counter.count(store.domain))
                } else {
                    summaries.append(StoreSummary(domain: store.domain.text, state: store.state))
                }
            }
            return summaries
        }
        if place.json { try Output.json(summaries) } else { show(summaries) }
        let statuses = summaries.map { $0.state == .lost ? ExitStatus.damaged : $0.exit }
        if let worst = statuses.map(\.rawValue).max(), worst != 0 { throw ExitCode(worst) }
    }

    private func show(_ summaries: [StoreSummary]) {
        for line in summaries.flatMap(\.lines) { Output.line(line) }
        if summaries.isEmpty { Failure.write("There is no store.") }
        let hasHidden = summaries.contains { $0.otherRows ?? 0 > 0 && $0.collections == nil }
        if hasHidden { Failure.write("Other rows are records, removals and earlier versions. The names of collections are encrypted.") }
    }
}

/// Collects the damaged records that a listing reports.
private actor ReportedDamage {
    private(set) var records: [ShownDamage] = []

    func add(_ record: ShownDamage) { records.append(record) }
}

extension StorageRouter {
    /// Lists the names and the damaged records in a domain.
    nonisolated func namesAndDamage(
        in domain: StorageDomain, collection: String? = nil
    ) async throws -> (names: [String], damage: [ShownDamage]) {
        let damage = ReportedDamage()
        let names = try await names(of: domain, collection: collection, onDamage: .report { await damage.add(ShownDamage($0, $1)) })
        return (names, await damage.records)
    }
}

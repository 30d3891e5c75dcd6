import ArgumentParser
import LocalData

/// `localdata audit`: shows what the stores and the ledger contain about the migrations of a program.
struct Audit<Options: StorageOptions>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "audit", abstract: "Shows where values are, which older copies remain, and which migrations ran.",
            discussion: """
                The command writes nothing. The tool shows the migrations that the ledger records, older copies that could not be deleted, \
                and the quarantine. A program that mounts these commands also shows each of its keys.

                Example: \(Options.program) audit --json
                """)
    }

    @OptionGroup var place: Options

    func run() async throws {
        let shown = try await place.withRouter(selection: .placed) { router in
            ShownAudit(try await router.audit(), try await router.history())
        }
        if place.json { return try Output.json(shown) }
        for line in shown.lines { Output.line(line) }
        if shown.lines.isEmpty { Failure.write("No migration is recorded, and no older copy remains.") }
    }
}

/// The output of an audit.
private struct ShownAudit: Encodable {
    /// The output for one key or collection.
    struct Row: Encodable {
        let key, owner, description, domain, protection, state: String
        let bytes: Int
        let olderCopies: [String: Int]
        let unreadable: [String: String]
        /// The location that a release window keeps up to date, and its end.
        let window: String?
        let pendingRecords: Int?
        let message: String?

        init(_ row: StorageAudit.Row) {
            (key, owner, description, domain) = (row.key, row.owner, row.description, row.domain.text)
            (protection, state, bytes) = ("\(row.protection)", row.state.rawValue, row.bytes)
            (olderCopies, unreadable) = (row.olderCopies.holding, row.olderCopies.unreadable)
            window = row.keeps.map { "\(DomainWords.replacing(in: $0.place)) \($0.until)" }
            (pendingRecords, message) = (row.pendingRecords, row.message.map(DomainWords.replacing(in:)))
        }

        /// The row as one line of text.
        var line: String {
            var parts = [state, key, domain, protection]
            if bytes > 0 { parts.append("\(bytes) bytes") }
            if let pendingRecords, pendingRecords > 0 { parts.append("\(quantity(pendingRecords, of: "record")) pending") }
            for (place, count) in olderCopies.sorted(by: { $0.key < $1.key }) {
                parts.append("older: \(count) in \(DomainWords.replacing(in: place))")
            }
            for (place, reason) in unreadable.sorted(by: { $0.key < $1.key }) { parts.append("unreadable: \(place): \(reason)") }
            if let window { parts.append("window: \(window)") }
            if let message { parts.append(message) }
            return parts.joined(separator: "  ")
        }
    }

    let rows: [Row]
    let migrations: [MigrationHistory.Migration]
    /// Older copies that could not be deleted, as `<destination>|<copy>`, with the reasons.
    let residue: [String: String]
    let quarantine: [QuarantinedValue]
    /// Warnings about stores, by domain.
    let warnings: [String: String]

    init(_ audit: StorageAudit, _ history: MigrationHistory) {
        (rows, migrations) = (audit.rows.map(Row.init), history.migrations)
        (residue, quarantine) = (audit.recordedResidue, audit.quarantine)
        warnings = Dictionary(audit.warnings.map { (DomainWords.replacing(in: $0.key), $0.value) }) { first, _ in first }
    }

    /// The audit as lines of text.
    var lines: [String] {
        var lines = rows.map(\.line)
        for migration in migrations {
            let (values, runs) = (quantity(migration.values, of: "value"), quantity(migration.successes, of: "run"))
            let error = migration.lastError.map { ", last error: \(DomainWords.replacing(in: $0))" } ?? ""
            lines.append("migration  \(migration.id)  \(values), \(runs), \(migration.failures) failed\(error)")
        }
        for (copy, reason) in residue.sorted(by: { $0.key < $1.key }) { lines.append("residue  \(copy)  \(reason)") }
        for value in quarantine { lines.append("quarantine  \(value.id)  \(value.key.isEmpty ? "-" : value.key)  \(value.reason)") }
        for (domain, warning) in warnings.sorted(by: { $0.key < $1.key }) { lines.append("warning  \(domain)  \(warning)") }
        return lines
    }
}

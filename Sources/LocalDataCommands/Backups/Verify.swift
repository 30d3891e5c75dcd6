import ArgumentParser
import BackendContract
import Foundation
import LocalData
import LocalDataBackup

/// `localdata verify`: checks that databases contain exactly the rows that were last committed, or that a backup is whole.
struct Verify<Options: StorageOptions>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "verify", abstract: "Checks every row of a database, of all databases, or of a backup.",
            discussion: """
                The command compares every row with a sealed count and sum. It finds rows that were changed, removed, added or replaced by \
                older ones; then the exit status is 65. A whole older file is found only with the program's freshness anchor (--anchor): \
                it is refused with the same status, until --accept-older-file takes it for the latest. With --backup, the command checks \
                everything in a backup and restores nothing. Exit status 65 also for a store that was damaged when the backup was made.

                Example: \(Options.program) verify sqlite:documents
                """)
    }

    @Argument(help: "\(DomainArgument.help.abstract) Default: all databases of the application.") var domain: DomainArgument?
    @Option(help: "The backup to check instead.", completion: .file()) var backup: String?
    @OptionGroup var secret: SecretOptions
    @Flag(help: "Take the present rows for the written ones, after damage was repaired or accepted. Earlier losses are no longer found.")
    var acceptContents = false
    @Option(help: ArgumentHelp("The location of the program's freshness anchor: the path of a file, or keyring.", valueName: "place"))
    var anchor: String?
    @Flag(
        help: """
            Take an older file for the latest, after it was restored on purpose: later changes are lost, and removed values exist again. \
            Needs --anchor.
            """)
    var acceptOlderFile = false
    @OptionGroup var consent: ConsentOptions
    @OptionGroup var place: Options

    func validate() throws {
        if backup != nil, domain != nil || acceptContents || anchor != nil {
            throw ValidationError("With --backup, only the file is checked: give no domain, --accept-contents or --anchor.")
        }
        if domain == nil, acceptContents || anchor != nil { throw ValidationError("Name the database.") }
        if acceptOlderFile, anchor == nil {
            throw ValidationError("Only a freshness anchor knows which file is older: name it with --anchor.")
        }
        if anchor != nil, let kind = domain?.domain.kind, ![.encryptedSQLite, .keychain].contains(kind) {
            throw ValidationError("Only an encrypted database or a sealed vault has a freshness anchor.")
        }
    }

    func run() async throws {
        if let backup { return try await verifyBackup(backup) }
        guard let domain else { return try await verifyAll() }
        try await verify(domain.domain)
    }

    // MARK: Databases

    private func verify(_ domain: StorageDomain) async throws {
        // A router would create a missing anchor, and take the present file for the latest.
        if let anchor, anchor != "keyring" { try await place.reporting { try NamedFile.requireExisting(anchor) } }
        let effect: StorageUse.Effect = acceptContents || acceptOlderFile ? .changes : .reads
        let report = try await place.withRouter(for: [domain], effect: effect, changing: { apply(to: &$0, domain) }) { router in
            if acceptOlderFile {
                try await consent.require(
                    "This takes an older file of \(domain.text) for the latest. Later changes are lost.", of: router.configuration)
                try await router.acceptOlderFile(of: domain)
            }
            if acceptContents {
                try await consent.require(
                    "This takes the present rows of \(domain.text) for the written ones. Losses are no longer found.",
                    of: router.configuration)
                try await router.acceptContents(of: domain)
            }
            return try await check(domain, router)
        }
        let shown = ShownReport(report)
        if place.json { try Output.json(shown) } else { for line in shown.lines(Options.program) { Output.line(line) } }
        if !shown.isSound { throw ExitCode(ExitStatus.damaged.rawValue) }
    }

    private func verifyAll() async throws {
        let reports = try await place.withRouter(selection: .identified) { router in
            var reports: [ShownDatabase] = []
            for store in try await ApplicationStores(router).find() where isDatabase(store.domain, router) {
                if store.state == .present { reports.append(ShownDatabase(store.domain, try await check(store.domain, router))) }
                if store.state == .lost { reports.append(ShownDatabase(lost: store.domain)) }
            }
            if reports.isEmpty {
                throw Refusal(status: .unknownName, code: "unknownStore", name: "", message: "The application has no database to check.")
            }
            return reports
        }
        if place.json { try Output.json(reports) } else { for line in reports.flatMap({ $0.lines(Options.program) }) { Output.line(line) } }
        if !reports.allSatisfy(\.isSound) { throw ExitCode(ExitStatus.damaged.rawValue) }
    }

    private func isDatabase(_ domain: StorageDomain, _ router: StorageRouter) -> Bool {
        domain.kind == .encryptedSQLite || domain.kind == .keychain && StoreFinder(router.configuration).areFiles(.keychain)
    }

    private func check(_ domain: StorageDomain, _ router: StorageRouter) async throws -> IntegrityReport? {
        try await ProgressPrinter.showing(unless: place.json) { printer in
            try await router.verifyIntegrity(of: domain) { progress in
                printer?.show(domain.text, done: progress.checked, total: progress.total, unit: .things("rows"))
            }
        }
    }

    /// Adds a freshness anchor from the command line to a configuration. The anchor records the latest commit of the
    /// database outside of its file.
    private func apply(to configuration: inout StorageConfiguration, _ domain: StorageDomain) {
        guard let anchor else { return }
        // A relative path on the command line is relative to the current folder, not to the data folder.
        let place: FreshnessAnchorPlace = anchor == "keyring" ? .keychain() : .file(URL(fileURLWithPath: anchor).path)
        let name = domain.scope ?? configuration.applicationID
        if domain.kind == .keychain {
            configuration.vaultFreshnessAnchors[name] = place
        } else {
            configuration.freshnessAnchors[name] = place
        }
    }

    // MARK: Backups

    private func verifyBackup(_ file: String) async throws {
        let report = try await place.reporting {
            try NamedFile.requireExisting(file)
            let (key, size) = (try await secret.ask(), NamedFile.size(file))
            let report = try await ProgressPrinter.showing(unless: place.json) { printer in
                try await StorageRouter.verifyBackup(at: URL(fileURLWithPath: file), with: key) { progress in
                    printer?.show(DomainWords.text(ofStore: progress.store), done: progress.bytes, total: size, unit: .bytes)
                }
            }
            if let id = place.applicationID, id != report.application { throw Refusal.foreignBackup(of: report.application, id) }
            return report
        }
        try report.show(asJSON: place.json)
        if !report.isSound { throw ExitCode(ExitStatus.damaged.rawValue) }
    }
}

/// The JSON output for a checked database. A database that a registered key declares and that has no file yet has only `isSound`.
private struct ShownReport: Encodable {
    var isSound = true
    var areRowsWhole: Bool?
    var commits: Int64?
    var damagedLabels: Int?
    var damagedRows: Int?
    var expectedRows: Int?
    var rows: Int?
    var rowsOfDestroyedKeys: Int?

    init(_ report: IntegrityReport?) {
        guard let report else { return }
        isSound = report.isSound
        (areRowsWhole, commits, damagedLabels) = (report.areRowsWhole, report.commits, report.damagedLabels)
        (damagedRows, expectedRows, rows) = (report.damagedRows, report.expectedRows, report.rows)
        rowsOfDestroyedKeys = report.rowsOfDestroyedKeys
    }

    /// Returns the report as lines of text.
    /// - Parameter command: The words that start a command.
    func lines(_ command: String) -> [String] {
        guard let rows else { return ["There is no database yet."] }
        let counts = [quantity(rows, of: "row")] + (commits.map { [quantity($0, of: "commit")] } ?? [])
        var lines = ["\(isSound ? "sound" : "NOT SOUND"): \(counts.joined(separator: ", "))"]
        switch (areRowsWhole ?? true, expectedRows) {
        case (true, _): break
        case (false, let expected?):
            lines.append(
                "The rows are not those written last, of which \(expected) were. Some were replaced by older ones, removed or added.")
        case (false, nil): lines.append("The sealed state is missing or damaged, so removed or replaced rows cannot be detected.")
        }
        if let damaged = damagedRows, damaged > 0 {
            lines.append("damaged: \(quantity(damaged, of: "row")). To list them: \(command) damaged list DOMAIN")
        }
        if let damaged = damagedLabels, damaged > 0 { lines.append("damaged: \(quantity(damaged, of: "label"))") }
        if let lost = rowsOfDestroyedKeys, lost > 0 { lines.append("sealed with a destroyed key: \(quantity(lost, of: "row"))") }
        return lines
    }
}

/// The JSON output for one of several databases.
private struct ShownDatabase: Encodable {
    let domain: String
    /// Whether the ledger records the database and its file does not exist.
    let isLost: Bool
    /// The result of the check; nil for a lost database.
    let report: ShownReport?

    init(_ domain: StorageDomain, _ report: IntegrityReport?) {
        (self.domain, isLost, self.report) = (domain.text, false, ShownReport(report))
    }

    init(lost domain: StorageDomain) { (self.domain, isLost, report) = (domain.text, true, nil) }

    var isSound: Bool { report?.isSound ?? false }

    func lines(_ command: String) -> [String] {
        guard let report else { return ["\(domain): LOST: the ledger records it, and its file does not exist"] }
        return report.lines(command).enumerated().map { $0 == 0 ? "\(domain): \($1)" : "  \($1)" }
    }
}

import ArgumentParser
import Foundation
import LocalData
import LocalDataBackup

/// `localdata backup`: writes all data of a program into one sealed file.
struct Backup<Options: StorageOptions>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "backup", abstract: "Makes a backup of everything that a program keeps: one sealed file.",
            discussion: """
                The program may run at the same time. The backup contains everything in the program's own folders, and the property lists \
                and keyring services that its ledger records; --include names others. FILE must not exist. Exit status 65 for a backup \
                that was made, without a store that is lost, or with one that is damaged or could not be read. Exit status 66 if there is \
                no store: no backup is made then. The command does not open the rows of a database: verify --backup FILE checks them.

                Example: \(Options.program) backup /mnt/backup/monday
                """)
    }

    @OptionGroup var sealed: SealedFileOptions
    @Option(help: DomainArgument.help) var include: [DomainArgument] = []
    @OptionGroup var place: Options

    func run() async throws {
        let report = try await place.withRouter(for: include.map(\.domain), selection: .identified, effect: .changes) { router in
            try NamedFile.requireNew(sealed.file)
            let secret = try await sealed.secret.ask(isNew: true)
            let total = StoreSizes.total(router.configuration)
            let report = try await ProgressPrinter.showing(unless: place.json) { printer in
                try await router.backup(to: sealed.url, openedBy: [secret], including: include.map(\.domain)) { progress in
                    printer?.show(DomainWords.text(ofStore: progress.store), done: progress.bytes, total: total, unit: .bytes)
                }
            }
            try requireContent(report)
            return report
        }
        try report.show(asJSON: place.json)
        if !report.isSound || !report.notFound.isEmpty { throw ExitCode(ExitStatus.damaged.rawValue) }
    }

    /// Deletes the backup and fails if it contains no store of the program.
    private func requireContent(_ report: BackupReport) throws {
        let own: Swift.Set = ["ledger", "quarantine", "copy", "imports"]
        guard report.stores.allSatisfy({ own.contains($0.kind) }) else { return }
        try FileManager.default.removeItem(at: sealed.url)
        throw Refusal(
            status: .unknownName, code: "unknownStore", name: report.application, message: "No store was found. No backup was made.")
    }
}

/// The sizes of an application's stores, which are the estimated amount of work for a backup.
enum StoreSizes {
    /// Returns the number of bytes of all files in the folders of a configuration; nil if it has no folders.
    static func total(_ configuration: StorageConfiguration) -> Int? {
        guard let directories = try? configuration.directories else { return nil }
        var folders = ["\(directories.data)/databases", "\(directories.data)/vaults"]
        if directories.ownsPreferences { folders.append(directories.preferences) }
        return folders.flatMap { folder in
            ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).compactMap { NamedFile.size("\(folder)/\($0)") }
        }.reduce(0, +)
    }
}

/// The JSON output for a backup.
struct ShownBackup: Encodable {
    /// One store in the backup.
    struct Store: Encodable {
        let name: String
        let bytes: Int
        let isForeign, isOlder, isDamaged: Bool
        let problem: String?
        let damagedRows: Int?
        let hasProvenRows: Bool?
    }

    let id, application: String
    let date: Double
    let stores: [Store]
    let keys, omitted, notFound: [String]

    init(_ report: BackupReport) {
        (id, application, date) = (report.id, report.application, report.date.timeIntervalSince1970)
        stores = report.stores.map {
            Store(
                name: DomainWords.text(ofStore: $0.name), bytes: $0.bytes, isForeign: $0.isForeign, isOlder: $0.isOlder,
                isDamaged: $0.isDamaged, problem: $0.problem, damagedRows: $0.damagedRows, hasProvenRows: $0.hasProvenRows)
        }
        keys = report.keys
        (omitted, notFound) = (report.omitted.map(DomainWords.text(ofStore:)), report.notFound.map(DomainWords.text(ofStore:)))
    }
}

extension BackupReport {
    /// Prints the report as text or JSON.
    func show(asJSON json: Bool) throws {
        let shown = ShownBackup(self)
        if json { return try Output.json(shown) }
        for store in shown.stores {
            var notes: [String] = []
            if store.isForeign { notes.append("changed by another program while it was copied") }
            if store.isOlder { notes.append("changed since") }
            if store.isDamaged { notes.append("damaged: its file unchanged") }
            if let problem = store.problem { notes.append("NOT IN THE BACKUP: \(problem)") }
            if let damaged = store.damagedRows, damaged > 0 { notes.append("\(damaged) damaged rows") }
            if store.hasProvenRows == false, !store.isDamaged { notes.append("rows are not those that were written") }
            Output.line("\(store.name): \(store.bytes) bytes" + (notes.isEmpty ? "" : " (\(notes.joined(separator: ", ")))"))
        }
        for name in shown.keys { Output.line("key: \(name)") }
        for name in shown.omitted { Failure.write("not in the backup: \(name), which a custom backend serves") }
        for name in shown.notFound { Failure.write("not found: \(name); nothing was ever written to it, or it is lost") }
    }
}

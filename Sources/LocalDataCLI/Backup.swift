import ArgumentParser
import Foundation
import LocalData
import LocalDataBackup

/// The options for the secret that opens a sealed file. The secret is never an argument, because other users can see arguments.
struct SecretOptions: ParsableArguments {
    @Flag(
        help: "The typed text is a recovery key, not a passphrase. The tool asks for it on the terminal, or reads a line of standard input."
    )
    var recoveryKey = false

    /// Reads the secret from the terminal, or from standard input if that is not a terminal.
    /// - Parameter isNew: Whether the user must type a passphrase a second time.
    func ask(isNew: Bool = false) async throws -> BackupKey {
        let text: String?
        if isatty(STDIN_FILENO) != 1 {
            text = try Terminal.lineOfStandardInput()
        } else if recoveryKey {
            text = await Terminal.askSecret("Recovery key: ")
        } else {
            text = await Terminal.askPassphrase("of the file", twice: isNew)
        }
        guard let text, !text.isEmpty else { throw ValidationError("No passphrase or recovery key was given.") }
        if isNew, !recoveryKey, text.count < Terminal.shortestPassphrase {
            let rule = "A new passphrase has at least \(Terminal.shortestPassphrase) characters. Several words are easy to remember."
            throw ValidationError("\(rule) Nothing was written.")
        }
        return recoveryKey ? .recoveryKey(try RecoveryKey(text: text)) : .passphrase(text)
    }
}

/// The file of a backup, and the secret that opens it.
struct SealedFileOptions: ParsableArguments {
    @Argument(help: "The file.", completion: .file()) var file: String
    @OptionGroup var secret: SecretOptions

    var url: URL { URL(fileURLWithPath: file) }
}

/// `localdata backup`: writes all data of a program into one sealed file.
struct Backup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Makes a backup of everything that a program keeps: one sealed file.",
        discussion: """
            The program may run meanwhile. Everything in the program's own folders is found, and the property lists and keyring services that its ledger \
            records; --include names others. FILE must not exist. Exit status 65 for a backup that was made, with a store in it that is damaged or could \
            not be read; 66 if no store was found, or one that --include names was not: no backup is made then.
            """)

    @OptionGroup var sealed: SealedFileOptions
    @Option(help: DomainArgument.help) var include: [DomainArgument] = []
    @OptionGroup var place: PlaceOptions

    func run() async throws {
        try await place.requireOwner()
        let report = try await place.withRouter { router in
            try await router.backup(to: sealed.url, openedBy: [try await sealed.secret.ask(isNew: true)], including: include.map(\.domain))
        }
        try requireContent(report)
        try report.show(asJSON: place.json)
        if !report.isSound { throw ExitCode(65) }
    }

    /// Deletes the backup and fails if it lacks a store that `--include` names, or if it contains no store.
    private func requireContent(_ report: BackupReport) throws {
        let named = Swift.Set(include.map { Self.name(of: $0.domain, place.appID) })
        let missing = report.notFound.filter(named.contains)
        let own: Swift.Set = ["ledger", "quarantine", "copy"]
        var problem: String?
        if let first = missing.first {
            problem = "There is no \(first), which --include names."
        } else if report.stores.allSatisfy({ own.contains($0.kind) }) {
            problem = "No store was found."
            if let root = place.root, FileManager.default.fileExists(atPath: root + "/LocalData") {
                problem = "No store was found. A service keeps its stores in the folder LocalData: --root \(root)/LocalData"
            }
        }
        guard let problem else { return }
        try FileManager.default.removeItem(at: sealed.url)
        Failure.write("localdata: \(problem) No backup was made.")
        throw ExitCode(66)
    }

    /// The name of a domain's store in a backup report.
    private static func name(of domain: StorageDomain, _ appID: String?) -> String {
        "\(domain.kind)(\(domain.scope ?? appID ?? ""))"
    }
}

/// `localdata verify-backup`: reads a backup completely and checks it, without restoring anything.
struct VerifyBackup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify-backup", abstract: "Checks everything in a backup, and restores nothing.",
        discussion: """
            Exit status 65 also for a whole backup of something that was damaged, or could not be read, when it was made.
            """)

    @OptionGroup var sealed: SealedFileOptions
    @Flag(help: "Print one JSON value: on standard output the answer, on standard error an error.") var json = false

    func run() async throws {
        let report: BackupReport
        do { report = try await StorageRouter.verifyBackup(at: sealed.url, with: try await sealed.secret.ask()) } catch {
            throw Failure.exit(for: error, asJSON: json)
        }
        try report.show(asJSON: json)
        if !report.isSound { throw ExitCode(65) }
    }
}

/// `localdata restore`: restores a backup into the stores of a program.
struct Restore: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Restores a backup, after everything in it was verified.",
        discussion: """
            End the program first. A store that is there with other content is refused; --replace NAME replaces it, and keeps it beside. Run the same \
            command again if it was interrupted: it goes on where it stopped.
            """)

    @OptionGroup var sealed: SealedFileOptions
    @Option(help: "A store to replace, as the refusal names it: \"encryptedSQLite(main)\", \"ledger\".") var replace: [String] = []
    @OptionGroup var place: PlaceOptions

    func run() async throws {
        try await place.requireOwner()
        let report: RestoreReport
        do {
            report = try await StorageRouter.restore(
                from: sealed.url, with: try await sealed.secret.ask(), into: try place.configuration(), replacing: Swift.Set(replace))
        } catch { throw Failure.exit(for: error, asJSON: place.json) }
        if place.json { return try Output.json(ShownRestore(report)) }
        for name in report.restored { Output.line("restored \(name)") }
        for name in report.unchanged { Output.line("unchanged \(name)") }
        for name in report.givenToOtherKey { Output.line("given to the key that was here: \(name)") }
        for place in report.kept { Output.line("kept \(place)") }
        for name in report.missing { Failure.write("not in the backup: \(name), which could not be read when it was made") }
    }

    /// The JSON output of `restore`.
    private struct ShownRestore: Encodable {
        let backup: ShownBackup
        let restored, unchanged, kept, givenToOtherKey, missing: [String]

        init(_ report: RestoreReport) {
            backup = ShownBackup(report.backup)
            (restored, unchanged, kept, givenToOtherKey) = (report.restored, report.unchanged, report.kept, report.givenToOtherKey)
            missing = report.missing
        }
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
                name: $0.name, bytes: $0.bytes, isForeign: $0.isForeign, isOlder: $0.isOlder, isDamaged: $0.isDamaged,
                problem: $0.problem, damagedRows: $0.damagedRows, hasProvenRows: $0.hasProvenRows)
        }
        (keys, omitted, notFound) = (report.keys, report.omitted, report.notFound)
    }
}

extension BackupReport {
    /// Prints the report as text or JSON.
    fileprivate func show(asJSON json: Bool) throws {
        if json { return try Output.json(ShownBackup(self)) }
        for store in stores {
            var notes: [String] = []
            if store.isForeign { notes.append("changed by another program while it was copied") }
            if store.isOlder { notes.append("changed since") }
            if store.isDamaged { notes.append("damaged: its file unchanged") }
            if let problem = store.problem { notes.append("NOT IN THE BACKUP: \(problem)") }
            if let damaged = store.damagedRows, damaged > 0 { notes.append("\(damaged) damaged rows") }
            if store.hasProvenRows == false, !store.isDamaged { notes.append("rows are not those that were written") }
            Output.line("\(store.name): \(store.bytes) bytes" + (notes.isEmpty ? "" : " (\(notes.joined(separator: ", ")))"))
        }
        for name in keys { Output.line("key: \(name)") }
        for name in omitted { Failure.write("not in the backup: \(name), which a custom backend serves") }
        for name in notFound { Failure.write("not found: \(name); nothing was ever written to it, or it is lost") }
    }
}

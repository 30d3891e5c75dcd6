import ArgumentParser
import LocalData
import LocalDataBackup

/// `localdata restore`: restores a backup into the stores of a program.
struct Restore<Options: StorageOptions>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "restore", abstract: "Restores a backup, after everything in it was verified.",
            discussion: """
                End the program first. A store with other content is refused (exit status 73). --replace NAME replaces it, and keeps it \
                under another name. Exit status 65 if a store is missing in the backup. After an interruption, run the same command again: it continues where it stopped.

                Example: \(Options.program) restore /mnt/backup/monday --replace sqlite:documents --replace ledger
                """)
    }

    @OptionGroup var sealed: SealedFileOptions
    @Option(help: "A store to replace, as the refusal names it: sqlite:documents, ledger.") var replace: [String] = []
    @OptionGroup var consent: ConsentOptions
    @OptionGroup var place: Options

    func run() async throws {
        let report = try await place.reporting {
            let configuration = try await place.configuration(for: StorageUse(selection: .identified, effect: .changes, creates: true))
            try await FolderOwner(configuration).requireUser()
            try NamedFile.requireExisting(sealed.file)
            if !replace.isEmpty {
                try await consent.require(
                    "This replaces \(replace.joined(separator: ", ")). The programs that use it must have ended.", of: configuration)
            }
            return try await restore(into: configuration)
        }
        let shown = ShownRestore(report)
        if place.json { try Output.json(shown) } else { show(shown) }
        if !shown.missing.isEmpty { throw ExitCode(ExitStatus.damaged.rawValue) }
    }

    private func show(_ shown: ShownRestore) {
        for name in shown.restored { Output.line("restored \(name)") }
        for name in shown.unchanged { Output.line("unchanged \(name)") }
        for name in shown.givenToOtherKey { Output.line("given to the key that was here: \(name)") }
        for path in shown.kept { Output.line("kept \(path)") }
        for name in shown.missing { Failure.write("not in the backup: \(name), which could not be read when it was made") }
    }

    private func restore(into configuration: StorageConfiguration) async throws -> RestoreReport {
        let secret = try await sealed.secret.ask()
        let (names, size) = (Swift.Set(replace.map(DomainWords.storeName(of:))), NamedFile.size(sealed.file))
        do {
            return try await ProgressPrinter.showing(unless: place.json) { printer in
                try await StorageRouter.restore(from: sealed.url, with: secret, into: configuration, replacing: names) { progress in
                    // A restore reads the file three times: it compares, writes the new files, and restores the items of keyrings.
                    printer?.show(DomainWords.text(ofStore: progress.store), done: progress.bytes, total: size, unit: .bytes, passes: 3)
                }
            }
        } catch let error as StorageError where [.conflict, .invalidName].contains(error.code) {
            // A store with other content does not change by waiting, so this is not "try again".
            let isUnknown = error.code == .invalidName
            let advice = isUnknown ? "" : " To replace a store: --replace NAME, once for each."
            let message = DomainWords.replacing(in: error.message) + advice
            let (status, code) = isUnknown ? (ExitStatus.unknownName, "unknownStore") : (.exists, error.code.name)
            throw Refusal(status: status, code: code, name: DomainWords.text(ofStore: error.keyName), message: message)
        }
    }

    /// The JSON output of `restore`.
    private struct ShownRestore: Encodable {
        let backup: ShownBackup
        let restored, unchanged, kept, givenToOtherKey, missing: [String]

        init(_ report: RestoreReport) {
            backup = ShownBackup(report.backup)
            restored = report.restored.map(DomainWords.text(ofStore:))
            unchanged = report.unchanged.map(DomainWords.text(ofStore:))
            kept = report.kept.map(DomainWords.replacing(in:))
            givenToOtherKey = report.givenToOtherKey.map(DomainWords.text(ofStore:))
            missing = report.missing.map(DomainWords.text(ofStore:))
        }
    }
}

import BackendContract
import BackendRuntime
import Crypto
import Foundation
import LocalData
import Sealing

/// Restores a backup.
///
/// It verifies the backup, compares it with the existing stores, and determines the encryption keys. Then it writes
/// drafts (the new files) beside the existing files, takes the locks of the stores, and writes the journal. At the end
/// it renames the drafts, records the keys in the ledger (notes about keys and migrations), and removes the journal.
/// Before the journal is written, no store is replaced. From then on, no store opens until a restore of the same backup
/// has completed.
struct RestoreRun {
    let path: String
    let opener: StreamOpener
    let wiring: Wiring
    /// The names of the stores that may be replaced.
    let replacing: Set<String>
    let progress: (@Sendable (BackupProgress) -> Void)?

    private var configuration: StorageConfiguration { wiring.configuration }
    private var runtime: Runtime { configuration.runtime }

    /// - Parameter header: The header from an earlier reading of the same file; nil for the first reading.
    private func verifier(_ header: StreamHeader? = nil) -> BackupVerifier {
        BackupVerifier(path: path, opener: header.map { .opened($0) } ?? opener, runtime: runtime, progress: progress)
    }

    func run() async throws -> RestoreReport {
        let directories = try configuration.requiredDirectories()
        let drafts = try await onLane { [runtime] () throws(BackendError) in try RestoreDrafts(directories, runtime) }
        defer { drafts.release() }
        var survey = RestoreSurvey(wiring: wiring)
        let content = try await verifier().run { name, part in try survey.take(name, part) }
        try survey.finish(content)
        let context = configuration.storeContext("", "").application
        guard content.report.context == context else {
            throw StorageError(
                StorageError.wrongContext, key: "backup",
                "The backup belongs to \(content.report.context), and this program is \(context). Restore it with the configuration of the program that made it. Nothing was changed."
            )
        }
        let journal: RestoreJournal
        if let unfinished = try await onLane({ [runtime] () throws(BackendError) in try RestoreJournal.read(directories, runtime) }) {
            guard unfinished.backup == content.report.id else {
                throw StorageError(
                    StorageError.unavailable, key: "restore",
                    "A restore of the backup \(unfinished.backup) was interrupted here. Finish that one first; nothing was changed.")
            }
            journal = unfinished
            let keys = try await RestoredKeys(content, wiring).settle(survey)
            try await finish(journal, survey, directories, keys)
        } else {
            do { journal = try await begin(content, &survey, directories, drafts) } catch {
                await survey.close()
                throw error
            }
        }
        try await onLane { () throws(BackendError) in try drafts.forget() }
        var report = RestoreReport(content.report)
        (report.restored, report.unchanged, report.givenToOtherKey) = (journal.restored, journal.unchanged, journal.givenToOtherKey)
        report.kept = try await kept(journal, survey)
        report.missing = survey.missing.sorted()
        return report
    }

    /// Prepares the drafts without changing existing stores, and then replaces the stores.
    private func begin(
        _ content: BackupVerifier.Content, _ survey: inout RestoreSurvey, _ directories: StorageDirectories, _ drafts: RestoreDrafts
    ) async throws -> RestoreJournal {
        try configuration.requireNoForgetting()
        try await onLane { () throws(BackendError) in try drafts.removeLeft() }
        try await survey.compare(replacing)
        let keys = try await RestoredKeys(content, wiring).settle(survey)
        let attempt = hexadecimalText(of: runtime.randomBytes(8))
        var journal = survey.journal(content.report.id, attempt, replacing)
        journal.givenToOtherKey = survey.databases.filter { name, reference in
            keys.contains { $0.reference == reference && $0.isOther }
        }.map(\.key).sorted()
        let held: StoreLocks
        do {
            // Reason: "The drafts of a restore are recorded before they exist" in Docs/Decisions/Backups.md.
            try await onLane { [journal] () throws(BackendError) in try drafts.note(journal.steps.map(\.draft)) }
            try await writeDrafts(content, survey, journal, keys)
            held = try await locks(survey)
            do {
                try await survey.requireUnchanged()
                await survey.close()
                try await onLane { [journal, runtime] () throws(BackendError) in try journal.write(directories, runtime) }
            } catch {
                held.release()
                throw error
            }
        } catch {
            if try await onLane({ [runtime] () throws(BackendError) in try RestoreJournal.read(directories, runtime) }) == nil {
                // If this fails, the next process that opens a store removes the remaining drafts.
                try? await onLane { () throws(BackendError) in try drafts.removeLeft() }
            }
            throw error
        }
        // Do not release the locks in between, so that no other process changes a store before it is replaced.
        // Reason: "A journal makes a restore finish or change nothing" in Docs/Decisions/Backups.md.
        try await finish(journal, survey, directories, keys, holding: held)
        return journal
    }

    private func locks(_ survey: RestoreSurvey) async throws -> StoreLocks {
        let deadline = runtime.clock.now.advanced(by: max(configuration.deadlines.files, configuration.deadlines.keychain))
        return try await translating("restore", await StoreLocks(survey.stores.values.map(\.store), deadline: deadline, runtime: runtime))
    }

    // MARK: Drafts

    private func writeDrafts(
        _ content: BackupVerifier.Content, _ survey: RestoreSurvey, _ journal: RestoreJournal, _ keys: [ResolvedKey]
    ) async throws {
        let drafts = Dictionary(uniqueKeysWithValues: journal.steps.map { ($0.target, $0.draft) })
        var open: (name: BackupManifest.Name, draft: any RestoreDraft)?
        var begun: Set<String> = []
        func begin(_ name: BackupManifest.Name) async throws {
            guard begun.insert(BackedStore.name(name.kind, name.scope)).inserted, let store = survey.stores[name],
                let target = survey.target(store), let draft = drafts[target]
            else { return }
            switch store.form {
            case .file:
                open = (
                    name,
                    try await translatingErrors(key: store.name) { () throws(BackendError) in
                        try await FileDraft(path: draft, deadline: configuration.deadlines.files, runtime: runtime)
                    }
                )
            case .database(_, let reference, let database):
                guard let own = keys.first(where: { $0.reference == reference }) else {
                    throw StorageError(
                        StorageError.encryptionKeyMissing, key: store.name, "There is no key for the database here. Nothing was changed.")
                }
                open = (
                    name,
                    try await translatingErrors(key: draft) { () throws(BackendError) in
                        try await database.draft(
                            at: draft, keys: content.keys.flatMap(\.keys.all), own: RestoredKey(key: own.key, source: own.pin))
                    }
                )
            case .items: break
            }
        }
        func finish() async throws {
            guard let ended = open else { return }
            try await translatingErrors(key: ended.name.scope) { () throws(BackendError) in try await ended.draft.finish() }
            open = nil
        }
        _ = try await verifier(survey.header).run { name, part in
            if open?.name != name {
                try await finish()
                try await begin(name)
            }
            if let open { try await translatingErrors(key: name.scope) { () throws(BackendError) in try await open.draft.take(part) } }
        }
        try await finish()
        // A store without content has no part, so its draft was not created above.
        for name in survey.stores.keys.sorted(by: { $0.scope < $1.scope }) {
            try await begin(name)
            try await finish()
        }
    }

    // MARK: Destinations

    private func finish(
        _ journal: RestoreJournal, _ survey: RestoreSurvey, _ directories: StorageDirectories, _ keys: [ResolvedKey],
        holding held: StoreLocks? = nil
    ) async throws {
        let locks = if let held { held } else { try await locks(survey) }
        let files = runtime.files
        do {
            try await onLane { () throws(BackendError) in
                do throws(FileError) { try journal.putFilesInPlace(files) } catch { throw error.backendError(outcome: .unknown) }
            }
            try await restoreItems(journal, survey)
        } catch {
            locks.release()
            throw error
        }
        // Release the locks first, because the ledger takes a lock itself.
        locks.release()
        try await wiring.notePins(keys.map { (key: $0.key, source: $0.identifier) })
        let presence = try wiring.presenceRecordsPath
        // Without this, a value that was imported after the backup would be absent: its import is recorded, and the
        // restore has removed it from its destination.
        let imports = survey.hasImports || journal.restored.isEmpty ? nil : try wiring.importsPath
        try await onLane { () throws(BackendError) in
            do throws(FileError) {
                // Remove the presence records, the notes that values exist: values that are not in the backup are
                // absent on purpose. The next read of a value that exists records its presence again.
                try files.remove(presence)
                if let imports { try files.remove(imports) }
                try files.remove(RestoreMark.path(directories))
                try files.synchronizeDirectory(directories.data)
            } catch { throw error.backendError(outcome: .unknown) }
        }
    }

    private func restoreItems(_ journal: RestoreJournal, _ survey: RestoreSurvey) async throws {
        for items in journal.items {
            let name = BackupManifest.Name(kind: items.kind ?? RestoreJournal.Items.formerKind, scope: items.scope)
            guard let store = survey.stores[name], case .items(let service) = store.form else { continue }
            let deadline = configuration.deadlines.keychain
            var wanted: [BackupItem] = []
            _ = try await verifier(survey.header).run { found, part in
                if found == name { wanted.append(try survey.item(part)) }
            }
            try await translatingErrors(key: store.name) { () throws(BackendError) in
                if items.movesOthers {
                    for item in try await service.items(deadline: runtime.clock.now.advanced(by: deadline)) {
                        guard !item.namespace.hasPrefix("replaced:"), !survey.isKey(item, items.scope),
                            !wanted.contains(where: { $0.namespace == item.namespace && $0.name == item.name })
                        else { continue }
                        try await service.move(item, to: items.kept, deadline: runtime.clock.now.advanced(by: deadline))
                    }
                }
                for item in wanted {
                    try await service.restore(item, keeping: items.kept, deadline: runtime.clock.now.advanced(by: deadline))
                }
            }
        }
    }

    private func kept(_ journal: RestoreJournal, _ survey: RestoreSurvey) async throws -> [String] {
        let files = runtime.files
        let paths = try await onLane { () throws(BackendError) in
            var found: [String] = []
            do throws(FileError) {
                for path in journal.steps.map(\.kept) where try files.status(path) != nil { found.append(path) }
            } catch { throw error.backendError() }
            return found
        }
        return paths
            + journal.items.filter(\.movesOthers).map { items -> String in
                let name = BackupManifest.Name(kind: items.kind ?? RestoreJournal.Items.formerKind, scope: items.scope)
                var service = items.scope
                if let store = survey.stores[name], case .items(let keyring) = store.form { service = keyring.keptService }
                return "\(BackedStore.name(name.kind, service)), namespace \(items.kept)"
            }
    }

    private func onLane<R: Sendable>(_ work: @escaping @Sendable () throws(BackendError) -> R) async throws -> R {
        let runtime = runtime
        return try await translatingErrors(key: "restore") { () throws(BackendError) in
            try await runtime.onLane("restore", within: .seconds(60), isMutation: true, work)
        }
    }
}

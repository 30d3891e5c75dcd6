import BackendContract
import BackendRuntime
import Foundation
import LocalData
import Sealing

/// Makes a backup in this order: fetch the keys, take all locks, copy the state of every store, release the locks, and write the stores
/// one by one.
struct BackupRun {
    /// The router. The backup fails if the program locks the router or one of its domains.
    let router: StorageRouter.BackedRouter
    /// Additional domains that no key uses yet.
    let domains: [StorageDomain]
    let progress: (@Sendable (BackupProgress) -> Void)?

    private var references: Set<KeySourceReference> { router.references }
    private var configuration: StorageConfiguration { router.wiring.configuration }
    private var runtime: Runtime { configuration.runtime }

    /// The copied state of a store.
    private struct Taken {
        let store: BackedStore
        let copy: any BackupCopy
        var isForeign = false
    }

    /// The copy of a store that cannot be read. It has no content.
    private struct Unreadable: BackupCopy {
        let error: BackendError

        func nextPart() async throws(BackendError) -> [UInt8]? { throw error }
        func hasChanged() async throws(BackendError) -> Bool { false }
        func close() async {}
    }

    /// Errors that report a damaged store or disk. Any other error of a store ends the backup.
    /// Reason: "A store that cannot be read is named in the backup" in Docs/Decisions/Backups.md.
    private static let damage: Set<BackendError.Code> = [.corrupted, .unsupported, .failed, BackendError.Code("incompatibleSchema")]

    /// Writes the backup. The file is durable when this returns.
    func run(to path: String, for recipients: [BackupKey]) async throws -> BackupReport {
        let (found, empty) = try await fetchKeys()
        let program = try await router.wiring.backedStores(router.domains.union(domains), found.map(\.reference))
        let taken = try await take(program.stores, found, empty)
        let notFound = program.expected.subtracting(taken.map(\.store.name)).sorted()
        let date = runtime.clock.wallSeconds
        do {
            // The copies need another key if it was rotated between the read of the keys and the locks. Then begin again.
            let isCurrent = try await fetchKeys().found.map(\.ids) == found.map(\.ids)
            let report = try await translatingErrors(key: "backup") { () throws(BackendError) in
                isCurrent ? try await write(taken, found, program.omitted, notFound, date, path, recipients) : nil
            }
            for taken in taken { await taken.copy.close() }
            if let report { return report }
        } catch {
            for taken in taken { await taken.copy.close() }
            throw error
        }
        return try await run(to: path, for: recipients)
    }

    // MARK: Keys

    /// Fetches the encryption keys from the program's key sources, such as keyring items and key files. A source that
    /// never had a key is skipped.
    /// - Returns: The keys, and the sources without a key.
    private func fetchKeys() async throws -> (found: [BackupSourceKeys], empty: [any KeySource]) {
        var found: [String: BackupSourceKeys] = [:]
        var empty: [any KeySource] = []
        let all = references.union(configuration.otherKeySources).map { $0 == .configured ? configuration.keySource : $0 }
        for reference in Set(all + [configuration.keySource]).sorted(by: { $0.description < $1.description }) {
            let source = try router.wiring.keySource(reference)
            do throws(BackendError) {
                found[source.identifier] = BackupSourceKeys(reference, try await router.keys.latest(from: source))
            } catch {
                guard error.code == .encryptionKeyMissing else { throw StorageError.from(error, key: "\(reference)") }
                empty.append(source)
            }
        }
        return (found.values.sorted { $0.reference.description < $1.reference.description }, empty)
    }

    // MARK: Copies

    /// Takes the locks of all stores, copies the state of each store, and releases the locks.
    private func take(_ stores: [BackedStore], _ found: [BackupSourceKeys], _ empty: [any KeySource]) async throws -> [Taken] {
        let deadline = runtime.clock.now.advanced(by: max(configuration.deadlines.files, configuration.deadlines.keychain))
        let locks = try await translating("backup", await StoreLocks(stores.map(\.store), deadline: deadline, runtime: runtime))
        defer { locks.release() }
        var taken: [Taken] = []
        do {
            for store in stores {
                try router.requireUnlocked()
                if let copy = try await translating(store.name, await copy(store, found, empty, deadline)) {
                    taken.append(Taken(store: store, copy: copy))
                }
            }
            // All locks are held. If a store has changed since its copy, the program that changed it does not take the
            // locks.
            for index in taken.indices {
                taken[index].isForeign = try await translating(taken[index].store.name, await taken[index].copy.hasChanged())
            }
        } catch {
            for taken in taken { await taken.copy.close() }
            throw error
        }
        return taken
    }

    /// Copies the state of a store; nil if the store does not exist.
    private func copy(
        _ store: BackedStore, _ found: [BackupSourceKeys], _ empty: [any KeySource], _ deadline: MonotonicInstant
    ) async throws(BackendError) -> (any BackupCopy)? {
        var made: (any BackupCopy)?
        do throws(BackendError) {
            made = try await store.store.copyForBackup(deadline: deadline)
            if let keyed = made as? any KeyedBackupCopy { try requireKey(keyed, found, empty) }
            return made
        } catch {
            await made?.close()
            guard Self.isDamage(error, store) else { throw error }
            return Unreadable(error: error)
        }
    }

    /// Whether an error means that the store is damaged, so that the backup continues without it. A keyring never counts as damaged,
    /// because a retry may succeed.
    private static func isDamage(_ error: BackendError, _ store: BackedStore) -> Bool {
        if case .items = store.form { return false }
        return damage.contains(error.code)
    }

    private func requireKey(
        _ copy: any KeyedBackupCopy, _ found: [BackupSourceKeys], _ empty: [any KeySource]
    ) throws(BackendError) {
        for recipient in copy.recipients {
            guard let key = found.lazy.compactMap({ $0.keys.key(recipient.id) }).first else { continue }
            return try copy.requireOpens(with: key)
        }
        let sources = Set(copy.recipients.map(\.source))
        let lost = empty.filter { sources.contains($0.pin) }.map(\.identifier).joined(separator: " or ")
        let remedy =
            lost.isEmpty
            ? "Name the source (in a program: keySource or databaseKeySources; with the tool: --key-source)"
            : "There is no key in \(lost): restore it"
        throw BackendError(
            .encryptionKeyMissing,
            "The database opens with the key in \(sources.sorted().joined(separator: " or ")), which no configured source gave: a backup of it would be of no use. \(remedy) and try again; nothing was written."
        )
    }

    // MARK: Writing

    private func write(
        _ taken: [Taken], _ found: [BackupSourceKeys], _ omitted: [StorageDomain], _ notFound: [String], _ date: Double, _ path: String,
        _ recipients: [BackupKey]
    ) async throws(BackendError) -> BackupReport {
        var made: [StreamRecipient] = []
        for recipient in recipients { made.append(try recipient.recipient()) }
        let header = try await StreamHeader.make(.backup, for: made, runtime)
        let file = try await SealedFileWriter(path, header, configuration)
        do throws(BackendError) {
            let manifest = BackupManifest(
                application: configuration.applicationID, context: configuration.storeContext("", "").application, created: date,
                stores: taken.map { BackupManifest.Name(kind: $0.store.kind, scope: $0.store.scope) },
                omitted: omitted.map(\.description), notFound: notFound)
            var report = BackupReport(header, manifest)
            report.keys = found.map(\.reference.description)
            try await file.write(.manifest, try Self.json(manifest))
            for key in found {
                var content = key.content
                defer { wipe(&content) }
                try await file.write(.key, content)
            }
            var end = BackupEnd(stores: [])
            for (index, taken) in taken.enumerated() {
                end.stores.append(try await write(taken, to: file, index, taken.store.name, count: manifest.stores.count, end))
            }
            for (index, taken) in taken.enumerated() { end.stores[index].older = try await taken.copy.hasChanged() }
            try await file.write(.end, try Self.json(end))
            try await file.finish()
            report.stores = end.stores.map(BackupReport.Store.init)
            return report
        } catch {
            await file.discard()
            throw error
        }
    }

    private func write(
        _ taken: Taken, to file: SealedFileWriter, _ index: Int, _ name: String, count: Int, _ end: BackupEnd
    ) async throws(BackendError) -> BackupEnd.Store {
        var head = ByteWriter()
        head.counted(taken.store.kind.utf8)
        head.counted(taken.store.scope.utf8)
        try await file.write(.store, head.bytes)
        var digest = BackupDigest()
        let before = end.stores.reduce(0) { $0 + $1.bytes }
        progress?(BackupProgress(store: name, done: index, count: count, bytes: before))
        var problem: String?
        while var part = try await nextPart(taken, &problem) {
            defer { wipe(&part) }
            if Task.isCancelled { throw BackendError(.cancelled, "The caller was cancelled. Nothing was written.") }
            if router.isAnyLocked { throw BackendError(.locked, "The program locked its storage during the backup. Nothing was written.") }
            if case .items = taken.store.form, try isKey(part, taken.store.scope) { continue }
            digest.take(part)
            try await file.write(.part, part)
            progress?(BackupProgress(store: name, done: index, count: count, bytes: before + digest.bytes))
        }
        var tail = BackupStoreEnd(digest)
        tail.problem = problem
        if problem == nil { tail.isDamaged = await taken.copy.isDamaged() }
        try await file.write(.storeEnd, tail.bytes)
        return BackupEnd.Store(
            kind: taken.store.kind, scope: taken.store.scope, parts: digest.parts, bytes: digest.bytes,
            digest: hexadecimalText(of: digest.digest), foreign: taken.isForeign, older: false, damaged: tail.isDamaged,
            problem: tail.problem)
    }

    /// The next part of a store; nil after the last part, or if the store cannot be read.
    private func nextPart(_ taken: Taken, _ problem: inout String?) async throws(BackendError) -> [UInt8]? {
        do throws(BackendError) { return try await taken.copy.nextPart() } catch {
            guard Self.isDamage(error, taken.store) else { throw error }
            problem = error.code.name
            return nil
        }
    }

    /// Whether an item of a keyring is a sealing key (an encryption key). The backup contains these keys in separate
    /// entries, and a restore never replaces the keys of another machine with them.
    private func isKey(_ part: [UInt8], _ service: String) throws(BackendError) -> Bool {
        let item: BackupItem
        do throws(RecordDamage) { item = try BackupItem(part: part) } catch { throw SealedFileReader.malformed }
        return Self.isKey(item, service, references.union(configuration.otherKeySources).union([configuration.keySource]), configuration)
    }

    /// Whether an item of a keyring service is the key of one of the given key sources.
    static func isKey(
        _ item: BackupItem, _ service: String, _ references: some Sequence<KeySourceReference>, _ configuration: StorageConfiguration
    ) -> Bool {
        item.namespace.isEmpty
            && references.contains {
                guard case .keychain(let named, let name) = ($0 == .configured ? configuration.keySource : $0).form else { return false }
                return (named ?? configuration.applicationID) == service && name == item.name
            }
    }

    private static func json(_ value: some Encodable) throws(BackendError) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do { return Array(try encoder.encode(value)) } catch { throw BackendError(.failed, "The manifest could not be written.") }
    }
}

extension BackupReport {
    /// The report of a backup, before its stores and keys.
    init(_ header: StreamHeader, _ manifest: BackupManifest) {
        (id, application, context) = (hexadecimalText(of: header.id), manifest.application, manifest.context)
        date = Date(timeIntervalSince1970: manifest.created)
        (omitted, notFound) = (manifest.omitted, manifest.notFound ?? [])
    }
}

extension BackupReport.Store {
    init(_ store: BackupEnd.Store) {
        self.init(kind: store.kind, scope: store.scope)
        (bytes, digest, isForeign, isOlder) = (store.bytes, store.digest, store.foreign, store.older)
        (isDamaged, problem) = (store.damaged, store.problem)
    }
}

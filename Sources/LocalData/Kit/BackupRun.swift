import BackendContract
import BackendRuntime
import Foundation
import Sealing

/// Makes a backup: keys → all locks → one state of every store → locks released → written, store by store.
struct BackupRun {
    let wiring: Wiring
    let domains: Set<StorageDomain>
    let references: Set<KeySourceReference>
    let keys: SealingKeys
    let progress: (@Sendable (BackupProgress) -> Void)?

    private var configuration: StorageConfiguration { wiring.configuration }
    private var runtime: Runtime { configuration.runtime }

    /// A store's state, and what was noticed when it was taken.
    private struct Taken {
        let store: BackedStore
        let copy: any BackupCopy
        var isForeign = false
    }

    /// Writes the backup; durable when it returns.
    func run(to path: String, for recipients: [BackupKey]) async throws -> BackupReport {
        let found = try await fetchKeys()
        let (stores, omitted) = try await wiring.backedStores(domains, found.map(\.reference))
        let taken = try await take(stores, found)
        let date = runtime.clock.wallSeconds
        do {
            let report = try await translatingErrors(key: "backup") { () throws(BackendError) in
                try await write(taken, found, omitted, date, path, recipients)
            }
            for taken in taken { await taken.copy.close() }
            return report
        } catch {
            for taken in taken { await taken.copy.close() }
            throw error
        }
    }

    // MARK: Keys

    /// The keys of the program's sources; a source that never had one has none.
    private func fetchKeys() async throws -> [KitKey] {
        var found: [String: KitKey] = [:]
        let all = references.union(configuration.otherKeySources).map { $0 == .configured ? configuration.keySource : $0 }
        for reference in Set(all + [configuration.keySource]).sorted(by: { $0.description < $1.description }) {
            let source = try wiring.keySource(reference)
            do throws(BackendError) {
                found[source.identifier] = KitKey(reference, try await keys.existing(from: source))
            } catch {
                guard error.code == .encryptionKeyMissing else { throw StorageError.from(error, key: "\(reference)") }
            }
        }
        return found.values.sorted { $0.reference.description < $1.reference.description }
    }

    // MARK: Copies

    /// Takes one state of each store while all their locks are held.
    private func take(_ stores: [BackedStore], _ found: [KitKey]) async throws -> [Taken] {
        let deadline = runtime.clock.now.advanced(by: max(configuration.deadlines.files, configuration.deadlines.keyring))
        let locks = try await translatingErrors(key: "backup") { () throws(BackendError) in
            try await StoreLocks(Set(stores.compactMap(\.store.backupLock)), deadline: deadline, runtime: runtime)
        }
        defer { locks.release() }
        var taken: [Taken] = []
        do {
            for store in stores {
                try await translatingErrors(key: store.name) { () throws(BackendError) in
                    guard let copy = try await store.store.copyForBackup(deadline: deadline) else { return }
                    taken.append(Taken(store: store, copy: copy))
                    if let keyed = copy as? any KeyedBackupCopy { try requireKey(keyed, found) }
                }
            }
            // The locks are held: whoever has changed one by now does not take them.
            for index in taken.indices {
                taken[index].isForeign = try await translatingErrors(key: taken[index].store.name) { () throws(BackendError) in
                    try await taken[index].copy.hasChanged()
                }
            }
        } catch {
            for taken in taken { await taken.copy.close() }
            throw error
        }
        return taken
    }

    private func requireKey(_ copy: any KeyedBackupCopy, _ found: [KitKey]) throws(BackendError) {
        for recipient in copy.recipients {
            guard let key = found.first(where: { $0.key.id == recipient.id }) else { continue }
            return try copy.requireOpens(with: key.key)
        }
        let sources = Set(copy.recipients.map(\.source)).sorted().joined(separator: " or ")
        throw BackendError(
            .encryptionKeyMissing,
            "The database opens with the key in \(sources), which no configured source gave: a backup of it would be of no use. Configure the source (databaseKeySources) and try again; nothing was written."
        )
    }

    // MARK: Writing

    private func write(
        _ taken: [Taken], _ found: [KitKey], _ omitted: [StorageDomain], _ date: Double, _ path: String, _ recipients: [BackupKey]
    ) async throws(BackendError) -> BackupReport {
        var made: [StreamRecipient] = []
        for recipient in recipients { made.append(try recipient.recipient()) }
        let header = try await StreamHeader.make(.backup, for: made, runtime)
        let file = try await SealedFileWriter(path, header, configuration)
        do throws(BackendError) {
            var report = BackupReport()
            report.id = hexadecimalText(of: header.id)
            report.application = configuration.applicationID
            report.context = configuration.storeContext("", "").application
            report.date = Date(timeIntervalSince1970: date)
            report.omitted = omitted.map(\.description)
            report.keys = found.map(\.reference.description)
            let manifest = KitManifest(
                application: report.application, context: report.context, created: date,
                stores: taken.map { KitManifest.Name(kind: $0.store.kind.rawValue, scope: $0.store.scope) }, omitted: report.omitted)
            try await file.write(.manifest, try Self.json(manifest))
            for key in found {
                var content = key.content
                defer { wipe(&content) }
                try await file.write(.key, content)
            }
            var end = KitEnd(stores: [])
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
        _ taken: Taken, to file: SealedFileWriter, _ index: Int, _ name: String, count: Int, _ end: KitEnd
    ) async throws(BackendError) -> KitEnd.Store {
        var head = ByteWriter()
        head.counted(taken.store.kind.rawValue.utf8)
        head.counted(taken.store.scope.utf8)
        try await file.write(.store, head.bytes)
        var digest = KitDigest()
        let before = end.stores.reduce(0) { $0 + $1.bytes }
        progress?(BackupProgress(store: name, done: index, count: count, bytes: before))
        while var part = try await taken.copy.nextPart() {
            defer { wipe(&part) }
            if Task.isCancelled { throw BackendError(.cancelled, "The caller was cancelled. Nothing was written.") }
            if case .items = taken.store.form, try isKey(part, taken.store.scope) { continue }
            digest.take(part)
            try await file.write(.part, part)
            progress?(BackupProgress(store: name, done: index, count: count, bytes: before + digest.bytes))
        }
        var tail = ByteWriter()
        tail.fixed(UInt64(digest.parts))
        tail.bytes += digest.digest
        try await file.write(.storeEnd, tail.bytes)
        return KitEnd.Store(
            kind: taken.store.kind.rawValue, scope: taken.store.scope, parts: digest.parts, bytes: digest.bytes,
            digest: hexadecimalText(of: digest.digest), foreign: taken.isForeign, older: false)
    }

    /// Whether an item of a keyring is one of the sealing keys: they are entries of their own, and never replace another machine's.
    private func isKey(_ part: [UInt8], _ service: String) throws(BackendError) -> Bool {
        let item: BackupItem
        do throws(RecordDamage) { item = try BackupItem(part: part) } catch { throw SealedFileReader.malformed }
        return Self.isKey(item, service, references.union(configuration.otherKeySources).union([configuration.keySource]), configuration)
    }

    /// Whether an item of a service is the key of one of some sources.
    static func isKey(
        _ item: BackupItem, _ service: String, _ references: some Sequence<KeySourceReference>, _ configuration: StorageConfiguration
    ) -> Bool {
        item.namespace.isEmpty
            && references.contains {
                guard case .keyring(let named, let name) = ($0 == .configured ? configuration.keySource : $0).form else { return false }
                return (named ?? configuration.applicationID) == service && name == item.name
            }
    }

    private static func json(_ value: some Encodable) throws(BackendError) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do { return Array(try encoder.encode(value)) } catch { throw BackendError(.failed, "The manifest could not be written.") }
    }
}

extension BackupReport.Store {
    init(_ store: KitEnd.Store) {
        self.init(kind: store.kind, scope: store.scope)
        (bytes, digest, isForeign, isOlder) = (store.bytes, store.digest, store.foreign, store.older)
    }
}

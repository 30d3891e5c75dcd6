import BackendContract
import BackendRuntime
import Crypto
import Foundation
import LocalData
import Sealing

/// Compares a backup with the existing stores, and plans the restore.
struct RestoreSurvey {
    let wiring: Wiring
    /// The stores of the backup.
    private(set) var stores: [BackupManifest.Name: BackedStore] = [:]
    /// The ids of the keys that sealed (encrypted) single values, in databases and in other stores. They come from the
    /// metadata field `sealing` of the values.
    private(set) var sealings: Set<String> = []
    /// The key source on this machine for each database of the backup, by the store's name. A key source is the
    /// location of an encryption key, such as a keyring item or a key file.
    private(set) var databases: [String: KeySourceReference] = [:]
    /// The sources whose keys the backup contains.
    private(set) var references: [KeySourceReference] = []
    /// The backup's header, for opening the same file again without deriving its key again.
    private(set) var header: StreamHeader?
    /// The stores that are not in the backup because they could not be read when it was made.
    private(set) var missing: [String] = []
    /// Copies of the existing files and databases. Each one detects whether its store has changed since the comparison.
    private var copies: [BackupManifest.Name: any BackupCopy] = [:]
    private var digests: [BackupManifest.Name: String] = [:]
    private var items: [BackupManifest.Name: Set<[UInt8]>] = [:]
    private var ends: [BackupManifest.Name: [UInt8]] = [:]
    private var unchanged: Set<BackupManifest.Name> = []
    private var states: [BackupManifest.Name: String?] = [:]

    init(wiring: Wiring) { self.wiring = wiring }

    /// Whether the program had a list of imported values when the backup was made.
    var hasImports: Bool { stores.keys.contains { $0.kind == BackedStore.imports } || missing.contains(BackedStore.imports) }

    // MARK: The backup

    /// Adds a verified part of a store's content to the comparison.
    mutating func take(_ name: BackupManifest.Name, _ part: [UInt8]) throws {
        let store = try store(name)
        switch store.form {
        case .items(let service):
            let item = try item(part)
            if let sealing = service.sealing(of: item) { sealings.insert(sealing) }
            items[name, default: []].insert(Array(SHA256.hash(data: part)))
        case .file:
            let searched = ends[name, default: []] + part
            findSealings(searched)
            ends[name] = Array(searched.suffix(17))
        case .database: break
        }
    }

    /// Searches a property list of any format for the metadata `sealing`: `1:` and 16 hexadecimal digits.
    private mutating func findSealings(_ bytes: [UInt8]) {
        guard bytes.count >= 18 else { return }
        for start in 0...(bytes.count - 18) where bytes[start] == UInt8(ascii: "1") && bytes[start + 1] == UInt8(ascii: ":") {
            let text = String(decoding: bytes[start..<start + 18], as: UTF8.self)
            if text.dropFirst(2).allSatisfy(\.isHexDigit) { sealings.insert(text) }
        }
    }

    /// Records the verification results after the whole backup was read.
    mutating func finish(_ content: BackupVerifier.Content) throws {
        references = content.keys.map(\.reference)
        header = content.header
        for store in content.report.stores {
            let name = BackupManifest.Name(kind: store.kind, scope: store.scope)
            guard store.problem == nil else {
                stores[name] = nil
                missing.append(store.name)
                continue
            }
            if case .database(_, let reference, _) = try self.store(name).form { databases[store.name] = reference }
            digests[name] = store.digest
        }
        for database in content.databases.values {
            // The rows of a damaged database were not decrypted, so the keys that sealed its values are unknown. Any
            // key of the backup may have sealed them.
            sealings.formUnion(
                database.isFile ? Set(content.keys.flatMap(\.keys.all).map { SealingKey.name(of: $0.id) }) : database.sealings)
        }
    }

    private mutating func store(_ name: BackupManifest.Name) throws -> BackedStore {
        if let known = stores[name] { return known }
        let store = try wiring.backedStore(name.kind, name.scope)
        stores[name] = store
        return store
    }

    func item(_ part: [UInt8]) throws -> BackupItem {
        do throws(RecordDamage) { return try BackupItem(part: part) } catch {
            throw StorageError.from(SealedFileReader.malformed, key: "backup")
        }
    }

    /// Whether an item of a keyring is a sealing key of this configuration or of the backup.
    func isKey(_ item: BackupItem, _ service: String) -> Bool {
        BackupRun.isKey(
            item, service, references + wiring.configuration.otherKeySources + [wiring.configuration.keySource], wiring.configuration)
    }

    // MARK: Existing stores

    /// Compares the existing stores with the backup.
    /// - Parameter replacing: The names of the stores that may be replaced.
    /// - Throws: `StorageError` with `invalidName` if `replacing` has a name that is not in the backup; `conflict`, which names the existing
    ///   stores with different content; `noSpace` if a store that would be replaced already has ``mostKept`` replaced copies.
    mutating func compare(_ replacing: Set<String>) async throws {
        let names = (stores.values.map(\.name) + missing).sorted()
        if let unknown = replacing.subtracting(names).min() {
            let text = "The backup has no store \(unknown). It has \(names.joined(separator: ", ")). Nothing was changed."
            throw StorageError(StorageError.invalidName, key: unknown, text)
        }
        var refused: [String] = []
        var full: [String] = []
        for (name, store) in stores {
            let state = try await state(name, store)
            states[name] = .some(state)
            if try await isSame(name, store, state) {
                unchanged.insert(name)
            } else if state != nil, store.staysWhenOther {
                unchanged.insert(name)
            } else if state != nil, !replacing.contains(store.name) {
                refused.append(store.name)
            } else if state != nil {
                let kept = try await kept(store)
                if kept.count >= Self.mostKept { full += kept }
            }
        }
        guard refused.isEmpty else {
            throw StorageError(
                StorageError.conflict, key: "restore",
                "Other content is here already: \(refused.sorted().joined(separator: ", ")). Name these stores to replace them; what is here is kept beside. Nothing was changed."
            )
        }
        guard full.isEmpty else {
            throw StorageError(
                StorageError.noSpace, key: "restore",
                "Earlier restores left \(Self.mostKept) replaced copies of a store: \(full.joined(separator: ", ")). Remove those that are not needed, and try again. Nothing was changed."
            )
        }
    }

    /// The maximum number of replaced copies of one store.
    static let mostKept = 8

    /// Returns the copies of a store that earlier restores replaced: the paths of files, or the names of a keyring's namespaces.
    private func kept(_ store: BackedStore) async throws -> [String] {
        if case .items(let service) = store.form {
            let items = try await translating(store.name, await service.items(deadline: deadline))
            return Set(items.map(\.namespace).filter { $0.hasPrefix("replaced:") }).sorted().map { "\($0) in \(store.name)" }
        }
        guard let target = target(store) else { return [] }
        let (folder, prefix) = (parentDirectory(of: target), "\(lastComponent(of: target)).replaced-")
        return try await translatingErrors(key: store.name) { () throws(BackendError) in
            do throws(FileError) {
                return try (wiring.configuration.runtime.files.list(folder) ?? []).sorted().filter {
                    $0.hasPrefix(prefix) && bytes(ofHexadecimal: $0.dropFirst(prefix.count))?.count == 8
                }.map { "\(folder)/\($0)" }
            } catch { throw error.backendError() }
        }
    }

    private func isSame(_ name: BackupManifest.Name, _ store: BackedStore, _ state: String?) async throws -> Bool {
        guard case .items(let service) = store.form else { return state != nil && state == digests[name] }
        let standing = Set(try await standing(service, name.scope).map { Array(SHA256.hash(data: $0.part)) })
        return standing == items[name] ?? []
    }

    private func standing(_ service: any BackupItemStore, _ scope: String) async throws -> [BackupItem] {
        try await translatingErrors(key: scope) { () throws(BackendError) in
            try await service.items(deadline: deadline).filter { !$0.namespace.hasPrefix("replaced:") && !isKey($0, scope) }
        }
    }

    private var deadline: MonotonicInstant {
        wiring.configuration.runtime.clock.now.advanced(by: wiring.configuration.deadlines.keychain)
    }

    /// The digest of the existing content; nil if there is none. Items of a keyring that are also in the backup are excluded, because
    /// they cause no conflict.
    private mutating func state(_ name: BackupManifest.Name, _ store: BackedStore) async throws -> String? {
        if case .items(let service) = store.form {
            let wanted = items[name] ?? []
            var digest = BackupDigest()
            for item in try await standing(service, store.scope) where !wanted.contains(Array(SHA256.hash(data: item.part))) {
                digest.take(item.part)
            }
            return digest.parts == 0 ? nil : hexadecimalText(of: digest.digest)
        }
        do throws(BackendError) {
            guard let copy = try await store.store.copyForBackup(deadline: deadline) else { return nil }
            copies[name] = copy
            var digest = BackupDigest()
            while var part = try await copy.nextPart() {
                digest.take(part)
                wipe(&part)
            }
            return hexadecimalText(of: digest.digest)
        } catch {
            await copies.removeValue(forKey: name)?.close()
            // An unreadable store exists here. It is kept under another name if the caller allows replacing it.
            if [.corrupted, .unsupported, .untrusted].contains(error.code) { return "unreadable" }
            throw StorageError.from(error, key: store.name)
        }
    }

    /// Checks with the locks held that no store has changed since the comparison. A file or database only reports whether it has changed,
    /// so it need not be re-read.
    mutating func requireUnchanged() async throws {
        for (name, store) in stores {
            let isUnchanged: Bool
            if let copy = copies[name] {
                isUnchanged = try await translatingErrors(key: store.name) { () throws(BackendError) in try await copy.isPresent() }
            } else {
                isUnchanged = try await states[name] == .some(state(name, store))
            }
            guard isUnchanged else {
                throw StorageError(
                    StorageError.conflict, key: store.name,
                    "Another program has just changed it. End every program that uses these stores, and try again; nothing was changed.")
            }
        }
    }

    /// Closes the copies of the existing stores.
    mutating func close() async {
        for copy in copies.values { await copy.close() }
        copies = [:]
    }

    // MARK: Planned operations

    /// The path of a store that is a file or a database; nil for a keyring service.
    func target(_ store: BackedStore) -> String? {
        switch store.form {
        case .file(let path), .database(let path, _, _): wiring.configuration.runtime.files.resolve(path)
        case .items: nil
        }
    }

    /// The planned operations of the restore.
    func journal(_ backup: String, _ attempt: String, _ replacing: Set<String>) -> RestoreJournal {
        var journal = RestoreJournal(
            backup: backup, steps: [], items: [], restored: [], unchanged: unchanged.map { stores[$0]?.name ?? "" }.sorted(),
            givenToOtherKey: [])
        for (name, store) in stores.sorted(by: { $0.value.name < $1.value.name }) where !unchanged.contains(name) {
            journal.restored.append(store.name)
            if let target = target(store) {
                let draft = "\(parentDirectory(of: target))/.\(lastComponent(of: target)).restore-\(backup.prefix(16))"
                let isDatabase = if case .database = store.form { true } else { false }
                journal.steps.append(
                    RestoreJournal.Step(draft: draft, target: target, kept: "\(target).replaced-\(attempt)", isDatabase: isDatabase))
            } else {
                journal.items.append(
                    RestoreJournal.Items(
                        kind: name.kind, scope: name.scope, movesOthers: replacing.contains(store.name), kept: "replaced:\(attempt)"))
            }
        }
        return journal
    }
}

import BackendContract
import LocalData
import Sealing

/// Replaces the key of a key source, such as a keyring item or a key file. Older keys of the source have sealed
/// (encrypted) the data keys of databases, single values, and quarantined values. The rotation seals them again with
/// the new key.
struct KeyRotation: Sendable {
    let router: StorageRouter
    let access: RotationAccess

    private var source: any KeySource { access.source }

    /// Makes a new key in the source, unless an earlier rotation is unfinished. Then seals all data of the older keys
    /// again with the new key.
    func rotate(_ progress: (Int) -> Void) async throws -> KeyRotationReport {
        let keys = try await translating(source.identifier, await access.keys.rotate(source))
        var report = KeyRotationReport(olderKeys: keys.others.count)
        for domain in try await found(keys).keys {
            do {
                let store: any RecipientStore = try router.store(
                    of: domain, otherwise: "This configuration does not open the database.")
                try await rewrap(store, "\(domain)", keys)
                report.databases += 1
            } catch let error as StorageError { report.remaining.append("\(domain): \(error.message)") }
        }
        for (name, store) in try access.sealedOwnStores() {
            do {
                if try await needsOlderKey(store, keys) {
                    try await rewrap(store, name, keys)
                    report.databases += 1
                }
            } catch let error as StorageError { report.remaining.append("\(name) on the server: \(error.message)") }
            await store.close()
        }
        let databases = report.databases
        let values = try await access.reseal(keys) { progress(databases + $0) }
        report.values = values.resealed
        report.remaining += values.remaining
        if await access.drain(.seconds(1)) { await access.keys.endFormerUses() }
        return report
    }

    /// Deletes the older keys of the source. Fails if data or a running program is found that still needs one of them.
    /// - Parameter limit: How long to wait for unfinished changes of this process.
    func deleteOlderKeys(_ limit: Duration) async throws {
        let keys = try await translating(source.identifier, await access.keys.present(in: source))
        if keys.others.isEmpty { return }
        // Without a catalog, the values that need an older key cannot be found.
        // Reason: "A separate call destroys the older keys of a source" in Docs/Decisions/Keys.md.
        guard access.hasCatalogs else {
            throw refusal(
                StorageError.unsupported, "Register the program's catalogs first: they say where values are that a key has sealed.")
        }
        guard await access.drain(limit) else {
            throw refusal(
                StorageError.timedOut, "Changes that are under way may still need an older key. Try again when they are done.")
        }
        await access.keys.endFormerUses()
        let used = try await translating(source.identifier, await access.keys.othersInUse(keys))
        guard used.isEmpty else {
            throw refusal(
                StorageError.conflict,
                "A running program has sealed with \(used.map(hexadecimalText).joined(separator: ", ")) and may do so again. End it, or let it call rotateKey(of:) too, and try again."
            )
        }
        var remaining = try await found(keys).map { "\($0.key)" }
        for (name, store) in try access.sealedOwnStores() {
            if try await needsOlderKey(store, keys) { remaining.append("\(name) on the server") }
            await store.close()
        }
        remaining += try await access.reseal(keys, isOnlyLook: true).remaining
        guard remaining.isEmpty else {
            throw refusal(
                StorageError.conflict,
                "\(remaining.count) values or stores need an older key: \(remaining.sorted().prefix(3).joined(separator: "; ")). Call rotateKey(of:) again."
            )
        }
        try await translating(source.identifier, await access.keys.deleteOthers(keys, of: source))
    }

    /// The databases that an older key of the source can open. Each one is returned with the ids of all keys of the
    /// source that can open it.
    private func found(_ keys: SourceKeys) async throws -> [StorageDomain: Set<[UInt8]>] {
        let older = Set(keys.others.map(\.id))
        return try await translating(source.identifier, await access.keyedStores()).filter { !$0.value.isDisjoint(with: older) }
    }

    /// Returns whether an older key of the source can open a store.
    private func needsOlderKey(_ store: any RecipientStore, _ keys: SourceKeys) async throws -> Bool {
        let older = Set(keys.others.map(\.id))
        let recipients = try await translating(source.identifier, await store.recipients())
        return recipients.contains { $0.source == source.pin && older.contains($0.id) }
    }

    private func rewrap(_ store: any RecipientStore, _ name: String, _ keys: SourceKeys) async throws {
        try await translating(name, await store.change(.rotating(to: keys.current, from: keys.others.map(\.id), source: source.pin)))
    }

    private func refusal(_ code: StorageError.Code, _ message: String) -> StorageError {
        StorageError(code, key: source.identifier, "\(message) No key was destroyed.")
    }
}

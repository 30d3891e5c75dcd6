import BackendContract

extension MigrationEngine {
    /// Writes a value of an earlier shape in its new one, over the record that it was read from: durable and read back when it returns. The old bytes are kept first where
    /// the chain asks for it.
    /// - Returns: Whether it was written; false means that somebody changed the slot meanwhile.
    func convert<Value>(_ record: StorageRecord, to decoded: Decoded<Value>, _ key: StorageKey<Value>, _ route: Route) async throws -> Bool
    {
        let origin = try await records.origin(of: record.metadata, route)
        let references = decoded.references ?? ReferenceCollector()
        let (payload, metadata) = try await records.encode(decoded.value, key, route, origin: origin, .kept(record.metadata), references)
        try await store(
            references, for: ReferenceHolder(route: route, copies: [SourceRecord(key: .key(key), route: route, record: record)]))
        let backup =
            key.evolution?.keepsBackup == true && safeguards.contains(.backups)
            ? backup(of: record, at: route, version: record.metadata.schemaVersion ?? key.evolution?.base) : nil
        let main = StorageMutation(route.address, .put(payload, metadata), if: unchanged(record))
        switch try await apply(main, after: backup, route) {
        case .applied(let revision?, _):
            let written = StorageRecord(payload: payload, metadata: metadata, revision: revision)
            do { try await verify(written, key, route) } catch {
                hub.publishDoubt(at: route.slot)
                throw error
            }
            hub.publish(written, at: route.slot)
            ledger.worked(Self.evolutionID(key.entity, from: record.metadata.schemaVersion ?? key.evolution?.base ?? key.schemaVersion))
            return true
        case .conflict(let probe):
            if case .corrupt = probe { throw route.error(for: .conflict(probe)) }
            return false
        case let result: throw route.error(for: result)
        }
    }

    /// That a slot still holds the record that its new shape was made of.
    func unchanged(_ record: StorageRecord) -> StorageMutation.Precondition {
        safeguards.contains(.convertedUnchanged) ? .revision(record.revision) : .none
    }

    /// The name in the ledger of what a chain does to records of one version.
    static func evolutionID(_ entity: String, from version: Int) -> String { "\(entity):Evolution:\(version)" }

    // MARK: Backups

    /// Where the bytes of an earlier version are kept: in the same store, so with the same protection.
    func backupAddress(of address: StorageAddress, version: Int) -> StorageAddress {
        StorageAddress(address.name, in: StorageNamespace("backup:\(version):\(address.namespace.name)"))
    }

    func backup(of record: StorageRecord, at route: Route, version: Int?) -> StorageMutation? {
        version.map { .put(record.payload, record.metadata, at: backupAddress(of: route.address, version: $0)) }
    }

    /// Makes a change once a copy is certain to be there: in one commit where the store can, else one after the other.
    func apply(_ main: StorageMutation, after backup: StorageMutation?, _ route: Route) async throws -> MutationResult {
        guard let backup else { return try await applyTelling(main.operation, route, if: main.precondition) }
        do {
            return try await translatingErrors(key: route.keyName) { () throws(BackendError) in
                guard route.capabilities.atomicBatch else {
                    let kept = try await route.backend.apply(backup)
                    return kept.isApplied ? try await route.backend.apply(main) : kept
                }
                let results = try await route.backend.apply([main, backup])
                if case .notAttempted = results[0] { return results[1] }
                return results[0]
            }
        } catch {
            if Route.leavesDoubt(error) { hub.publishDoubt(at: route.slot) }
            throw error
        }
    }

    /// Puts the latest backup in the place of what stands there, and that in the place of the backup.
    func restoreBackup<Value>(_ key: StorageKey<Value>, _ route: Route, _ wanted: Int?) async throws -> Int? {
        for version in wanted.map({ [$0] }) ?? (key.evolution?.older ?? []).reversed() {
            let address = backupAddress(of: route.address, version: version)
            let probes = try await translatingErrors(key: key.name) { () throws(BackendError) in
                try await route.backend.read([address, route.address], .fresh)
            }
            guard let kept = probes[0].record else {
                if case .absent = probes[0] { continue }
                throw route.error(for: .conflict(probes[0]))
            }
            let standing = probes[1]
            let precondition: StorageMutation.Precondition = standing.revision.map { .revision($0) } ?? .absent
            var replaced: StorageMutation?
            switch standing {
            case .value(let record): replaced = backup(of: record, at: route, version: record.metadata.schemaVersion ?? version)
            case .absent, .tombstone: break
            default: throw route.error(for: .conflict(standing))
            }
            let main = StorageMutation(route.address, .put(kept.payload, kept.metadata), if: precondition)
            let result = try await apply(main, after: replaced, route)
            guard case .applied(let revision?, _) = result else { throw route.error(for: result) }
            hub.publish(StorageRecord(payload: kept.payload, metadata: kept.metadata, revision: revision), at: route.slot)
            return version
        }
        return nil
    }

    /// Puts the latest backup of every record in the place of what stands there: of those that were brought to the chain's end, or removed, since.
    func restoreBackups<Record>(_ collection: StorageCollection<Record>) async throws -> Int {
        guard let chain = collection.template.evolution else { return 0 }
        var restored = 0
        for version in chain.older.reversed() {
            let kept = backupAddress(of: StorageAddress(collection.name, in: collection.namespace), version: version).namespace
            let pages = RecordPages(
                routes: routes, domain: collection.domain, collection: collection.name, query: StorageQuery(kept), size: pageSize)
            for try await page in pages {
                for entry in try await own(page, collection) {
                    try Task.checkCancellation()
                    let key = collection.key(entry.address.name)
                    let route = try routes.route(for: key)
                    let isRestored = try await unbroken {
                        try await self.lanes.withLane(route.slot, keyName: key.name) {
                            // A later version's backup, or an earlier call, came first.
                            if case .value(let record) = try await self.standing(route), self.records.isOutdated(record.metadata, key) {
                                return false
                            }
                            return try await self.restoreBackup(key, route, version) != nil
                        }
                    }
                    restored += isRestored ? 1 : 0
                }
            }
        }
        return restored
    }

    /// Removes what is kept of a value's earlier versions.
    func discardBackups<Value>(_ key: StorageKey<Value>, _ route: Route) async throws {
        guard let chain = key.evolution else { return }
        // An earlier program may have kept what this one does not keep any more.
        let addresses = (chain.older + [chain.version]).map { backupAddress(of: route.address, version: $0) }
        let probes = try await translatingErrors(key: key.name) { () throws(BackendError) in try await route.backend.read(addresses, .fresh)
        }
        for (address, probe) in zip(addresses, probes) {
            if case .absent = probe { continue }
            let result = try await translatingErrors(key: key.name) { () throws(BackendError) in
                try await route.backend.apply(.delete(address))
            }
            guard result.isApplied else { throw route.error(for: result) }
        }
    }

    /// Removes what is kept of earlier versions of a collection's records, a page at a time.
    func discardBackups<Record>(_ collection: StorageCollection<Record>) async throws {
        guard let chain = collection.template.evolution else { return }
        let (_, backend) = try routes.backend(for: collection.domain, key: collection.name)
        for version in chain.older + [chain.version] {
            let kept = backupAddress(of: StorageAddress(collection.name, in: collection.namespace), version: version).namespace
            let pages = RecordPages(
                routes: routes, domain: collection.domain, collection: collection.name, query: StorageQuery(kept), size: pageSize)
            for try await page in pages {
                let page = try await own(page, collection)
                let atOnce = backend.capabilities.atomicBatch ? page.count : 1
                for start in stride(from: 0, to: page.count, by: atOnce) {
                    let mutations = page[start..<start + atOnce].map { StorageMutation($0.address, .delete) }
                    let results = try await translatingErrors(key: collection.name) { () throws(BackendError) in
                        try await backend.apply(mutations)
                    }
                    if let refused = results.first(where: { !$0.isApplied }) {
                        throw try routes.route(for: collection.placeholder).error(for: refused)
                    }
                }
            }
        }
    }

    /// Those backups of a page that are of a collection's own type: of the record that stands in their place, or of themselves where none does.
    private func own<Record>(_ page: [StoragePage.Entry], _ collection: StorageCollection<Record>) async throws -> [StoragePage.Entry] {
        let places = try page.map { try routes.route(for: collection.key($0.address.name)) }
        guard let backend = places.first?.backend else { return [] }
        return zip(page, try await probes(places, in: backend)).filter { kept, standing in
            let tag = (standing.record ?? kept.record)?.metadata.typeTag
            return tag == nil || tag == collection.typeTag
        }.map(\.0)
    }

    // MARK: Expiry

    /// Removes a value whose lifetime is over; with a migration by a tombstone, so that no older copy takes its place. The tombstone names what the value named: what older
    /// places hold beside these, nobody has removed. False when it was changed meanwhile.
    func purge<Value>(_ record: StorageRecord, _ key: StorageKey<Value>, _ route: Route) async throws -> Bool {
        // What is kept of it first: nobody looks for that once the value is gone.
        try await discardBackups(key, route)
        guard key.leavesTombstone else { return try await erase(route, on: .value(record)) != nil }
        let origin = try await carriedOrigin(key, route, .value(record), ([], []))
        let operation = StorageMutation.Operation.tombstone(try await records.tombstone(origin, route))
        switch try await applyTelling(operation, route, if: .revision(record.revision)) {
        case .applied:
            hub.publish(nil, at: route.slot)
            return true
        case .conflict: return false
        case let result: throw route.error(for: result)
        }
    }
}

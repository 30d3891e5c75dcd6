import BackendContract
import BackendRuntime

/// Work on many records of a collection at once.
extension MigrationEngine {
    // MARK: Pages

    /// The records that a collection's own place holds, page by page: those of its type that fulfil a filter, whether they have expired or not.
    func pages<Record>(_ collection: StorageCollection<Record>, _ filter: RecordFilter, typeTag: String? = nil) -> RecordPages {
        RecordPages(
            routes: routes, domain: collection.domain, collection: collection.name, query: query(collection, filter, typeTag),
            size: pageSize)
    }

    private func query<Record>(
        _ collection: StorageCollection<Record>, _ filter: RecordFilter, _ typeTag: String?
    ) -> StorageQuery {
        StorageQuery(collection.namespace, filter.conditions + [.typeTag(typeTag ?? collection.typeTag)])
    }

    /// How many records of its type a collection's own place holds, without those that have expired.
    func count<Record>(_ collection: StorageCollection<Record>, _ filter: RecordFilter) async throws -> Int {
        let route = try routes.route(for: collection.placeholder)
        func count(_ filter: RecordFilter) async throws -> Int {
            let query = query(collection, filter, nil)
            return try await translatingErrors(key: collection.name) { () throws(BackendError) in try await route.backend.count(query) }
        }
        var expired = 0
        let mortal = RecordFilter.attribute(StorageMetadata.expiresAttribute, "yes").and(filter)
        if try await count(mortal) > 0 {
            let now = runtime.clock.wallSeconds
            for try await page in pages(collection, mortal) {
                expired += page.count { $0.record?.metadata.isExpired(at: now) == true }
            }
        }
        // A sweep may have removed some of them since.
        return max(0, try await count(filter) - expired)
    }

    // MARK: Bringing records to their place

    /// Makes sure that each record can be found by its id: lists that held all of them are taken apart.
    func prepare<Record>(_ collection: StorageCollection<Record>, _ context: MigrationContext) async throws -> RecordWork {
        var work = RecordWork()
        for place in collection.olderPlaces {
            guard let source = place.source as? any RecordSource<Record> else { continue }
            work += try await source.prepare(for: collection, self, context)
        }
        return work
    }

    /// Brings every record from where it used to be.
    func gather<Record>(_ collection: StorageCollection<Record>, _ context: MigrationContext) async throws -> RecordWork {
        var work = RecordWork()
        for place in collection.olderPlaces {
            guard let source = place.source as? any RecordSource<Record> else { continue }
            work += try await source.bring(to: collection, self, context)
        }
        return work
    }

    /// How many values older places still hold for a collection.
    func pending<Record>(_ collection: StorageCollection<Record>) async throws -> Int {
        var count = 0
        for place in collection.olderPlaces {
            guard let source = place.source as? any RecordSource<Record> else { continue }
            count += try await source.pending(for: collection, self)
        }
        return count
    }

    /// Brings every record to its place and shape, and removes those that have expired.
    func settleRecords<Record>(_ collection: StorageCollection<Record>, _ context: MigrationContext) async throws -> RecordWork {
        var work = try await gather(collection, context)
        for version in collection.template.evolution?.older ?? [] {
            let stored = RecordFilter.attribute(StorageMetadata.versionAttribute, String(version))
            for try await page in pages(collection, stored) {
                try Task.checkCancellation()
                work += try await unbroken { try await self.convert(page, collection, context) }
            }
        }
        let mortal = RecordFilter.attribute(StorageMetadata.expiresAttribute, "yes")
        for try await page in pages(collection, mortal) {
            let now = runtime.clock.wallSeconds
            for entry in page where entry.record?.metadata.isExpired(at: now) == true {
                let visit = try await visit(collection.key(entry.address.name), context)
                work.count(visit)
            }
        }
        return work
    }

    private func visit<Record>(_ key: StorageKey<Record>, _ context: MigrationContext) async throws -> Visit {
        let route = try routes.route(for: key)
        return try await unbroken {
            try await self.lanes.withLane(route.slot, keyName: key.name) { try await self.settle(key, route, context.sweeping) }
        }
    }

    /// Writes a page of records in their new shape, in one commit; one by one where the store cannot, or somebody else is writing.
    private func convert<Record>(
        _ page: [StoragePage.Entry], _ collection: StorageCollection<Record>, _ context: MigrationContext
    ) async throws -> RecordWork {
        var work = RecordWork()
        var changes: [RecordChange] = []
        for entry in page {
            let key = collection.key(entry.address.name)
            do { if let change = try await conversion(of: entry, to: key) { changes.append(change) } } catch {
                try work.fail(key.name, error)
            }
        }
        let slots = changes.map(\.route.slot)
        if try await lanes.withLanes(slots, keyName: collection.name, { [changes] in try await self.commit(changes) }) {
            work.converted += changes.count
            work.bytes += changes.reduce(0) { $0 + $1.mutations[0].payloadSize }
        } else {
            for change in changes {
                let key = collection.key(change.route.address.name)
                do { work.count(try await visit(key, context)) } catch { try work.fail(key.name, error) }
            }
        }
        for version in Set(changes.map(\.version)) { ledger.worked(Self.evolutionID(collection.name, from: version)) }
        return work
    }

    /// One record's part of a commit: the record itself first, then its backup.
    struct RecordChange: Sendable {
        let route: Route
        let version: Int
        let mutations: [StorageMutation]
        /// What the record refers to, and was made with.
        let references: ReferenceCollector
        let holder: ReferenceHolder
    }

    /// What makes a record one of a key's shape; nil when it is already, or has expired.
    func conversion<Record>(of entry: StoragePage.Entry, to key: StorageKey<Record>) async throws -> RecordChange? {
        let route = try routes.route(for: key)
        guard let record = entry.record else { throw route.damaged(entry) }
        if record.metadata.isExpired(at: runtime.clock.wallSeconds) { return nil }
        let decoded = try await records.decodeTelling(record, key, route)
        guard decoded.isOutdated || record.metadata.typeTag != key.typeTag else { return nil }
        let origin = try await records.origin(of: record.metadata, route)
        let references = decoded.references ?? ReferenceCollector()
        let (payload, metadata) = try await records.encode(decoded.value, key, route, origin: origin, .kept(record.metadata), references)
        let version = record.metadata.schemaVersion ?? key.evolution?.base ?? key.schemaVersion
        var mutations = [StorageMutation.put(payload, metadata, at: route.address, if: unchanged(record))]
        if key.evolution?.keepsBackup == true, safeguards.contains(.backups), let backup = backup(of: record, at: route, version: version) {
            mutations.append(backup)
        }
        let holder = ReferenceHolder(route: route, copies: [SourceRecord(key: .key(key), route: route, record: record)])
        return RecordChange(route: route, version: version, mutations: mutations, references: references, holder: holder)
    }

    /// Carries out changes in one commit. False when the store cannot, or somebody else wrote one of the records meanwhile: nothing was changed then.
    func commit(_ changes: [RecordChange]) async throws -> Bool {
        guard let backend = changes.first?.route.backend else { return true }
        guard backend.capabilities.atomicBatch else { return false }
        let routes = changes.map(\.route)
        for change in changes { try await store(change.references, for: change.holder) }
        let backups = changes.flatMap { change in change.mutations.dropFirst().map { (mutation: $0, route: change.route) } }
        return try await write(changes.map { $0.mutations[0] }, at: routes, in: backend, with: backups) != nil
    }

    // MARK: Together

    /// What stands in several slots of a store, as a new process would see it.
    func probes(_ routes: [Route], in backend: any StorageBackend) async throws -> [StorageProbe] {
        let probes = try await translatingErrors(key: routes.first?.keyName ?? "") { () throws(BackendError) in
            try await backend.read(routes.map(\.address), .fresh)
        }
        for (probe, route) in zip(probes, routes) {
            switch probe {
            case .locked: throw StorageError.locked(route.keyName, route.domain)
            case .unavailable(let error): throw StorageError.from(error, key: route.keyName)
            default: continue
            }
        }
        return probes
    }

    /// Writes records in one commit, durably, and reads them back as a new process would. Nil when a precondition did not hold: nothing was changed then.
    /// - Parameter others: What is written with them and not read back, each with the place that it belongs to.
    func write(
        _ mutations: [StorageMutation], at routes: [Route], in backend: any StorageBackend,
        with others: [(mutation: StorageMutation, route: Route)] = []
    ) async throws -> StorageDurability? {
        let places = routes + others.map(\.route)
        let results: [MutationResult]
        do {
            results = try await translatingErrors(key: places.first?.keyName ?? "") { () throws(BackendError) in
                try await backend.apply(mutations + others.map(\.mutation))
            }
        } catch {
            if Route.leavesDoubt(error) { for route in routes { hub.publishDoubt(at: route.slot) } }
            throw error
        }
        var achieved = StorageDurability.durable
        var revisions: [StorageRevision?] = []
        for (index, result) in results.enumerated() {
            switch result {
            case .applied(let revision, let durability):
                achieved = min(achieved, durability)
                revisions.append(revision)
            case .conflict, .notAttempted: continue
            default:
                if case .failed(let error) = result, error.outcome != .notApplied {
                    for route in routes { hub.publishDoubt(at: route.slot) }
                }
                throw places[index].error(for: result)
            }
        }
        guard revisions.count == results.count else { return nil }
        do {
            for ((probe, mutation), (route, revision)) in zip(zip(try await probes(routes, in: backend), mutations), zip(routes, revisions))
            {
                try verify(probe, mutation, route, revision)
            }
        } catch {
            for route in routes { hub.publishDoubt(at: route.slot) }
            throw error
        }
        for ((mutation, route), revision) in zip(zip(mutations, routes), revisions) {
            if case .put(let payload, let metadata) = mutation.operation, let revision {
                hub.publish(StorageRecord(payload: payload, metadata: metadata, revision: revision), at: route.slot)
            } else {
                hub.publish(nil, at: route.slot)
            }
        }
        return achieved
    }

    private func verify(_ probe: StorageProbe, _ mutation: StorageMutation, _ route: Route, _ revision: StorageRevision?) throws {
        switch (probe, mutation.operation) {
        case (.value(let found), .put(let payload, _)) where found.revision == revision && found.payload == payload: return
        case (.value(let found), _) where found.revision != revision: return  // Somebody wrote after us.
        case (.tombstone, _): return
        default:
            throw StorageError(
                StorageError.migrationFailed, key: route.keyName,
                "The record was written to \(route.domain) and could not be read back. The older one is where it was.", outcome: .unknown)
        }
    }

    /// Removes older copies of records that stand in their places, in one commit where that can be done.
    /// - Returns: What remains, in words.
    func collectTogether(_ copies: [SourceRecord], for routes: [Route], achieved: StorageDurability) async throws -> [String] {
        guard let first = copies.first, let place = routes.first else { return [] }
        let isCertain =
            !safeguards.contains(.durabilityBarrier) || achieved >= min(first.route.capabilities.durability, place.capabilities.durability)
        let isShared = !namers(of: first.route.slot, except: place.slot).isEmpty
        if isCertain, !isShared, first.route.capabilities.atomicBatch {
            let mutations = copies.map { StorageMutation($0.route.address, .delete, if: .revision($0.record.revision)) }
            let results = try? await translatingErrors(key: first.route.keyName) { () throws(BackendError) in
                try await first.route.backend.apply(mutations)
            }
            if let results, results.allSatisfy(\.isApplied) {
                for copy in copies { hub.publish(nil, at: copy.route.slot) }
                return []
            }
        }
        var residue: [String] = []
        for (copy, route) in zip(copies, routes) { residue += await collect([copy], for: route, achieved: achieved) }
        return residue
    }

    /// The registered entries that take their values from a slot, without the one at `destination`: for the slot of a record, the collections that take their records
    /// from its collection, each as the record's key there.
    func namers(of source: PhysicalSlot, except destination: PhysicalSlot) -> [(key: any TypedKey, route: Route)] {
        guard let collection = Self.placeholder(of: source) else {
            return registry.entries(naming: source, except: destination).map { ($0.key.base, $0.route) }
        }
        let own = Self.placeholder(of: destination) ?? destination
        return registry.entries(naming: collection, except: own).compactMap { entry in
            func open<Collection: TypedCollection>(_ collection: Collection) -> (any TypedKey, Route)? {
                let key = collection.typed.key(source.address.name)
                return (try? routes.route(for: key)).map { (key, $0) }
            }
            return entry.key.collection.flatMap { open($0) }
        }
    }

    /// The slot that stands for the collection which a slot's record is in.
    static func placeholder(of slot: PhysicalSlot) -> PhysicalSlot? {
        let prefix = "collection:"
        let namespace = slot.address.namespace.name
        guard namespace.hasPrefix(prefix) else { return nil }
        let address = StorageAddress(String(namespace.dropFirst(prefix.count)), in: StorageNamespace("collections"))
        return PhysicalSlot(store: slot.store, address: address)
    }
}

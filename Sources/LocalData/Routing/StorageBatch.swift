import BackendContract

/// Changes of several keys of one store that happen together: see ``StorageRouter/batch(_:)``.
public struct StorageBatch: Sendable {
    struct Change: Sendable {
        let key: AnyStorageKey
        /// The slot's new payload, or nil for a removal.
        let encode: Encoding?
        /// What the slot has to hold still, where the change was made of it.
        var precondition: StorageMutation.Precondition?
        /// Whether the value is only for an empty slot.
        var isInsertion = false
    }

    typealias Encoding =
        @Sendable (
            MigrationEngine, Route, RecordOrigin?, StorageProbe, ReferenceCollector?
        ) async throws -> (StoragePayload, StorageMetadata)

    private(set) var changes: [Change] = []

    /// Stores a value when the batch is committed.
    /// - Parameter replacingLaterVersions: As in ``StorageRouter/set(_:for:replacingLaterVersions:)``; without it such a value refuses the whole batch.
    public mutating func set<Value>(_ value: Value, for key: StorageKey<Value>, replacingLaterVersions: Bool = false) {
        set(value, for: key, RecordFacts(replacesLaterVersions: replacingLaterVersions))
    }

    /// Stores a value with a lifetime of its own when the batch is committed.
    public mutating func set<Value>(_ value: Value, for key: StorageKey<Value>, lifetime: Duration) {
        set(value, for: key, RecordFacts(expiry: .after(lifetime)))
    }

    mutating func set<Value>(
        _ value: Value, for key: StorageKey<Value>, _ facts: RecordFacts = .new, if precondition: StorageMutation.Precondition? = nil,
        isInsertion: Bool = false
    ) {
        let encode: Encoding = { engine, route, origin, probe, references in
            try engine.requireNotLater(probe, key, facts)
            return try await engine.records.encode(value, key, route, origin: origin, engine.facts(facts, over: probe), references)
        }
        changes.append(Change(key: .key(key), encode: encode, precondition: precondition, isInsertion: isInsertion))
    }

    /// Takes over a change of another batch.
    mutating func append(_ change: Change) { changes.append(change) }

    /// Removes a value when the batch is committed.
    public mutating func remove<Value>(_ key: StorageKey<Value>) { changes.append(Change(key: .key(key), encode: nil)) }
}

extension StorageRouter {
    /// Changes several keys of one store in one durable commit, or none of them.
    ///
    /// Nothing is durable before the end of the batch. A later change of a key in the same batch replaces an earlier one.
    /// - Parameter body: Collects the changes; when it throws, nothing happens.
    /// - Throws: ``StorageError``: `unsupported` when the keys are of several stores, or their store cannot commit several changes at once;
    ///   `incompatibleSchema` when a later version's value stands in a place that is set;
    ///   `residueRemains` with the outcome `applied` when a removed value's older copy remains. What `body` throws.
    @concurrent
    public nonisolated func batch(_ body: @Sendable (inout StorageBatch) throws -> Void) async throws {
        var batch = StorageBatch()
        try body(&batch)
        try await engine.commit(
            batch,
            requireRegistered: { key in
                func check<Key: TypedKey>(_ key: Key) throws { _ = try self.engine.routes.entryRoute(for: key.typed) }
                try check(key.base)
            })
    }
}

/// A value was changed by somebody else since a change was made of it.
struct ChangedMeanwhile: Error {}

extension MigrationEngine {
    /// Commits changes; records that their values refer to, and were made with, are committed with them, or before them where they are in another store.
    func commit(_ batch: StorageBatch, requireRegistered: (AnyStorageKey) throws -> Void = { _ in }) async throws {
        let references = ReferenceCollector()
        if try await commit(batch, references, requireRegistered: requireRegistered) { return }
        try await commit(references.batch, before: batch)
    }

    /// Commits changes, those that others refer to first: together where one store has all of them.
    /// - Throws: ``ChangedMeanwhile`` when a slot does not hold any more what its change demands.
    func commit(_ referred: StorageBatch, before batch: StorageBatch) async throws {
        // What the call says of a record counts, and not the state in which something refers to it.
        let own = Set(try batch.changes.map { try routes.route(for: $0.key).slot })
        let others = try referred.changes.filter { !own.contains(try routes.route(for: $0.key).slot) }
        var byStore: [(route: Route, batch: StorageBatch)] = []
        for (index, change) in (others + batch.changes).enumerated() {
            let route = try routes.route(for: change.key)
            let isAlone = index <= others.count && !route.capabilities.atomicBatch
            if isAlone || byStore.last?.route.slot.store != route.slot.store { byStore.append((route, StorageBatch())) }
            byStore[byStore.count - 1].batch.append(change)
        }
        for (_, part) in byStore { _ = try await commit(part, nil) { _ in } }
    }

    /// Commits changes of one store.
    /// - Parameter references: Takes the records within references; with one of them nothing is committed. Nil where they are known already.
    /// - Returns: Whether the changes were committed.
    private func commit(
        _ batch: StorageBatch, _ references: ReferenceCollector?, requireRegistered: (AnyStorageKey) throws -> Void
    ) async throws -> Bool {
        var changes: [PhysicalSlot: (change: StorageBatch.Change, route: Route)] = [:]
        var order: [PhysicalSlot] = []
        for change in batch.changes {
            try requireRegistered(change.key)
            let route = try routes.route(for: change.key)
            try await change.key.base.prepare?(self)
            if changes.updateValue((change, route), forKey: route.slot) == nil { order.append(route.slot) }
        }
        guard let first = order.first.flatMap({ changes[$0] }) else { return true }
        guard order.allSatisfy({ $0.store == first.route.slot.store }) else {
            throw StorageError(
                StorageError.unsupported, key: first.change.key.name,
                "A batch commits in one store; these keys are of several. Make a batch for each store.")
        }
        guard order.count == 1 || first.route.capabilities.atomicBatch else {
            throw StorageError(
                StorageError.unsupported, key: first.change.key.name,
                "\(first.route.domain) cannot commit several changes at once. Set the keys one by one.")
        }
        let ordered = order.compactMap { changes[$0] }
        let isCommitted = try await lanes.withLanes(order, keyName: first.change.key.name) {
            for _ in 0..<Self.attempts {
                if try await commitOnce(ordered, references) { return true }
                if references?.isEmpty == false { return false }
            }
            throw first.route.error(for: .notAttempted)
        }
        await ledger.flush()
        return isCommitted
    }

    private func commitOnce(
        _ changes: [(change: StorageBatch.Change, route: Route)], _ references: ReferenceCollector?
    ) async throws -> Bool {
        var mutations: [StorageMutation] = []
        var places: [Route] = []
        var removals: [(key: AnyStorageKey, route: Route, sources: OlderPlaces?)] = []
        var damaged: [(corruption: StorageCorruption, revision: StorageRevision, route: Route)] = []
        for (change, route) in changes {
            let probe = try await standing(opening: change.key.base, route)
            let precondition: StorageMutation.Precondition = probe.revision.map { .revision($0) } ?? .absent
            if let wanted = change.precondition, wanted != precondition { throw ChangedMeanwhile() }
            // Seen once: what is written into an older place from here on is not what the removal covers.
            let sources = try await olderPlaces(opening: change.key.base, route)
            if change.isInsertion {
                guard case .absent = probe, sources.found.isEmpty, sources.unreadable.isEmpty else { continue }
            }
            if case .corrupt(let corruption) = probe {
                guard let revision = corruption.revision else { throw route.corrupted(corruption) }
                damaged.append((corruption, revision, route))
            }
            places.append(route)
            let origin = change.key.base.leavesTombstone ? try await carriedOrigin(opening: change.key.base, route, probe, sources) : nil
            if let encode = change.encode {
                let past = change.key.base.hasMigration ? origin : try await keptOrigin(opening: change.key.base, route, probe)
                let (payload, metadata) = try await encode(self, route, past, probe, references)
                mutations.append(.put(payload, metadata, at: route.address, if: precondition))
            } else if let origin {
                mutations.append(.tombstone(try await records.tombstone(origin, route), at: route.address, if: precondition))
                removals.append((change.key, route, sources))
            } else {
                mutations.append(StorageMutation(route.address, Self.erasure(of: probe), if: precondition))
                removals.append((change.key, route, nil))
            }
        }
        if references?.isEmpty == false { return false }
        guard let route = places.first else { return true }
        for (corruption, revision, route) in damaged { try await keepDamaged(corruption, revision, route) }
        let results: [MutationResult]
        do {
            results = try await translatingErrors(key: route.keyName) { [mutations] () throws(BackendError) in
                try await route.backend.apply(mutations)
            }
        } catch {
            if Route.leavesDoubt(error) { for place in places { hub.publishDoubt(at: place.slot) } }
            throw error
        }
        for (result, place) in zip(results, places) {
            switch result {
            case .applied, .notAttempted: continue
            case .conflict: return false
            default:
                if case .failed(let error) = result, error.outcome != .notApplied {
                    for place in places { hub.publishDoubt(at: place.slot) }
                }
                throw place.error(for: result)
            }
        }
        for ((result, mutation), place) in zip(zip(results, mutations), places) {
            if case .put(let payload, let metadata) = mutation.operation, case .applied(let revision?, _) = result {
                hub.publish(StorageRecord(payload: payload, metadata: metadata, revision: revision), at: place.slot)
            } else {
                hub.publish(nil, at: place.slot)
            }
        }
        var residue: (any Error)?
        for (key, route, sources) in removals {
            do {
                if let sources { try await clear(opening: key.base, route, sources) }
                try await forget(opening: key.base, route)
            } catch { residue = residue ?? error }
        }
        if let residue { throw residue }
        return true
    }

    private func standing<Key: TypedKey>(opening key: Key, _ route: Route) async throws -> StorageProbe {
        try await standing(key.typed, route)
    }

    private typealias OlderPlaces = (found: [SourceRecord], unreadable: [Route])

    private func olderPlaces<Key: TypedKey>(opening key: Key, _ route: Route) async throws -> OlderPlaces {
        guard key.hasMigration else { return ([], []) }
        return try await readableSources(of: key.typed, route)
    }

    private func carriedOrigin<Key: TypedKey>(
        opening key: Key, _ route: Route, _ probe: StorageProbe, _ sources: OlderPlaces
    ) async throws -> RecordOrigin {
        try await carriedOrigin(key.typed, route, probe, sources)
    }

    private func keptOrigin<Key: TypedKey>(opening key: Key, _ route: Route, _ probe: StorageProbe) async throws -> RecordOrigin? {
        try await keptOrigin(key.typed, route, probe)
    }

    private func forget<Key: TypedKey>(opening key: Key, _ route: Route) async throws { try await forget(key.typed, route) }

    private func clear<Key: TypedKey>(opening key: Key, _ route: Route, _ sources: OlderPlaces) async throws {
        try await clear(sources.found, sources.unreadable, key.typed, route, nil)
    }
}

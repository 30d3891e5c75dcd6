import BackendContract
import BackendRuntime

extension MigrationEngine {
    /// Stores a value. With a migration, the record keeps what it knows of its past and names the older copies that it replaces.
    func set<Value>(_ value: Value, _ key: StorageKey<Value>, _ facts: RecordFacts) async throws {
        let route = try routes.route(for: key)
        try await key.prepare?(self)
        let references = ReferenceCollector()
        try await lanes.withLane(route.slot, keyName: key.name) {
            guard key.hasMigration || key.demandsTypeTag else {
                let (payload, metadata) = try await records.encode(value, key, route, origin: nil, facts, references)
                if references.isEmpty { try await commit(.put(payload, metadata), key, route, facts) }
                return
            }
            try await retrying(key) {
                let probe = try await standing(key, route)
                try requireNotLater(probe, key, facts)
                let origin = try await newOrigin(key, route, probe)
                let (payload, metadata) = try await records.encode(
                    value, key, route, origin: origin, self.facts(facts, over: probe), references)
                return references.isEmpty ? try await commit(.put(payload, metadata), route, on: probe) : ()
            }
        }
        if !references.isEmpty {
            var batch = StorageBatch()
            batch.set(value, for: key, facts)
            return try await commit(references.batch, before: batch)
        }
        await ledger.flush()
    }

    /// Removes a value: with a migration by a tombstone first, and then wherever older copies are.
    func remove<Value>(_ key: StorageKey<Value>) async throws {
        let route = try routes.route(for: key)
        try await key.prepare?(self)
        try await unbroken {
            try await self.lanes.withLane(route.slot, keyName: key.name) {
                try await self.retrying(key) {
                    let probe = try await self.standing(key, route)
                    return key.leavesTombstone ? try await self.bury(key, route, on: probe) : try await self.erase(route, on: probe)
                }
                try await self.forget(key, route)
            }
        }
        await ledger.flush()
    }

    /// Removes what is kept of a value that was removed.
    /// - Throws: ``StorageError`` with `residueRemains` and the outcome `applied` when some of it stays.
    func forget<Value>(_ key: StorageKey<Value>, _ route: Route) async throws {
        do { try await discardBackups(key, route) } catch let error as StorageError {
            throw StorageError(
                StorageError.residueRemains, key: key.name,
                "The value is removed and will not come back, but what is kept of its earlier versions remains. Remove it again when \(route.domain) can be reached. \(error.message)",
                outcome: .applied, underlying: error)
        }
    }

    /// Reads, changes and writes a value. The body may run again when another process changed the value meanwhile.
    func update<Value, R: Sendable>(_ key: StorageKey<Value>, _ body: @Sendable (inout Value?) throws -> R) async throws -> R {
        for _ in 0..<Self.attempts {
            switch try await updateOnce(key, body) {
            case .written(let answer):
                await ledger.flush()
                return answer
            case .refersTo(let referred, let batch, let answer):
                do {
                    try await commit(referred, before: batch)
                    return answer
                } catch is ChangedMeanwhile { continue }
            }
        }
        throw StorageError(
            StorageError.conflict, key: key.name, "The value is being changed by others again and again. Try again when they are done.")
    }

    /// What a read-change-write came to.
    private enum Update<R: Sendable>: Sendable {
        case written(R)
        /// The new value holds records within references: all of them are to be written together, without the lane of one of them.
        case refersTo(StorageBatch, before: StorageBatch, R)
    }

    private func updateOnce<Value, R: Sendable>(
        _ key: StorageKey<Value>, _ body: @Sendable (inout Value?) throws -> R
    ) async throws -> Update<R> {
        let route = try routes.route(for: key)
        // A value that is elsewhere is brought here by a migration that outlives this caller; what is left to do in the lane is one look.
        if key.mayBeOutdated || key.prepare != nil { _ = try await current(key) }
        return try await lanes.withLane(route.slot, keyName: key.name) { () -> Update<R> in
            if key.mayBeOutdated { _ = try await settle(key, route, try await context(.read, route)) }
            return try await retrying(key) { () -> Update<R>? in
                let probe = try await standing(key, route)
                var value: Value?
                if case .corrupt(let corruption) = probe { throw route.corrupted(corruption) }
                let record = probe.record.flatMap { $0.metadata.isExpired(at: runtime.clock.wallSeconds) ? nil : $0 }
                if let record { value = try await records.decode(record, key, route) }
                let hadValue = value != nil
                let answer = try body(&value)
                guard let value else {
                    if !hadValue { return .written(answer) }
                    let isRemoved: Void? = try await key.leavesTombstone ? bury(key, route, on: probe) : erase(route, on: probe)
                    if isRemoved == nil { return nil }
                    try await forget(key, route)
                    return .written(answer)
                }
                let origin = try await newOrigin(key, route, probe)
                // What was there keeps the time that it has left.
                let facts = record.map { RecordFacts.kept($0.metadata) } ?? .new
                let references = ReferenceCollector()
                let (payload, metadata) = try await records.encode(value, key, route, origin: origin, facts, references)
                if references.isEmpty {
                    return try await commit(.put(payload, metadata), route, on: probe) == nil ? nil : .written(answer)
                }
                var batch = StorageBatch()
                batch.set(value, for: key, facts, if: probe.revision.map { .revision($0) } ?? .absent)
                return .refersTo(references.batch, before: batch, answer)
            }
        }
    }

    /// What stands in a slot; fails when that cannot be known.
    func standing(_ route: Route) async throws -> StorageProbe {
        switch try await route.read() {
        case .locked: throw StorageError.locked(route.keyName, route.domain)
        case .unavailable(let error): throw StorageError.from(error, key: route.keyName)
        case let probe: return probe
        }
    }

    /// What stands in a slot of a key, when it is the key's to change.
    /// - Throws: ``StorageError`` with `incompatibleSchema` for the record of another type in the same collection, unless it has expired.
    func standing<Value>(_ key: StorageKey<Value>, _ route: Route) async throws -> StorageProbe {
        let probe = try await standing(route)
        if key.demandsTypeTag, let record = probe.record, record.metadata.typeTag != key.typeTag,
            !record.metadata.isExpired(at: runtime.clock.wallSeconds)
        {
            _ = try records.storedVersion(of: record, key)
        }
        return probe
    }

    /// Fails when a write would replace a value of a later version than the key's. One that has expired may be replaced.
    /// - Throws: ``StorageError`` with `incompatibleSchema`.
    func requireNotLater<Value>(_ probe: StorageProbe, _ key: StorageKey<Value>, _ facts: RecordFacts) throws {
        guard !facts.replacesLaterVersions, let record = probe.record, !record.metadata.isExpired(at: runtime.clock.wallSeconds) else {
            return
        }
        try records.requireNotLater(record.metadata, key)
    }

    /// What a new value takes over from the record that it replaces.
    func facts(_ facts: RecordFacts, over probe: StorageProbe) -> RecordFacts {
        var facts = facts
        facts.past = probe.record.flatMap { $0.metadata.isExpired(at: runtime.clock.wallSeconds) ? nil : $0.metadata }
        return facts
    }

    /// Begins a read-change-write anew as long as it returns nil, which stands for "changed meanwhile".
    func retrying<Value, R>(_ key: StorageKey<Value>, _ body: () async throws -> R?) async throws -> R {
        for _ in 0..<Self.attempts {
            try Task.checkCancellation()
            if let result = try await body() { return result }
        }
        throw StorageError(
            StorageError.conflict, key: key.name, "The value is being changed by others again and again. Try again when they are done.")
    }

    /// What a new record says of its past. Without a migration of the key's own it is what the old one said: the records of a collection may have been brought over by a call,
    /// and a copy that remained must not come back in the place of a later value.
    private func newOrigin<Value>(_ key: StorageKey<Value>, _ route: Route, _ probe: StorageProbe) async throws -> RecordOrigin? {
        if key.hasMigration { return try await carriedOrigin(key, route, probe, try await readableSources(of: key, route)) }
        return try await keptOrigin(key, route, probe)
    }

    /// What a record said of its past, for the one that takes its place; nil where it said nothing.
    func keptOrigin<Value>(_ key: StorageKey<Value>, _ route: Route, _ probe: StorageProbe) async throws -> RecordOrigin? {
        let origin: [UInt8]? =
            switch probe {
            case .value(let record): record.metadata.origin
            case .tombstone(let tombstone): tombstone.metadata.origin
            default: nil
            }
        return origin == nil ? nil : try await carriedOrigin(key, route, probe, ([], []))
    }

    /// What a new record says of its past: what the old one said, and the copies that are there now.
    /// - Throws: ``StorageError`` when an older place wins conflicts and is out of reach: what it holds could not be named, and would later undo the change.
    func carriedOrigin<Value>(
        _ key: StorageKey<Value>, _ route: Route, _ probe: StorageProbe, _ sources: (found: [SourceRecord], unreadable: [Route])
    ) async throws -> RecordOrigin {
        if case .sourceWins = key.conflictPolicy { for place in sources.unreadable { try await requireDamage(place, of: key.name) } }
        let metadata: StorageMetadata? =
            switch probe {
            case .value(let record): record.metadata
            case .tombstone(let tombstone): tombstone.metadata
            default: nil
            }
        var origin = RecordOrigin(boot: runtime.host.bootID)
        for copy in sources.found { origin.add(copy, destination: route) }
        if let metadata, safeguards.contains(.carriedOrigin) {
            do { origin.merge(try await records.origin(of: metadata, route)) } catch let error as StorageError
                where Self.meansUndecodable(error)
            {
                // The old record's seal does not open: its copies are unknown, and will be conflicts instead of copies.
            }
        }
        return origin
    }

    /// Refuses a change because of a place that could not be read, unless what stands there is damaged: that wins nothing. A place that is back meanwhile was not
    /// named all the same.
    private func requireDamage(_ place: Route, of name: String) async throws {
        switch try await place.read() {
        case .corrupt: return
        default:
            throw StorageError(
                StorageError.unavailable, key: name,
                "An older place, \(place.domain)/\(place.keyName), wins conflicts by this key's policy and could not be read: what it holds would later undo the change. Nothing was changed; try again when it can be read."
            )
        }
    }

    /// Stores a value whatever stands there, unless that is a value of a later version: the store decides, under its own lock. Damaged bytes in its way are quarantined
    /// first: they are nobody's to destroy.
    private func commit<Value>(
        _ operation: StorageMutation.Operation, _ key: StorageKey<Value>, _ route: Route, _ facts: RecordFacts
    ) async throws {
        let demanded: StorageMutation.Precondition =
            facts.replacesLaterVersions || !safeguards.contains(.laterVersions) ? .none : .notLater(version: key.schemaVersion)
        var precondition = demanded
        for _ in 0..<Self.attempts {
            let result = try await applyTelling(operation, route, if: precondition)
            guard case .conflict(let probe) = result else { return try publish(result, operation, route) }
            if precondition != demanded {
                precondition = demanded
                continue
            }
            try requireNotLater(probe, key, facts)
            guard let revision = probe.revision else { throw route.error(for: result) }
            if case .corrupt(let corruption) = probe { try await keepDamaged(corruption, revision, route) }
            // What is damaged or has expired is replaced as it was seen.
            precondition = .revision(revision)
        }
        throw route.error(for: .notAttempted)
    }

    /// Makes a change if the slot still is as it was seen. Nil when it is not.
    private func commit(_ operation: StorageMutation.Operation, _ route: Route, on probe: StorageProbe) async throws -> Void? {
        if case .corrupt(let corruption) = probe {
            guard let revision = corruption.revision else { throw route.corrupted(corruption) }
            try await keepDamaged(corruption, revision, route)
        }
        let result = try await applyTelling(operation, route, if: probe.revision.map { .revision($0) } ?? .absent)
        if case .conflict = result { return nil }
        return try publish(result, operation, route)
    }

    /// Makes a change; those who watch the slot look again when nobody knows whether it happened.
    func applyTelling(
        _ operation: StorageMutation.Operation, _ route: Route, if precondition: StorageMutation.Precondition
    ) async throws -> MutationResult {
        do {
            let result = try await route.apply(operation, if: precondition)
            if case .failed(let error) = result, error.outcome != .notApplied { hub.publishDoubt(at: route.slot) }
            return result
        } catch {
            if Route.leavesDoubt(error) { hub.publishDoubt(at: route.slot) }
            throw error
        }
    }

    func keepDamaged(_ corruption: StorageCorruption, _ revision: StorageRevision, _ route: Route) async throws {
        let damaged = StorageRecord(payload: .bytes(corruption.bytes), revision: revision)
        try await quarantine.keep(damaged, of: route, beside: [], reason: "replaced: it was damaged")
    }

    private func publish(_ result: MutationResult, _ operation: StorageMutation.Operation, _ route: Route) throws {
        guard case .applied(let revision, _) = result else { throw route.error(for: result) }
        if case .put(let payload, let metadata) = operation, let revision {
            hub.publish(StorageRecord(payload: payload, metadata: metadata, revision: revision), at: route.slot)
        } else {
            hub.publish(nil, at: route.slot)
        }
    }

    /// Removes a value through a key without a migration. What the slot knows of older copies stays as a tombstone: a program whose key has the migration
    /// would take them for the value. Nil when the slot was changed meanwhile.
    func erase(_ route: Route, on probe: StorageProbe) async throws -> Void? {
        switch probe {
        case .absent, .tombstone:
            // Somebody else's removal may not be durable yet.
            _ = try await settledDurability(of: route, nil)
            return ()
        default: return try await commit(Self.erasure(of: probe), route, on: probe)
        }
    }

    /// The change that removes what was seen through a key without a migration.
    static func erasure(of probe: StorageProbe) -> StorageMutation.Operation {
        switch probe {
        case .value(let record) where record.metadata.origin != nil:
            .tombstone(StorageMetadata(origin: record.metadata.origin, modifiedAt: record.metadata.modifiedAt))
        case .tombstone(let tombstone): .tombstone(tombstone.metadata)
        default: .delete
        }
    }

    /// Writes the tombstone and clears the older copies, the oldest first. Nil when the slot was changed meanwhile.
    func bury<Value>(_ key: StorageKey<Value>, _ route: Route, on probe: StorageProbe) async throws -> Void? {
        let sources = try await readableSources(of: key, route)
        let (copies, unreadable) = sources
        let origin = try await carriedOrigin(key, route, probe, sources)
        if case .tombstone(let tombstone) = probe, let old = try? await records.origin(of: tombstone.metadata, route),
            copies.allSatisfy({ old.names($0.route.placeName, $0.record) })
        {
            // Removed before, and nothing new to name: the tombstone stays as it is, with the start of the machine it was written in. Whoever wrote it may not
            // have made it durable yet, or may have failed to; this removal is answered only once it is.
            _ = try await settledDurability(of: route, old)
            try await clear(copies, unreadable, key, route, old)
            return ()
        }
        guard try await commit(.tombstone(try await records.tombstone(origin, route)), route, on: probe) != nil else { return nil }
        try await clear(copies, unreadable, key, route, origin)
        return ()
    }

    /// Removes the older copies of a removed value.
    /// - Throws: ``StorageError`` with `residueRemains` and the outcome `applied` when one of them stays.
    func clear<Value>(
        _ copies: [SourceRecord], _ unreadable: [Route], _ key: StorageKey<Value>, _ route: Route, _ origin: RecordOrigin?
    ) async throws {
        var residue = unreadable.map { "\($0.domain)/\($0.keyName): it cannot be read now" }
        for place in unreadable { ledger.remains(place, of: route, "it could not be read when the value was removed") }
        if !copies.isEmpty {
            do {
                residue += await collect(copies.reversed(), for: route, achieved: try await settledDurability(of: route, origin))
            } catch {
                // The removal stands: a barrier that failed only means that the copies may not go yet.
                for copy in copies {
                    ledger.remains(copy.route, of: route, "the removal was not certain to survive a power cut")
                    residue.append("\(copy.route.domain)/\(copy.route.keyName): the removal is not certain to survive a power cut yet")
                }
            }
        }
        guard residue.isEmpty else {
            await ledger.flush()
            throw StorageError(
                StorageError.residueRemains, key: key.name,
                "The value is removed and will not come back, but older copies remain: \(residue.joined(separator: "; ")). Remove it again, or sweep, when they can be reached.",
                outcome: .applied)
        }
    }
}

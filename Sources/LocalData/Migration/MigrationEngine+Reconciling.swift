import BackendContract

extension MigrationEngine {
    /// What stands at a destination that is settled.
    enum Standing<Value: Sendable>: Sendable {
        case held(StorageRecord, Value)
        case removed(StorageTombstone)

        var metadata: StorageMetadata {
            switch self {
            case .held(let record, _): record.metadata
            case .removed(let tombstone): tombstone.metadata
            }
        }

        var revision: StorageRevision {
            switch self {
            case .held(let record, _): record.revision
            case .removed(let tombstone): tombstone.revision
            }
        }
    }

    /// Compares what older places still hold with a destination that has a value or a tombstone: copies of it are removed, anything else is a conflict.
    /// Nil means: the destination changed meanwhile, look at it again.
    func reconcile<Value>(
        _ key: StorageKey<Value>, _ route: Route, _ context: MigrationContext, _ standing: Standing<Value>
    ) async throws -> Visit? {
        let resting: MigrationReport.State
        if case .held = standing { resting = .unchanged } else { resting = .removed }
        var visit = Visit(state: resting)
        guard key.hasMigration else { return visit }
        let origin = try await records.origin(of: standing.metadata, route)

        // Copies that the record names are this value, wherever in the chain of older places they are.
        let (found, unreadable) = try await readableSources(of: key, route)
        let occupied = Set(found.map(\.route.slot) + unreadable.map(\.slot))
        for place in try allSources(of: key, route) where !occupied.contains(place.route.slot) { ledger.isGone(place.route, of: route) }
        var copies: [SourceRecord] = []
        for source in found where await isCopy(source, of: origin) { copies.append(source) }
        if !copies.isEmpty {
            visit.residue += await collect(copies, for: route, achieved: try await settledDurability(of: route, origin))
            if visit.residue.count < copies.count { visit.state = .collected }
            visit.from = copies.map { "\($0.route.domain)/\($0.route.keyName)" }.joined(separator: " + ")
            visit.protectionBefore = copies.map(\.route.protection).min()
        }
        let known = Set(copies.map(\.route.slot))
        for migration in key.migrations {
            guard let step = migration.plan as? MigrationStep<Value> else {
                if case .removed = standing {
                    // A removal decides: a migration of one's own, which cannot see it, would bring the value back.
                    guard let from = try await quarantine(migration.sources, key, route, standing, origin, context, except: known) else {
                        continue
                    }
                    visit.state = .resolved
                    visit.from = from.names
                    visit.residue += from.residue
                    continue
                }
                if let result = try await runCustom(migration, key, context) {
                    visit.state = .resolved
                    visit.message = "The migration \(migration.id) ran."
                    visit.from = result.source
                    return visit
                }
                continue
            }
            guard try await wrappingUserErrors(key, { try await step.condition(context.router, context) }) else { continue }
            switch try await reconcile(step, key, route, context, standing, origin, except: known) {
            case .nothing: continue
            case .lookAgain: return nil
            case .done(let state, let from, let protection, let residue):
                visit.state = state
                visit.from = from
                visit.protectionBefore = protection
                visit.residue += residue
                // The destination may have been replaced: what further steps find is left to the next sweep.
                if state == .resolved { return visit }
            }
        }
        return visit
    }

    private enum Comparison {
        case nothing
        case lookAgain
        case done(MigrationReport.State, from: String, ProtectionLevel?, residue: [String])
    }

    private func reconcile<Value>(
        _ step: MigrationStep<Value>, _ key: StorageKey<Value>, _ route: Route, _ context: MigrationContext, _ standing: Standing<Value>,
        _ origin: RecordOrigin?, except known: Set<PhysicalSlot>
    ) async throws -> Comparison {
        var found: [SourceRecord] = []
        var values: [(any Sendable)?] = []
        for source in step.sources {
            let sourceRoute = try routes.route(for: source)
            guard sourceRoute.slot != route.slot, !known.contains(sourceRoute.slot) else {
                values.append(nil)
                continue
            }
            let (record, value) = try await readOther(source.base, sourceRoute, step.options, context)
            // A place that could not be read at first, and can be now: what the record names is a copy, and no conflict. The next sweep removes it.
            if let record, await isCopy(SourceRecord(key: source, route: sourceRoute, record: record), of: origin) {
                ledger.remains(sourceRoute, of: route, "it could not be read at first")
                values.append(nil)
                continue
            }
            values.append(value)
            if let record { found.append(SourceRecord(key: source, route: sourceRoute, record: record)) }
        }
        if found.isEmpty { return .nothing }
        let from = found.map { "\($0.route.domain)/\($0.route.keyName)" }.joined(separator: " + ")
        let protection = found.map(\.route.protection).min()
        let candidate = values.contains { $0 != nil } ? try? step.combine(values) : nil
        let references = ReferenceCollector()
        if case .held(_, let value) = standing, let candidate,
            try records.bytes(of: value, key) == records.bytes(of: candidate, key, references)
        {
            // They may be the same but for the records within them.
            try await store(
                references,
                for: ReferenceHolder(route: route, copies: found, allowsWeakerProtection: step.options.allowsWeakerProtection))
            let residue = await collect(found, for: route, achieved: try await certainty(of: standing, key, route, origin, found))
            return .done(residue.isEmpty ? .collected : .unchanged, from: from, protection, residue: residue)
        }
        guard let residue = try await resolve(candidate, found, step, key, route, standing, origin) else { return .lookAgain }
        return .done(.resolved, from: from, protection, residue: residue)
    }

    /// Reads a source that is compared with a settled destination: one that does not decode still counts, as bytes.
    func readOther<Key: TypedKey>(
        _ source: Key, _ route: Route, _ options: MigrationOptions, _ context: MigrationContext
    ) async throws -> (StorageRecord?, (any Sendable)?) {
        let key = source.typed
        if key.hasMigration, !lanes.isHeldByCurrentChain(route.slot) {
            do {
                try await lanes.withLane(route.slot, keyName: key.name) {
                    // A sweep clears what the older place's own older places hold, too.
                    _ = try await settle(key, route, try await self.context(context.reason, route, within: context))
                }
            } catch let error as StorageError where Self.meansUndecodable(error) || error.code == StorageError.migrationFailed {
                // It stands there and cannot be read: compared as bytes below.
            }
        }
        switch try await route.read() {
        case .value(let record):
            do { return (record, try await records.decode(record, key, route)) } catch let error as StorageError
                where Self.meansUndecodable(error)
            {
                return (record, nil)
            }
        case .absent, .tombstone: return (nil, nil)
        case .locked: throw StorageError.locked(key.name, route.domain)
        case .unavailable(let error):
            if options.whenSourceUnavailable == .skip { return (nil, nil) }
            throw StorageError.from(error, key: key.name)
        case .corrupt(let corruption): throw route.corrupted(corruption)
        }
    }

    /// Applies the key's conflict policy. Nothing that anybody might miss goes before it is in quarantine. Nil means: the destination changed meanwhile.
    private func resolve<Value>(
        _ candidate: Value?, _ found: [SourceRecord], _ step: MigrationStep<Value>, _ key: StorageKey<Value>, _ route: Route,
        _ standing: Standing<Value>, _ origin: RecordOrigin?
    ) async throws -> [String]? {
        let sourceRoutes = found.map(\.route)
        func quarantineSources() async throws {
            for source in found {
                try await quarantine.keep(source.record, of: source.route, beside: [route], reason: "conflict with \(key.name)")
            }
        }
        func quarantineDestination() async throws {
            if case .held(let record, _) = standing {
                try await quarantine.keep(record, of: route, beside: sourceRoutes, reason: "replaced in a conflict")
            }
        }
        func needCandidate() throws -> Value {
            guard let candidate else {
                throw StorageError(
                    StorageError.migrationFailed, key: key.name,
                    "An older place holds something else than \(route.domain), and it cannot be read. Both are left as they are.")
            }
            return candidate
        }
        func replace(with value: Value) async throws -> [String]? {
            var newOrigin = try await self.origin(of: found, migration: step.id, route)
            newOrigin.merge(origin)
            let facts = carriedFacts(from: found.map(\.record.metadata))
            let holder = ReferenceHolder(route: route, copies: found, allowsWeakerProtection: step.options.allowsWeakerProtection)
            guard let written = try await write(value, key, route, newOrigin, facts, if: .revision(standing.revision), holder) else {
                return nil
            }
            return await collect(found, for: route, achieved: written.durability)
        }

        let residue: [String]?
        switch key.conflictPolicy {
        case .destinationWins:
            try await quarantineSources()
            residue = await collect(found, for: route, achieved: try await certainty(of: standing, key, route, origin, found))
        case .sourceWins:
            let value = try needCandidate()
            try checkProtection(step, key, route)
            try await quarantineDestination()
            residue = try await replace(with: value)
        case .merge(let merge):
            let value = try needCandidate()
            let mine: Value? = if case .held(_, let value) = standing { value } else { nil }
            let merged = try await wrappingUserErrors(key) { try merge(mine, value) }
            if merged != nil { try checkProtection(step, key, route) }
            try await quarantineSources()
            try await quarantineDestination()
            if let merged {
                residue = try await replace(with: merged)
            } else {
                residue = try await bury(key, route, standing, found, origin)
            }
        }
        if residue != nil { ledger.worked(step.id) }
        return residue
    }

    /// Ends a conflict with a removal.
    private func bury<Value>(
        _ key: StorageKey<Value>, _ route: Route, _ standing: Standing<Value>, _ found: [SourceRecord], _ origin: RecordOrigin?
    ) async throws -> [String]? {
        var newOrigin = try await self.origin(of: found, migration: nil, route)
        newOrigin.merge(origin)
        switch try await applyTelling(.tombstone(try await records.tombstone(newOrigin, route)), route, if: .revision(standing.revision)) {
        case .applied(_, let durability):
            hub.publish(nil, at: route.slot)
            return await collect(found, for: route, achieved: durability)
        case .conflict: return nil
        case let result: throw route.error(for: result)
        }
    }
}

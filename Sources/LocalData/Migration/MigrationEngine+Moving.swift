import BackendContract
import BackendRuntime

/// A source that was read, opened and decoded.
struct SourceReading: Sendable {
    let source: SourceRecord
    let value: any Sendable
    /// Whether it is the destination's own slot, in an older shape.
    let isInPlace: Bool
}

extension MigrationEngine {
    /// What a look at one source found.
    enum SourceProbe: Sendable {
        case value(SourceReading)
        case absent
        case removed
    }

    /// Tries one migration for a destination that holds nothing usable.
    func attempt<Value>(
        _ migration: AnyStorageMigration, _ key: StorageKey<Value>, _ route: Route, _ context: MigrationContext, _ occupant: Occupant
    ) async throws -> Attempt {
        guard let step = migration.plan as? MigrationStep<Value> else { return try await attemptCustom(migration, key, route, context) }
        return try await attempt(step, key, route, context, occupant)
    }

    /// Tries a plan for a destination that holds nothing usable.
    func attempt<Value>(
        _ step: MigrationStep<Value>, _ key: StorageKey<Value>, _ route: Route, _ context: MigrationContext, _ occupant: Occupant
    ) async throws -> Attempt {
        guard try await wrappingUserErrors(key, { try await step.condition(context.router, context) }) else { return .waits }
        try checkProtection(step, key, route)
        var probes: [SourceProbe] = []
        for source in step.sources {
            probes.append(try await readSource(source.base, for: key.name, route, occupant, step.options, context))
        }
        if !step.isAggregating, case .removed = probes.first {
            // Older values do not count then; what stands here and cannot be read is not gone by it.
            guard case .none = occupant else { return try await emptiness(occupant, route).map(Attempt.finished) ?? .lookAgain }
            return .finished(Visit(state: .removed))
        }
        let readings = probes.compactMap { if case .value(let reading) = $0 { reading } else { nil } }
        if readings.isEmpty { return .foundNothing }
        let values = probes.map { probe -> (any Sendable)? in if case .value(let reading) = probe { reading.value } else { nil } }
        guard let value = try await wrappingUserErrors(key, { try step.combine(values) }) else { return .waits }
        return try await move(value, step, key, route, occupant, readings)
    }

    private func attemptCustom<Value>(
        _ migration: AnyStorageMigration, _ key: StorageKey<Value>, _ route: Route, _ context: MigrationContext
    ) async throws -> Attempt {
        guard let result = try await runCustom(migration, key, context) else { return .waits }
        switch try await route.read() {
        case .value(let record):
            do { _ = try await records.decode(record, key, route) } catch let error as StorageError where Self.meansUndecodable(error) {
                return .waits
            }
            let seen = Visit(state: .moved, from: result.source ?? migration.id, bytes: max(result.bytes, record.payload.byteCount))
            return .finished(seen)
        case .tombstone: return .finished(Visit(state: .removed))
        default: return .waits
        }
    }

    /// Runs a custom migration if it wants to. Nil when it does not.
    func runCustom<Value>(
        _ migration: AnyStorageMigration, _ key: StorageKey<Value>, _ context: MigrationContext
    ) async throws -> MigrationResult? {
        let result = try await wrappingUserErrors(key) { () -> MigrationResult? in
            guard try await migration.shouldMigrate(context.router, context) else { return nil }
            return try await migration.migrate(context.router, context)
        }
        guard let result else { return nil }
        guard result.success else {
            throw StorageError(
                StorageError.migrationFailed, key: key.name,
                "The migration \(migration.id) reported that it failed. Older values are where it left them.",
                underlying: result.errors.first)
        }
        ledger.worked(migration.id)
        return result
    }

    /// Lets the router's own errors through and names what a migration's own code threw.
    func wrappingUserErrors<Value, R>(_ key: StorageKey<Value>, _ body: () async throws -> R) async throws -> R {
        do { return try await body() } catch let error as StorageError { throw error } catch let error as CancellationError {
            throw error
        } catch {
            throw StorageError(
                StorageError.migrationFailed, key: key.name,
                "The migration's own code failed (\(String(describing: type(of: error)))). The older value is where it was.",
                underlying: error)
        }
    }

    /// Judges from the keys, before anything is read, whether values would be protected less, or last shorter, than where they are.
    func checkProtection<Value>(_ step: MigrationStep<Value>, _ key: StorageKey<Value>, _ route: Route) throws {
        guard safeguards.contains(.protection), !step.options.allowsWeakerProtection else { return }
        for source in step.sources {
            let sourceRoute = try routes.route(for: source)
            if route.protection < sourceRoute.protection {
                throw StorageError(
                    StorageError.weakerProtection, key: key.name,
                    "\(source.name) is protected as \(sourceRoute.protection) in \(sourceRoute.domain); \(route.domain) with the policy \(key.security) would protect it as \(route.protection) only. Choose a stronger place, or say allowsWeakerProtection."
                )
            }
            if route.capabilities.durability < sourceRoute.capabilities.durability {
                throw StorageError(
                    StorageError.weakerProtection, key: key.name,
                    "\(source.name) is kept durably in \(sourceRoute.domain); \(route.domain) would not keep it as long. Choose a durable place, or say allowsWeakerProtection."
                )
            }
        }
    }

    /// Reads a source, after that source's own migrations have run.
    func readSource<Key: TypedKey>(
        _ source: Key, for destination: String, _ route: Route, _ occupant: Occupant, _ options: MigrationOptions,
        _ context: MigrationContext
    ) async throws -> SourceProbe {
        let key = source.typed
        let sourceRoute = try routes.route(for: AnyStorageKey(base: source))
        if sourceRoute.slot == route.slot { return try await readInPlace(key, sourceRoute, occupant) }
        let skips = options.whenSourceUnavailable == .skip
        switch try await readSettled(key, sourceRoute, skips, context) {
        case .value(let record) where record.metadata.isExpired(at: runtime.clock.wallSeconds):
            // A sweep removes it where it stands.
            if context.reason != .read { _ = try await purge(record, key, sourceRoute) }
            return .removed
        case .value(let record):
            let value: Key.Value
            do { value = try await records.decode(record, key, sourceRoute) } catch let error as StorageError
                where Self.meansUndecodable(error)
            {
                throw StorageError(
                    StorageError.migrationFailed, key: destination,
                    "The older value \(key.name) in \(sourceRoute.domain) cannot be read as its key describes it. It is left as it is. \(error.message)",
                    underlying: error)
            }
            return .value(
                SourceReading(
                    source: SourceRecord(key: AnyStorageKey(base: source), route: sourceRoute, record: record), value: value,
                    isInPlace: false))
        case .absent: return .absent
        case .tombstone: return .removed
        case .locked: throw StorageError.locked(key.name, sourceRoute.domain)
        case .unavailable(let error):
            if skips { return .absent }
            throw StorageError.from(error, key: key.name)
        case .corrupt(let corruption): throw sourceRoute.corrupted(corruption)
        }
    }

    /// Looks at a source once its own migrations have run. One that was there then and is gone now was taken away in between: what its own sources hold counts again.
    private func readSettled<Value>(
        _ key: StorageKey<Value>, _ route: Route, _ skips: Bool, _ context: MigrationContext
    ) async throws -> StorageProbe {
        guard key.hasMigration, !lanes.isHeldByCurrentChain(route.slot) else { return try await route.read() }
        for _ in 0..<Self.attempts {
            let state: MigrationReport.State
            do {
                state = try await lanes.withLane(route.slot, keyName: key.name) {
                    try await settle(key, route, try await self.context(.read, route, within: context)).state
                }
            } catch StorageError.unavailable where skips { return .absent }
            let probe = try await route.read()
            if case .absent = probe, state != .absent { continue }
            return probe
        }
        throw route.error(for: .notAttempted)
    }

    private func readInPlace<Value>(_ key: StorageKey<Value>, _ route: Route, _ occupant: Occupant) async throws -> SourceProbe {
        guard case .undecodable(let record, _) = occupant else { return .absent }
        do {
            let value = try await records.decode(record, key, route)
            return .value(
                SourceReading(source: SourceRecord(key: .key(key), route: route, record: record), value: value, isInPlace: true))
        } catch let error as StorageError where Self.meansUndecodable(error) {
            return .absent
        }
    }

    /// Writes a value that was found elsewhere, makes sure that it is there to stay, and then removes what it was made of.
    private func move<Value>(
        _ value: Value, _ step: MigrationStep<Value>, _ key: StorageKey<Value>, _ route: Route, _ occupant: Occupant,
        _ readings: [SourceReading]
    ) async throws -> Attempt {
        let elsewhere = readings.filter { !$0.isInPlace }.map(\.source)
        let isInPlace = elsewhere.count < readings.count
        let precondition: StorageMutation.Precondition
        switch occupant {
        case .none: precondition = .absent
        case .undecodable(let record, let error):
            if !isInPlace, (error as? StorageError)?.code == StorageError.encryptionKeyMismatch { throw error }
            // A record that says of itself that it replaced these copies is newer than they are: it has another shape, and is not damaged.
            if !isInPlace, let past = try? await records.origin(of: record.metadata, route),
                elsewhere.contains(where: { past.names($0.route.placeName, $0.record) })
            {
                throw error
            }
            if !isInPlace || step.options.keepsReplacedBytes {
                try await quarantine.keep(record, of: route, beside: elsewhere.map(\.route), reason: "replaced: it did not decode")
            }
            precondition = .revision(record.revision)
        case .corrupt(let corruption):
            guard let revision = corruption.revision else { throw route.corrupted(corruption) }
            let damaged = StorageRecord(payload: .bytes(corruption.bytes), revision: revision)
            try await quarantine.keep(damaged, of: route, beside: elsewhere.map(\.route), reason: "replaced: it was damaged")
            precondition = .revision(revision)
        }
        var origin = try await origin(of: elsewhere, migration: step.id, route)
        // A value in a new shape still replaces the copies that it named in the old one.
        for old in readings where old.isInPlace && route.protection >= old.source.route.protection {
            origin.merge(try await records.origin(of: old.source.record.metadata, old.source.route))
        }
        if !safeguards.contains(.destinationFirst) { _ = await collect(elsewhere, for: route, achieved: .durable) }
        let facts = carriedFacts(from: readings.map(\.source.record.metadata))
        let holder = ReferenceHolder(
            route: route, copies: readings.map(\.source), allowsWeakerProtection: step.options.allowsWeakerProtection)
        guard let written = try await write(value, key, route, origin, facts, if: precondition, holder) else { return .lookAgain }
        var visit = Visit(
            state: elsewhere.isEmpty ? .converted : .moved,
            from: readings.map { "\($0.source.route.domain)/\($0.source.route.keyName)" }.joined(separator: " + "),
            protectionBefore: readings.map(\.source.route.protection).min(), bytes: written.record.payload.byteCount)
        visit.residue = await collect(elsewhere, for: route, achieved: written.durability)
        ledger.worked(step.id)
        return .finished(visit)
    }

    /// What the record of a moved value says of its past: the copies it was made of, and what those replaced in their turn.
    func origin(of sources: [SourceRecord], migration: String?, _ route: Route) async throws -> RecordOrigin {
        var origin = RecordOrigin(migration: migration, boot: runtime.host.bootID)
        for source in sources {
            origin.add(source, destination: route)
            if route.protection >= source.route.protection {
                origin.merge(try await records.origin(of: source.record.metadata, source.route))
            }
        }
        return origin
    }

    /// What the record of a moved value takes over from those that it was made of.
    func carriedFacts(from sources: [StorageMetadata]) -> RecordFacts {
        var facts = RecordFacts.carried(from: sources)
        if !safeguards.contains(.carriedExpiry) { facts.past?.expiresAt = nil }
        return facts
    }

    /// What ``write(_:_:_:_:if:)`` achieved.
    struct Written: Sendable {
        let record: StorageRecord
        let durability: StorageDurability
    }

    /// Writes a value under a precondition, durably, and reads it back as a new process would; records that it refers to, and was made with, come before it. Nil when the
    /// precondition did not hold.
    func write<Value>(
        _ value: Value, _ key: StorageKey<Value>, _ route: Route, _ origin: RecordOrigin, _ facts: RecordFacts,
        if precondition: StorageMutation.Precondition, _ holder: ReferenceHolder
    ) async throws -> Written? {
        let references = ReferenceCollector()
        let (payload, metadata) = try await records.encode(value, key, route, origin: origin, facts, references)
        try await store(references, for: holder)
        switch try await applyTelling(.put(payload, metadata), route, if: precondition) {
        case .applied(let revision?, let durability):
            let record = StorageRecord(payload: payload, metadata: metadata, revision: revision)
            do { try await verify(record, key, route) } catch {
                // It was written all the same: who follows the value looks.
                hub.publishDoubt(at: route.slot)
                throw error
            }
            hub.publish(record, at: route.slot)
            return Written(record: record, durability: durability)
        case .conflict(let probe):
            if case .corrupt = probe { throw route.error(for: .conflict(probe)) }
            return nil
        case let result: throw route.error(for: result)
        }
    }

    func verify<Value>(_ record: StorageRecord, _ key: StorageKey<Value>, _ route: Route) async throws {
        func differs(_ how: String) -> StorageError {
            StorageError(
                StorageError.migrationFailed, key: key.name,
                "The value was written to \(route.domain) and could not be read back (\(how)). The older value is where it was.",
                outcome: .unknown)
        }
        switch try await route.read(.fresh) {
        case .value(let found) where found.revision == record.revision:
            guard found.payload == record.payload else { throw differs("it differs") }
            _ = try await records.decode(found, key, route)
        case .value, .tombstone: return  // Somebody wrote after us, and therefore after what we wrote was there.
        // Programs of this library remove such a value by a tombstone: an empty slot is a write that was lost, or somebody's deletion of it. The source stays.
        case .absent: throw differs("it is not there")
        case .locked: throw StorageError.locked(key.name, route.domain)
        case .unavailable(let error): throw StorageError.from(error, key: key.name)
        case .corrupt: throw differs("it is damaged")
        }
    }

    /// Runs one plan by itself: what a ready-made migration's `migrate` does.
    func run<Value>(_ step: MigrationStep<Value>, for key: StorageKey<Value>, context: MigrationContext) async throws -> MigrationResult {
        let start = runtime.clock.now
        let route = try routes.route(for: key)
        let visit = try await lanes.withLane(route.slot, keyName: key.name) { () -> Visit in
            for _ in 0..<Self.attempts {
                let occupant: Occupant
                switch try await route.read() {
                case .absent: occupant = .none
                case .value(let record):
                    do {
                        _ = try await records.decode(record, key, route)
                        return Visit(state: .unchanged)
                    } catch let error as StorageError where Self.meansUndecodable(error) { occupant = .undecodable(record, error) }
                case .tombstone: return Visit(state: .removed)
                case .corrupt(let corruption): occupant = .corrupt(corruption)
                case .locked: throw StorageError.locked(key.name, route.domain)
                case .unavailable(let error): throw StorageError.from(error, key: key.name)
                }
                switch try await attempt(step, key, route, context, occupant) {
                case .finished(let visit): return visit
                case .foundNothing, .waits: return Visit(state: .absent)
                case .lookAgain: continue
                }
            }
            throw route.error(for: .notAttempted)
        }
        return MigrationResult(
            success: true, key: key.name, source: visit.from, bytes: visit.bytes, duration: start.duration(to: runtime.clock.now),
            metadata: ["state": visit.state.rawValue])
    }

    /// Whether any of the sources holds a value, or cannot be looked at.
    func anySourceHoldsSomething(_ sources: [AnyStorageKey]) async throws -> Bool {
        for source in sources {
            let route = try routes.route(for: source)
            switch try await route.read() {
            case .absent, .tombstone: continue
            default: return true
            }
        }
        return false
    }
}

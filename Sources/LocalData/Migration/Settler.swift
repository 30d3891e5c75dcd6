import BackendContract
import BackendRuntime

/// The state table: what happens to a key, by what its place and its legacy locations hold. `Docs/Design.md` has the table and the order of steps.
///
/// The destination decides. Every function of the protocol may be interrupted by a crash at any point and run again by this or another process; correctness rests on
/// preconditions and revisions, never on what was read before an `await`.
struct Settler: Sendable {
    let env: Environment

    init(_ env: Environment) { self.env = env }

    /// Brings a key's value to its place, and in a sweep or when forced also clears its legacy locations. Called while the key's lane is held.
    func settle<Value>(_ slot: Slot<Value>, _ run: MigrationRun) async throws -> Visit {
        var (isConverted, hasExpired) = (false, false)
        var brought: Visit?
        let visit = try await env.retrying(slot.name) { () -> Visit? in
            /// What a release window makes of it; nil where none matters, or the destination has to be looked at again.
            func kept(_ settled: Reconciler.Settled<Value>) async throws -> ReleaseWindowSettler.Outcome {
                let outcome = try await ReleaseWindowSettler(env).settle(slot, run, settled)
                if case .lookAgain(let visit?) = outcome { brought = visit.after(brought) }
                return outcome
            }
            /// What is brought from elsewhere. The end of a window is another look: the value has to say that it is over.
            func migratedFromSources(_ occupant: Mover.Occupant) async throws -> Visit? {
                let visit = try await migrateFromSources(slot, run, occupant)
                let isOver = run.reason != .read && slot.key.releaseWindow?.isOpen(for: env.applicationVersion) == false
                guard run.endsWindow || isOver, let moved = visit, moved.state == .moved else { return visit }
                brought = moved.after(brought)
                return nil
            }
            switch try await slot.route.probe() {
            case .tombstone(let tombstone):
                switch try await kept(.removed(tombstone)) {
                case .ordinary: break
                case .lookAgain: return nil
                case .settled(var visit):
                    if hasExpired, visit.state == .removed { visit.state = .expired }
                    return visit
                }
                if run.reason == .read { return Visit(state: .removed) }
                guard var visit = try await Reconciler(env).reconcile(slot, run, .removed(tombstone)) else { return nil }
                if hasExpired, visit.state == .removed { visit.state = .expired }
                return visit
            case .value(let record) where env.isExpired(record):
                if let decoded = try? await env.coder.read(record, slot), !decoded.isOutdated {
                    switch try await kept(.value(record, decoded.value)) {
                    case .lookAgain: return nil
                    case .ordinary, .settled: break
                    }
                }
                if run.reason == .read { return Visit(state: .expired) }
                switch try await Purger(env).purge(record, slot.untyped) {
                case .kept: return Visit(state: .expired, message: Self.kept)
                case .purged where !slot.key.hasMigration: return Visit(state: .expired)
                case .purged: hasExpired = true
                case .changed: break
                }
                return nil
            case .value(let record):
                let decoded: Decoded<Value>
                do {
                    decoded = try await env.coder.read(record, slot)
                    if decoded.isOutdated {
                        let conversion = try await Converter(env).conversion(of: record, to: decoded, slot, run.host)
                        isConverted = try await Converter(env).convert(conversion, slot) || isConverted
                        return nil
                    }
                } catch let error as StorageError where error.meansUndecodable {
                    return try await migratedFromSources(.undecodable(record, error))
                } catch {
                    if let chain = slot.key.evolution, env.coder.isOutdated(record.metadata, slot.key) {
                        env.ledger.failed(Converter.ledgerID(slot.key.entity, from: record.metadata.schemaVersion ?? chain.base), error)
                    }
                    throw error
                }
                var visit = Visit(state: .unchanged)
                switch try await kept(.value(record, decoded.value)) {
                case .ordinary: break
                case .lookAgain: return nil
                case .settled(let seen):
                    visit = seen
                    if isConverted, visit.state == .mirrored { visit.state = .converted }
                    return visit
                }
                if run.reason != .read {
                    guard let seen = try await Reconciler(env).reconcile(slot, run, .value(record, decoded.value)) else { return nil }
                    visit = seen
                }
                if isConverted, visit.state == .unchanged { visit.state = .converted }
                return visit
            case .corrupt(let corruption): return try await migratedFromSources(.corrupt(corruption))
            case .absent, .locked, .unavailable: return try await migratedFromSources(.none)
            }
        }
        return visit.after(brought)
    }

    /// Settles a key in its lane, to the end even if the caller is cancelled meanwhile.
    func visit<Value>(_ slot: Slot<Value>, _ run: MigrationRun) async throws -> Visit {
        try await env.unbroken { [self] in try await env.withLane(slot.route) { try await settle(slot, run) } }
    }

    private static let kept =
        "Its lifetime is over. A sweep removes it a day after one first found it so; until then it comes back if the clock is set back."

    // MARK: Looking elsewhere

    /// Looks for the value in its legacy locations. Nil means: the destination changed meanwhile, look at it again.
    private func migrateFromSources<Value>(_ slot: Slot<Value>, _ run: MigrationRun, _ occupant: Mover.Occupant) async throws -> Visit? {
        var foundEmpty: [AnyStorageMigration] = []
        for migration in try inOrder(slot, occupant) {
            switch try await Mover(env).attempt(migration, slot, run, occupant) {
            case .finished(let visit): return visit
            case .lookAgain: return nil
            case .foundNothing: foundEmpty.append(migration)
            case .waits: continue
            }
        }
        if try await isFilledMeanwhile(foundEmpty.reversed(), slot) { return nil }
        return try await Mover.emptiness(occupant, slot.route)
    }

    /// Looks at the sources again after a miss everywhere. Values move from the last source to the first and on to the destination: a second look in this direction meets one
    /// that moved during the first look.
    private func isFilledMeanwhile<Value>(_ migrations: [AnyStorageMigration], _ slot: Slot<Value>) async throws -> Bool {
        for migration in migrations {
            let skips = migration.step(for: Value.self)?.options.whenSourceUnavailable == .skip
            for source in migration.sources.reversed() {
                let route = try env.routes.route(for: source)
                guard route.slot != slot.id else { continue }
                switch try await route.read() {
                case .value, .corrupt: return true
                case .absent, .tombstone: continue
                case .locked: throw StorageError.locked(source.name, route.domain)
                // The value may have come here between the two looks.
                case .unavailable(let error): if !skips { throw StorageError.from(error, key: source.name) }
                }
            }
        }
        return false
    }

    /// The migrations in the order in which they are tried. An older shape in the slot itself is newer than any copy elsewhere.
    private func inOrder<Value>(_ slot: Slot<Value>, _ occupant: Mover.Occupant) throws -> [AnyStorageMigration] {
        let migrations = slot.key.migrations
        guard case .undecodable = occupant else { return migrations }
        let split = try migrations.map { migration in
            (migration, try migration.sources.contains { try env.routes.route(for: $0).slot == slot.id })
        }
        return split.filter(\.1).map(\.0) + split.filter { !$0.1 }.map(\.0)
    }

    // MARK: One step

    /// Runs one ready-made migration by itself: what its `migrate(using:context:)` does.
    func run<Value>(_ step: MigrationStep<Value>, for slot: Slot<Value>, _ run: MigrationRun) async throws -> MigrationResult {
        let start = env.runtime.clock.now
        let visit = try await env.withLane(slot.route) { () -> Visit in
            try await env.retrying(slot.name) { () -> Visit? in
                let occupant: Mover.Occupant
                switch try await slot.route.probe() {
                case .value(let record):
                    do {
                        _ = try await env.coder.decode(record, slot)
                        return Visit(state: .unchanged)
                    } catch let error as StorageError where error.meansUndecodable { occupant = .undecodable(record, error) }
                case .tombstone: return Visit(state: .removed)
                case .corrupt(let corruption): occupant = .corrupt(corruption)
                case .absent, .locked, .unavailable: occupant = .none
                }
                switch try await Mover(env).attempt(step, slot, run, occupant) {
                case .finished(let visit): return visit
                case .foundNothing, .waits: return Visit(state: .absent)
                case .lookAgain: return nil
                }
            }
        }
        return MigrationResult(visit, slot.name, start.duration(to: env.runtime.clock.now))
    }
}

extension MigrationResult {
    /// What a visit of a key did.
    init(_ visit: Visit, _ name: String, _ duration: Duration) {
        self.init(
            success: true, key: name, sources: visit.from, state: visit.state, bytes: visit.bytes, duration: duration)
    }
}

import BackendContract
import BackendRuntime

/// The state table of the protocol: the contents of a key's destination and legacy locations decide the next step.
/// `Docs/Design.md` has the table and the order of steps.
///
/// The destination decides. A crash can interrupt every function of the protocol at any point, and this or another
/// process can run it again. Correctness depends on preconditions and revisions, never on a value that was read before
/// an `await`.
struct Settler: EnginePart, Sendable {
    let engine: Engine

    /// Migrates the value of a key. In a sweep or when forced, also clears its legacy locations. The caller holds the
    /// key's lane.
    /// - Parameter wasAbsent: Whether a read of the destination found no value a moment ago. The first attempt then does
    ///   not read it again: the precondition of the write, or the read after all sources, notices a change.
    func settle<Value>(_ slot: Slot<Value>, _ run: MigrationRun, wasAbsent: Bool = false) async throws -> Visit {
        var settling = Settling(self, slot, run)
        settling.isKnownAbsent = wasAbsent
        var visit = try await slots.retrying(slot.name) { try await settling.attempt() }
        if run.reason != .read, visit.state == .removed || visit.state == .absent, slot.key.evolution?.keepsBackup == true {
            visit.residue += await backupsLeft(of: slot.untyped)
        }
        return visit.after(settling.brought)
    }

    /// Purges the backups that a process left which was killed while it removed the value.
    /// - Returns: A description of the backups that remain; otherwise an empty list.
    private func backupsLeft(of slot: UntypedSlot) async -> [String] {
        do {
            try await Backups(engine: engine).purge(slot)
            return []
        } catch { return ["the backups of \(slot.name): \((error as? StorageError)?.message ?? "the caller was cancelled")"] }
    }

    /// Settles a key in its lane. It runs to the end even if the caller is cancelled.
    func visit<Value>(_ slot: Slot<Value>, _ run: MigrationRun) async throws -> Visit {
        try await slots.unbroken { [self] in try await slots.withLane(slot.route) { try await settle(slot, run) } }
    }

    /// Settles a legacy location of another key, if its own key has a migration and its lane is free. The reason of the run also applies to it,
    /// because a sweep clears the legacy locations of a source too.
    /// - Returns: The visit; nil if the location needs none.
    func settleSource<Key: TypedKey>(_ key: Key, at route: Route, within run: MigrationRun) async throws -> Visit? {
        guard key.hasMigration, !slots.lanes.isHeldByCurrentChain(route.slot) else { return nil }
        return try await slots.withLane(route) {
            try await settle(Slot(key: key.typed, route: route), await program.run(run.reason, route.slot, within: run))
        }
    }

    /// Runs one ready-made migration of a key, as its `migrate(using:context:)` does.
    func run<Value>(_ step: MigrationStep<Value>, for slot: Slot<Value>, _ run: MigrationRun) async throws -> MigrationResult {
        let start = slots.runtime.clock.now
        let visit = try await slots.withLane(slot.route) { () -> Visit in
            try await slots.retrying(slot.name) { () -> Visit? in
                let occupant: Mover.Occupant
                switch try await slot.route.probe() {
                case .value(let record):
                    do {
                        _ = try await coder.decode(record, slot)
                        return Visit(state: .unchanged)
                    } catch let error as StorageError where error.meansUndecodable { occupant = .undecodable(record, error) }
                case .tombstone: return Visit(state: .removed)
                case .corrupt(let corruption): occupant = .corrupt(corruption)
                case .absent, .locked, .unavailable: occupant = .none
                }
                switch try await Mover(engine: engine).attempt(step, slot, run, occupant) {
                case .finished(let visit): return visit
                case .foundNothing, .waits: return Visit(state: .absent)
                case .lookAgain: return nil
                }
            }
        }
        return MigrationResult(visit, slot.name, start.duration(to: slots.runtime.clock.now))
    }
}

private let messageOfKept =
    "It has expired. A sweep removes it a day after a sweep first found it expired. Until then, it returns if the clock is set back."

/// The attempts to settle one key. Each attempt reads the destination again.
private struct Settling<Value: Codable & Sendable>: EnginePart {
    let engine: Engine
    let slot: Slot<Value>
    let run: MigrationRun
    /// Whether the next attempt begins with an absent destination, without a read.
    var isKnownAbsent = false
    /// Whether an attempt converted the value to the key's schema version.
    private var isConverted = false
    /// Whether an attempt purged an expired value.
    private var hasExpired = false
    /// The visit of earlier attempts that moved a value.
    private(set) var brought: Visit?

    init(_ settler: Settler, _ slot: Slot<Value>, _ run: MigrationRun) {
        engine = settler.engine
        (self.slot, self.run) = (slot, run)
    }

    private var reconciler: Reconciler { Reconciler(engine: engine) }

    /// Makes one attempt.
    /// - Returns: The visit; nil if the destination must be read again.
    mutating func attempt() async throws -> Visit? {
        if isKnownAbsent {
            isKnownAbsent = false
            return try await migrate(over: .none)
        }
        return switch try await slot.route.probe() {
        case .tombstone(let tombstone): try await settle(tombstone)
        case .value(let record) where coder.isExpired(record): try await settle(expired: record)
        case .value(let record): try await settle(record)
        case .corrupt(let corruption): try await migrate(over: .corrupt(corruption))
        case .absent, .locked, .unavailable: try await migrate(over: .none)
        }
    }

    private mutating func settle(_ tombstone: StorageTombstone) async throws -> Visit? {
        guard var visit = try await compare(.removed(tombstone)) else { return nil }
        if hasExpired, visit.state == .removed { visit.state = .expired }
        return visit
    }

    private mutating func settle(expired record: StorageRecord) async throws -> Visit? {
        if let decoded = try? await coder.read(record, slot), !decoded.isOutdated,
            case .lookAgain = try await inWindow(.value(record, decoded.value))
        {
            return nil
        }
        if run.reason == .read { return Visit(state: .expired) }
        switch try await Purger(engine: engine).purge(record, slot.untyped) {
        case .kept: return Visit(state: .expired, message: messageOfKept)
        case .purged where !slot.key.hasMigration: return Visit(state: .expired)
        case .purged: hasExpired = true
        case .changed: break
        }
        return nil
    }

    private mutating func settle(_ record: StorageRecord) async throws -> Visit? {
        let decoded: Decoded<Value>
        do {
            decoded = try await coder.read(record, slot)
            if decoded.isOutdated {
                let conversion = try await converter.conversion(of: record, to: decoded, slot)
                isConverted = try await converter.convert(conversion, slot) || isConverted
                return nil
            }
        } catch let error as StorageError where error.meansUndecodable {
            return try await migrate(over: .undecodable(record, error))
        } catch {
            if let chain = slot.key.evolution, coder.isOutdated(record.metadata, slot.key) {
                history.ledger.counts.failed(Converter.ledgerID(slot.key.entity, from: record.metadata.schemaVersion ?? chain.base), error)
            }
            throw error
        }
        guard var visit = try await compare(.value(record, decoded.value)) else { return nil }
        if isConverted, visit.state == .mirrored || visit.state == .unchanged { visit.state = .converted }
        return visit
    }

    /// Compares the content of the destination with the legacy locations, by the rules of a release window or by the ordinary state table.
    private mutating func compare(_ settled: Settled<Value>) async throws -> Visit? {
        switch try await inWindow(settled) {
        case .lookAgain: return nil
        case .settled(let visit): return visit
        case .ordinary where run.reason == .read: return Visit(state: settled.isRemoved ? .removed : .unchanged)
        case .ordinary: return try await reconciler.reconcile(slot, run, settled)
        }
    }

    /// Applies the rules of a release window to the content of the destination.
    private mutating func inWindow(_ settled: Settled<Value>) async throws -> WindowOutcome {
        let outcome = try await windows.settle(slot, run, settled)
        if case .lookAgain(let visit?) = outcome { brought = visit.after(brought) }
        return outcome
    }

    // MARK: Legacy locations

    /// Moves the value from its legacy locations to a destination without a usable value. If a release window is over,
    /// the destination is read again, because the moved value must also end the window.
    private mutating func migrate(over occupant: Mover.Occupant) async throws -> Visit? {
        let visit = try await migrateFromSources(occupant)
        let isOver = run.reason != .read && slot.key.releaseWindow?.isOpen(for: history.applicationVersion) == false
        guard run.endsWindow || isOver, let moved = visit, moved.state == .moved else { return visit }
        brought = moved.after(brought)
        return nil
    }

    private func migrateFromSources(_ occupant: Mover.Occupant) async throws -> Visit? {
        var foundEmpty: [AnyStorageMigration] = []
        for migration in try inOrder(occupant) {
            switch try await Mover(engine: engine).attempt(migration, slot, run, occupant) {
            case .finished(let visit): return visit
            case .lookAgain: return nil
            case .foundNothing: foundEmpty.append(migration)
            case .waits: continue
            }
        }
        if try await isFilled(foundEmpty.reversed()) { return nil }
        return try await Mover.emptiness(occupant, slot.route)
    }

    /// Reads the sources again after none had a value. Values move from the last source to the first, and then to the
    /// destination. A second read in this direction finds a value that moved during the first one.
    private func isFilled(_ migrations: [AnyStorageMigration]) async throws -> Bool {
        for migration in migrations {
            let skips = migration.step(for: Value.self)?.options.whenSourceUnavailable == .skip
            for source in migration.sources.reversed() {
                let route = try slots.routes.route(for: source)
                guard route.slot != slot.id else { continue }
                switch try await route.read() {
                case .value(let record) where coder.isExpired(record): continue
                case .value, .corrupt: return true
                case .absent, .tombstone: continue
                case .locked: throw StorageError.locked(source.name, route.domain)
                // The value may have moved here between the two reads.
                case .unavailable(let error): if !skips { throw StorageError.from(error, key: source.name) }
                }
            }
        }
        return false
    }

    /// Returns the migrations in the order in which they are tried. An older shape in the slot itself is newer than any
    /// copy in another slot.
    private func inOrder(_ occupant: Mover.Occupant) throws -> [AnyStorageMigration] {
        let migrations = slot.key.migrations
        if case .none = occupant { return migrations }
        let split = try migrations.map { migration in
            (migration, try migration.sources.contains { try slots.routes.route(for: $0).slot == slot.id })
        }
        return split.filter(\.1).map(\.0) + split.filter { !$0.1 }.map(\.0)
    }
}

extension MigrationResult {
    /// Creates the result of a visit.
    init(_ visit: Visit, _ name: String, _ duration: Duration) {
        self.init(
            success: true, key: name, sources: visit.from, state: visit.state, bytes: visit.bytes, duration: duration)
    }
}

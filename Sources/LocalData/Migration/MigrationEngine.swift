import BackendContract
import BackendRuntime
import Synchronization

/// The protocol by which values move: what is read when, in which order things become durable, and when an older copy may go.
///
/// The destination decides. Every function here may be interrupted by a crash at any point and run again by this or another process; correctness rests
/// on preconditions and revisions, never on what was read before an `await`. `Docs/Design.md` has the state table and the order.
final class MigrationEngine: Sendable {
    let routes: RouteTable
    let records: RecordCoder
    let lanes: KeyLanes
    let flights: Flights
    let ledger: MigrationLedger
    let quarantine: Quarantine
    let registry = KeyRegistry()
    let hub: ChangeHub
    let runtime: Runtime
    let safeguards: Safeguards
    /// How many records are read, and written in one commit, at a time.
    let pageSize: Int

    init(
        routes: RouteTable, records: RecordCoder, ledger: MigrationLedger, quarantine: Quarantine, runtime: Runtime,
        safeguards: Safeguards, pageSize: Int
    ) {
        self.routes = routes
        self.records = records
        self.ledger = ledger
        self.quarantine = quarantine
        self.runtime = runtime
        self.safeguards = safeguards
        self.pageSize = pageSize
        lanes = KeyLanes(areKept: safeguards.contains(.lanes))
        flights = Flights(tasks: runtime.tasks)
        hub = ChangeHub(tasks: runtime.tasks)
    }

    /// How often a step is begun anew because somebody else changed the slot in between.
    static let attempts = 64

    /// What stands at the destination when a value is looked for elsewhere.
    enum Occupant: Sendable {
        /// Nothing.
        case none
        /// A record that does not decode as the key's type.
        case undecodable(StorageRecord, any Error)
        /// Bytes that are not a record.
        case corrupt(StorageCorruption)
    }

    /// What one visit of a key did.
    struct Visit: Sendable {
        var state: MigrationReport.State
        var from: String?
        var protectionBefore: ProtectionLevel?
        var bytes = 0
        var residue: [String] = []
        var message: String?
    }

    // MARK: Reading

    /// The value of a key and the record it stands in: from its place, or from where it used to be.
    func current<Value>(_ key: StorageKey<Value>) async throws -> (StorageRecord?, Value?) {
        try await current(key, try routes.route(for: key))
    }

    /// The same, for a key whose route is known.
    func current<Value>(_ key: StorageKey<Value>, _ route: Route) async throws -> (StorageRecord?, Value?) {
        try await key.prepare?(self)
        if let found = try await lookInPlace(key, route, afterMigration: false) { return found.pair }
        if lanes.isHeldByCurrentChain(route.slot) {
            return try await lookInPlace(key, route, afterMigration: true)?.pair ?? (nil, nil)
        }
        return try await migrateAndLook(key, route)
    }

    /// A value that was found in its place, or the proof that there is none.
    struct Found<Value: Sendable>: Sendable {
        var pair: (StorageRecord?, Value?)
    }

    /// Looks at the destination. Nil means: look elsewhere.
    private func lookInPlace<Value>(_ key: StorageKey<Value>, _ route: Route, afterMigration: Bool) async throws -> Found<Value>? {
        switch try await route.read() {
        case .value(let record):
            // An expired value is no value any more, and no older copy comes in its place.
            if record.metadata.isExpired(at: runtime.clock.wallSeconds) {
                return safeguards.contains(.expiryDecides) || afterMigration ? Found(pair: (nil, nil)) : nil
            }
            // The steps of a chain run where their result is written.
            if !afterMigration, records.isOutdated(record.metadata, key) { return nil }
            do {
                let decoded = try await records.decodeTelling(record, key, route)
                return decoded.isOutdated && !afterMigration ? nil : Found(pair: (record, decoded.value))
            } catch let error as StorageError {
                guard key.hasMigration, !afterMigration, Self.meansUndecodable(error) else { throw error }
                return nil
            }
        case .tombstone: return Found(pair: (nil, nil))
        case .absent: return key.hasMigration && !afterMigration ? nil : Found(pair: (nil, nil))
        case .corrupt(let corruption):
            guard key.hasMigration, !afterMigration else { throw route.corrupted(corruption) }
            return nil
        case .locked: throw StorageError.locked(key.name, route.domain)
        case .unavailable(let error): throw StorageError.from(error, key: key.name)
        }
    }

    /// Runs the key's migrations, once for everyone who asks at the same time, and looks again: what another process has done since then counts.
    private func migrateAndLook<Value>(_ key: StorageKey<Value>, _ route: Route) async throws -> (StorageRecord?, Value?) {
        if lanes.isInChain {
            // What a migration asks for is waited for in the lanes, where a circle is noticed, and never in another's flight.
            try await lanes.withLane(route.slot, keyName: key.name) { _ = try await settle(key, route, try await context(.read, route)) }
        } else {
            try await flights.join(Flights.Work(slot: route.slot, key)) {
                try await self.lanes.withLane(route.slot, keyName: key.name) {
                    _ = try await self.settle(key, route, try await self.context(.read, route))
                }
                await self.ledger.flush()
            }
        }
        return try await lookInPlace(key, route, afterMigration: true)?.pair ?? (nil, nil)
    }

    /// Runs work to its end even if its caller is cancelled meanwhile: a migration is not stopped between two of its steps.
    func unbroken<R: Sendable>(_ work: @escaping @Sendable () async throws -> R) async throws -> R {
        try Task.checkCancellation()
        return try await withCheckedThrowingContinuation { continuation in
            runtime.tasks.spawn {
                let result: Result<R, any Error>
                do { result = .success(try await work()) } catch { result = .failure(error) }
                continuation.resume(with: result)
            }
        }
    }

    private static func expired<Value>(_ key: StorageKey<Value>) -> StorageError {
        StorageError(StorageError.notFound, key: key.name, "The value has expired.")
    }

    static func meansUndecodable(_ error: StorageError) -> Bool {
        [StorageError.undecodable, StorageError.corrupted, StorageError.encryptionKeyMismatch].contains(error.code)
    }

    /// What the migrations of a key are told.
    /// - Parameter outer: What the migration was told that reads the key as its source: it counts for a key that is in no catalog itself.
    func context(
        _ reason: MigrationContext.Reason, _ route: Route, within outer: MigrationContext? = nil
    ) async throws -> MigrationContext {
        guard let catalog = registry.catalog(of: route.slot) else {
            return try routes.context(reason, previousVersion: outer?.previousVersion)
        }
        return try routes.context(reason, previousVersion: await ledger.applicationVersion(of: catalog))
    }

    // MARK: The state table

    /// Brings a key's value to its place, and in a sweep or when forced also clears what older places still hold. Called while the key's lane is held.
    func settle<Value>(_ key: StorageKey<Value>, _ route: Route, _ context: MigrationContext) async throws -> Visit {
        var isConverted = false
        var hasExpired = false
        for _ in 0..<Self.attempts {
            try Task.checkCancellation()
            switch try await route.read() {
            case .locked: throw StorageError.locked(key.name, route.domain)
            case .unavailable(let error): throw StorageError.from(error, key: key.name)
            case .tombstone(let tombstone):
                if context.reason == .read { return Visit(state: .removed) }
                if var visit = try await reconcile(key, route, context, .removed(tombstone)) {
                    if hasExpired, visit.state == .removed { visit.state = .expired }
                    return visit
                }
            case .value(let record):
                if record.metadata.isExpired(at: runtime.clock.wallSeconds) {
                    if !safeguards.contains(.expiryDecides), context.reason == .read {
                        if let visit = try await fill(key, route, context, .undecodable(record, Self.expired(key))) { return visit }
                        continue
                    }
                    if context.reason == .read { return Visit(state: .expired) }
                    if try await purge(record, key, route) {
                        if !key.hasMigration { return Visit(state: .expired) }
                        hasExpired = true
                    }
                    continue
                }
                let decoded: Decoded<Value>
                do { decoded = try await records.decodeTelling(record, key, route) } catch let error as StorageError
                    where Self.meansUndecodable(error)
                {
                    if let visit = try await fill(key, route, context, .undecodable(record, error)) { return visit }
                    continue
                }
                if decoded.isOutdated {
                    isConverted = try await convert(record, to: decoded, key, route) || isConverted
                    continue
                }
                var visit = Visit(state: .unchanged)
                if context.reason != .read {
                    guard let seen = try await reconcile(key, route, context, .held(record, decoded.value)) else { continue }
                    visit = seen
                }
                if isConverted, visit.state == .unchanged { visit.state = .converted }
                return visit
            case .absent:
                if let visit = try await fill(key, route, context, .none) { return visit }
            case .corrupt(let corruption):
                if let visit = try await fill(key, route, context, .corrupt(corruption)) { return visit }
            }
        }
        throw StorageError(
            StorageError.conflict, key: key.name, "The value is being changed by others again and again. Try again when they are done.")
    }

    /// Looks for the value where it used to be. Nil means: the destination changed meanwhile, look at it again.
    private func fill<Value>(
        _ key: StorageKey<Value>, _ route: Route, _ context: MigrationContext, _ occupant: Occupant
    ) async throws -> Visit? {
        var foundEmpty: [AnyStorageMigration] = []
        for migration in try inOrder(key, route, occupant) {
            switch try await attempt(migration, key, route, context, occupant) {
            case .finished(let visit): return visit
            case .lookAgain: return nil
            case .foundNothing: foundEmpty.append(migration)
            case .waits: continue
            }
        }
        // Nothing anywhere, it seems. Values travel from the last source to the first and on to the destination: looked at in this direction, one
        // that was on its way during the first look is met by the second.
        for migration in safeguards.contains(.secondLook) ? foundEmpty.reversed() : [] {
            let skips = (migration.plan as? MigrationStep<Value>)?.options.whenSourceUnavailable == .skip
            for source in migration.sources.reversed() {
                let sourceRoute = try routes.route(for: source)
                guard sourceRoute.slot != route.slot else { continue }
                switch try await sourceRoute.read() {
                case .value, .corrupt: return nil
                case .absent, .tombstone: continue
                case .locked: throw StorageError.locked(source.name, sourceRoute.domain)
                // The value may have come here between the two looks.
                case .unavailable(let error): if !skips { throw StorageError.from(error, key: source.name) }
                }
            }
        }
        return try await emptiness(occupant, route)
    }

    /// What it means for a destination that no value was found for it: that it is empty, or a failure if something stands there that cannot be read. Nil means:
    /// it changed meanwhile.
    func emptiness(_ occupant: Occupant, _ route: Route) async throws -> Visit? {
        switch (occupant, try await route.read()) {
        case (.none, .absent): return Visit(state: .absent)
        case (.undecodable(let record, let error), .value(let now)) where now.revision == record.revision: throw error
        case (.corrupt(let corruption), .corrupt(let now)) where now == corruption: throw route.corrupted(corruption)
        default: return nil
        }
    }

    /// The migrations in the order in which they are tried. What stands in the slot itself, in an older shape, is newer than any copy elsewhere.
    private func inOrder<Value>(_ key: StorageKey<Value>, _ route: Route, _ occupant: Occupant) throws -> [AnyStorageMigration] {
        guard case .undecodable = occupant else { return key.migrations }
        let split = try key.migrations.map { migration in
            (migration, try migration.sources.contains { try routes.route(for: $0).slot == route.slot })
        }
        return split.filter(\.1).map(\.0) + split.filter { !$0.1 }.map(\.0)
    }

    /// What came of one migration.
    enum Attempt {
        /// The key is settled.
        case finished(Visit)
        /// The destination was changed meanwhile.
        case lookAgain
        /// Every source is empty.
        case foundNothing
        /// Its condition does not hold, or it does not make a value yet.
        case waits
    }
}

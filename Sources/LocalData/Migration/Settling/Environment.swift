import BackendContract
import BackendRuntime

/// What the parts of the protocol work with. It holds no state of its own.
final class Environment: Sendable {
    let routes: RouteTable
    let coder: RecordCoder
    let committer: Committer
    let hub: ChangeHub
    let lanes: KeyLanes
    let flights: Flights
    let ledger: MigrationLedger
    let expiries: ExpiryWatch
    let quarantine: Quarantine
    let witnesses: PresenceRecords
    let registry: KeyRegistry
    let runtime: Runtime
    /// The version of the program; nil for one that does not say.
    let applicationVersion: String?
    /// Receives the events that operators see.
    let events: EventReport
    let program: ProgramCode
    let lists = SplitLists()
    /// How many records of a collection are read, and written in one commit, at a time.
    let pageSize: Int

    init(
        routes: RouteTable, coder: RecordCoder, ledger: MigrationLedger, quarantine: Quarantine, witnesses: PresenceRecords,
        registry: KeyRegistry, runtime: Runtime, applicationVersion: String?, pageSize: Int, events: EventReport,
        rehearsal: RehearsalNotes? = nil
    ) {
        (self.routes, self.coder, self.ledger, self.quarantine, self.witnesses) = (routes, coder, ledger, quarantine, witnesses)
        (self.registry, self.runtime, self.applicationVersion) = (registry, runtime, applicationVersion)
        (self.pageSize, self.events, program) = (pageSize, events, ProgramCode(rehearsal: rehearsal))
        expiries = ExpiryWatch(ledger, runtime: runtime)
        lanes = KeyLanes(gate: routes.gate)
        flights = Flights(tasks: runtime.tasks)
        hub = ChangeHub(tasks: runtime.tasks, clock: runtime.clock)
        committer = Committer(hub: hub) { [ledger, expiries] domain, expires in
            ledger.uses(domain)
            if expires { await expiries.forgetUnsteady() }
        }
    }

    /// The attempts at a step that starts over because another process or task changed the slot in between.
    var attempts: Attempts { Attempts(runtime) }

    /// Which stores the program has locked.
    var gate: LockGate { routes.gate }

    /// The wall clock, in seconds since 1970.
    var now: Double { runtime.clock.wallSeconds }

    /// The start of the machine, by a name that no other start has; one that cannot be told apart has a name that counts for none.
    var bootName: String { runtime.host.bootID ?? "unknown" }

    func isExpired(_ record: StorageRecord) -> Bool { record.metadata.isExpired(at: now) }

    /// Whether a record's lifetime has been over for so long that it may be purged. If not, the ledger notes that it was found expired.
    func mayPurge(_ record: StorageRecord) async -> Bool {
        guard let expiry = record.metadata.expiresAt, isExpired(record) else { return false }
        return await expiries.mayPurge(expiredAt: expiry)
    }

    /// Fails when a write would replace a value of a later version than its own. One that has expired may be replaced.
    /// - Throws: ``StorageError`` with `incompatibleSchema`.
    func requireNotLater(_ probe: StorageProbe, _ prepared: EncodedValue) throws {
        guard !prepared.facts.replacesLaterVersions, let record = probe.record, !isExpired(record) else { return }
        try coder.requireNotLater(record.metadata, prepared.shape.version, prepared.route.keyName, prepared.shape.entity)
    }

    /// Runs work while the caller's chain of calls alone may change a slot.
    func withLane<R>(_ route: Route, _ work: () async throws -> R) async throws -> R {
        try await lanes.withLane(route.slot, keyName: route.keyName, work)
    }

    /// Runs work to its end even if its caller is cancelled meanwhile: a migration never stops between two of its steps.
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

    /// Repeats a read-change-write as long as it returns nil, which means "changed meanwhile".
    func retrying<R>(_ name: String, _ body: () async throws -> R?) async throws -> R {
        for await _ in attempts {
            try Task.checkCancellation()
            if let result = try await body() { return result }
        }
        throw StorageError(
            StorageError.conflict, key: name, "Other processes or tasks keep changing the value. Try again when they are done.")
    }

    // MARK: Runs

    /// What the migrations of a key are told.
    /// - Parameter outer: The run that reads the key as a source: its facts count for a key that is in no catalog itself.
    func run(_ reason: MigrationReason, _ slot: PhysicalSlot, within outer: MigrationRun? = nil) async -> MigrationRun {
        let receiver = outer?.receiver ?? program.receiver
        guard let catalog = registry.catalog(of: slot) else {
            return MigrationRun(reason: reason, previousVersion: outer?.previousVersion, receiver: receiver)
        }
        return MigrationRun(reason: reason, previousVersion: await ledger.applicationVersion(of: catalog), receiver: receiver)
    }
}

extension StorageError {
    /// Whether the stored bytes are not a value that this key can read.
    var meansUndecodable: Bool {
        [StorageError.undecodable, StorageError.corrupted, StorageError.encryptionKeyMismatch].contains(code)
    }

    /// Whether the error says "not now" rather than "not so".
    package var isTransient: Bool {
        [
            StorageError.locked, StorageError.unavailable, StorageError.timedOut, StorageError.promptDismissed, StorageError.cancelled,
            StorageError.conflict,
        ]
        .contains(code)
    }
}

import BackendContract
import BackendRuntime
import Logging
import Sealing

/// The typed, async front door to everything a program keeps on the machine.
///
/// ```swift
/// try await StorageRouter.shared.registerCatalog(AppKeys(), migrateImmediately: true)
/// let token = try await StorageRouter.shared.get(.modernToken)
/// ```
///
/// A key says where its value lives; the router fetches it from there, or from where it used to be, and never loses it doing so. Stores are opened when they
/// are first used. Every function throws ``StorageError``, or what the caller's own closure threw, and nothing else: ``StorageErrorCodes/cancelled`` for a
/// caller that was cancelled.
public actor StorageRouter {
    nonisolated let env: Environment
    nonisolated let stores: any StoreProvider
    /// Follows locks of the keyring; nil where the configuration does not ask for it.
    private nonisolated let follower: KeyringFollower?

    /// The configuration that the router was made with.
    public nonisolated let configuration: StorageConfiguration

    /// Creates a router. It never fails and opens nothing.
    public init(configuration: StorageConfiguration) {
        self.configuration = configuration
        let runtime = configuration.runtime
        let registry = KeyRegistry()
        let ledger = MigrationLedger(
            Wiring.ledgerStore(configuration), runtime: runtime, counts: LedgerHistory(runtime, version: configuration.applicationVersion))
        let keys = SealingKeys(
            pins: ledger.keyPins, uses: Wiring.keyUses(configuration), clock: runtime.clock, randomBytes: runtime.randomBytes)
        let quarantine = Wiring.quarantineStore(configuration)
        let wiring = Wiring(configuration: configuration, keys: keys, sealed: SealedContent(configuration, quarantine: quarantine))
        let sources: @Sendable (KeySourceReference) throws -> any KeySource = { try wiring.keySource($0) }
        let sealedIDs: @Sendable (any KeySource) async throws(BackendError) -> Set<[UInt8]> = {
            (source) throws(BackendError) in try await wiring.sealedIDs(of: source)
        }
        let seals = RecordSeals(
            keys: keys, sources: sources, otherSealedIDs: sealedIDs, application: configuration.storeContext("", "").application,
            randomBytes: runtime.randomBytes)
        let witnesses = PresenceRecords(Wiring.witnessStore(configuration), runtime: runtime)
        let env = Environment(
            routes: RouteTable(stores: wiring, judge: seals, witnesses: witnesses),
            coder: RecordCoder(seals: seals, runtime: runtime), ledger: ledger,
            quarantine: Quarantine(
                quarantine, damagedFiles: Wiring.damagedFiles(configuration), seals, otherSources: configuration.otherKeySources,
                runtime: runtime),
            witnesses: witnesses, registry: registry, runtime: runtime, applicationVersion: configuration.applicationVersion,
            pageSize: configuration.pageSize, logger: configuration.logger)
        stores = wiring
        self.env = env
        follower = configuration.locksWithKeychain.map { KeyringFollower(env, interval: $0) }
        follower?.start()
    }

    /// Creates a router over the stores of another one that records instead of writing.
    init(rehearsing router: StorageRouter) {
        var configuration = router.configuration
        configuration.closesWhenReleased = false
        // What a rehearsal finds is told by whoever asked for it.
        configuration.logger = Logger(label: configuration.logger.label) { _ in SwiftLogNoOpLogHandler() }
        self.configuration = configuration
        follower = nil
        (env, stores) = router.env.rehearsal(over: router.stores)
    }

    /// Closes what was opened, and forgets the sealing keys. Nothing is written that was not written before; ``shutdown()`` finishes it first.
    deinit {
        follower?.stop()
        guard configuration.closesWhenReleased else { return }
        configuration.runtime.tasks.spawn { [env, stores] in
            await Self.close(env, stores)
            await env.coder.seals.keys.forgetAll()
        }
    }

    /// Tells whether a program may use a key that leads to a slot; nil where it may use every key.
    nonisolated var admits: ((PhysicalSlot) -> Bool)? {
        configuration.requiresRegistration ? { [registry = env.registry] in registry.contains($0) } : nil
    }

    /// The slot of a key that a program uses by itself, as opposed to one that a migration reads.
    nonisolated func entry<Value>(_ key: StorageKey<Value>) throws -> Slot<Value> { try env.routes.slot(for: key, if: admits) }

    /// Runs a call. A cancellation that changed nothing is told as one that may have: by the code `cancelled`.
    /// - Parameter isStepwise: Whether the call may have done some of its steps.
    package static func cancellable<R>(_ name: String, isStepwise: Bool = false, _ body: () async throws -> R) async throws -> R {
        do { return try await body() } catch is CancellationError { throw StorageError.cancelled(name, isStepwise: isStepwise) }
    }

    // MARK: One value

    /// Gets the value of a key, or the key's default when there is no value; throws `notFound` when the key has no default. ``value(for:)`` returns nil instead.
    ///
    /// A value that is not in its place is fetched from where it used to be: re-secured, made durable, read back, and only then removed there.
    /// A value that is in its place, and can be read without waiting, is read on the caller's actor; everything else on the pool.
    /// - Returns: The value, or the key's default.
    /// - Throws: ``StorageError``: `notFound` when there is neither; `undecodable`, `locked`, `unavailable`, `migrationFailed` and others. Nothing is lost by a failed read.
    public nonisolated func get<Value>(_ key: StorageKey<Value>) async throws -> Value {
        if let value = try await value(for: key) ?? key.defaultValue { return value }
        throw StorageError(
            StorageError.notFound, key: key.name,
            "There is no value in \(key.domain) nor in any legacy location, and the key has no default.")
    }

    /// Gets the stored value of a key, or nil when there is none: it was removed, or is proven to be nowhere. Unlike ``get(_:)``, it ignores the key's default.
    /// - Throws: As ``get(_:)``, without `notFound`.
    public nonisolated func value<Value>(for key: StorageKey<Value>) async throws -> Value? {
        let reader = ValueReader(env)
        switch reader.immediateRead(key, try env.routes.route(for: key, if: admits)) {
        case .answer(let value): return value
        case .unanswered(let seen):
            return try await Self.cancellable(key.name) { try await reader.read(try entry(key), self, seen: seen).value }
        }
    }

    /// Stores a value; durable, as far as the domain's store is, when it returns.
    /// - Parameters:
    ///   - value: The value.
    ///   - key: The key.
    ///   - lifetime: How long the value stays valid from now on, by the wall clock; nil for the key's own lifetime. A migration keeps the time that is left.
    ///   - replacingLaterVersions: Whether to replace a value of a later version than the key's, too. What a later program stored is lost then. Without it such a value is
    ///     refused, also when it arrives during this call; one that has expired is not.
    /// - Throws: ``StorageError``: `incompatibleSchema` when a value of a later version stands there; nothing was changed then. Its `outcome` says whether the value may
    ///   have been stored.
    @concurrent
    public nonisolated func set<Value>(
        _ value: Value, for key: StorageKey<Value>, lifetime: Duration? = nil, replacingLaterVersions: Bool = false
    ) async throws {
        try await Self.cancellable(key.name) {
            var attributes = WriteAttributes(replacesLaterVersions: replacingLaterVersions)
            if let lifetime { attributes.expiry = .after(lifetime) }
            try await ValueWriter(env).set(value, try entry(key), attributes, self)
        }
    }

    /// What a key's own place holds, with what is known of it beside the value, also when it has expired: the way to ask for a stale value.
    ///
    /// A value of an earlier shape is brought to the key's, and is not written back. Legacy locations are not read.
    /// - Returns: The value and what is known of it; nil when it is absent or was removed.
    /// - Throws: As ``get(_:)``, without `notFound`.
    @concurrent
    public nonisolated func storedValue<Value>(for key: StorageKey<Value>) async throws -> StoredValue<Value>? {
        try await Self.cancellable(key.name) { try await ValueReader(env).stored(try entry(key), self) }
    }

    /// Puts back the bytes that a key's value had before its chain of versions changed it, if the chain keeps them: ``TypedEvolution/keepingBackup()``.
    ///
    /// The present value becomes a backup of its own version: nothing is lost, and naming that version brings it back. A restored value is brought to the
    /// chain's end again by the next read of a program whose key has the chain.
    /// - Parameters:
    ///   - key: The key.
    ///   - version: The version to restore; by default the latest that is kept and earlier than the key's.
    /// - Returns: The version that was restored; nil when there is no backup.
    /// - Throws: ``StorageError``; nothing was changed then, unless its outcome says otherwise.
    @concurrent
    @discardableResult
    public nonisolated func restoreBackup<Value>(for key: StorageKey<Value>, version: Int? = nil) async throws -> Int? {
        try await Self.cancellable(key.name, isStepwise: true) {
            let slot = try entry(key)
            return try await env.unbroken { [env] in try await env.withLane(slot.route) { try await Backups(env).restore(slot, version) } }
        }
    }

    /// Reads, changes and writes a value as one step, also between processes where the store allows it; durable when it returns.
    /// - Parameters:
    ///   - key: The key.
    ///   - body: Changes the value. An absent value begins as the key's default, and as nil for a key without one; setting it to nil removes the value. It may run again when another process or task changed the value meanwhile.
    /// - Returns: What `body` returned the last time.
    /// - Throws: What `body` throws, with nothing changed; ``StorageError``, `conflict` when others were faster 64 times in about two seconds.
    @concurrent
    @discardableResult
    public nonisolated func update<Value, R: Sendable>(
        _ key: StorageKey<Value>, _ body: @Sendable (inout Value?) throws -> R
    ) async throws -> R {
        try await Self.cancellable(key.name) {
            try await ValueWriter(env).update(try entry(key), self, startingWith: key.defaultValue, body)
        }
    }

    /// Reads, changes and writes a value as one step, beginning with a value of the caller's when it is absent.
    /// - Parameters:
    ///   - key: The key.
    ///   - default: What the body starts with when the value is absent, whatever default the key has.
    ///   - body: Changes the value. It may run again when another process or task changed the value meanwhile.
    @concurrent
    @discardableResult
    public nonisolated func update<Value, R: Sendable>(
        _ key: StorageKey<Value>, default: Value, _ body: @Sendable (inout Value) throws -> R
    ) async throws -> R {
        try await Self.cancellable(key.name) {
            try await ValueWriter(env).update(try entry(key), self, startingWith: `default`) { (value: inout Value?) in
                var present = value ?? `default`
                let answer = try body(&present)
                value = present
                return answer
            }
        }
    }

    /// Purges the backups of a value's earlier versions, once they are not needed any more; durable when it returns. Removing the value does it too.
    /// - Throws: ``StorageError``; repeating it is harmless.
    @concurrent
    public nonisolated func purgeBackups<Value>(for key: StorageKey<Value>) async throws {
        try await Self.cancellable(key.name, isStepwise: true) {
            let slot = try entry(key).untyped
            try await env.withLane(slot.route) { try await Backups(env).purge(slot) }
        }
    }

    /// Removes a value, every older copy of it, and what is kept of its earlier versions. With a migration a tombstone stays, so that no older copy comes back; durable when it returns.
    ///
    /// Repeating it is harmless. A value of a later version is removed too: removing a value does not misread it.
    /// - Throws: ``StorageError``: `residueRemains` with the outcome `applied` when the value is removed and an older copy could not be.
    @concurrent
    public nonisolated func remove<Value>(_ key: StorageKey<Value>) async throws {
        try await Self.cancellable(key.name) { try await ValueWriter(env).remove(try entry(key), self) }
    }

    /// Whether the key's own place holds a value. Legacy locations are not read.
    /// - Throws: ``StorageError`` when that cannot be known.
    @concurrent
    public nonisolated func exists<Value>(_ key: StorageKey<Value>) async throws -> Bool {
        try await Self.cancellable(key.name) { try await ValueReader(env).exists(try entry(key), self) }
    }

    /// The current value first, then every change that this process makes, in the order of the commits; changes of other processes as they are noticed.
    ///
    /// Nil means an absent value. When more changes wait than a bound, only the latest is kept. A read that fails ends the sequence with its error.
    public nonisolated func values<Value>(for key: StorageKey<Value>) -> some AsyncSequence<Value?, any Error> & Sendable {
        ValueSequence(router: self, key: key)
    }

    /// Changes several keys of one store in one durable commit, or none of them.
    ///
    /// Nothing is durable before the end of the batch. A later change of a key in the same batch replaces an earlier one.
    /// - Parameter body: Collects the changes; when it throws, nothing happens.
    /// - Throws: ``StorageError``: `unsupported` when the keys are of several stores, or their store cannot commit several changes at once;
    ///   `residueRemains` with the outcome `applied` when a removed value's older copy remains. What `body` throws.
    @concurrent
    public nonisolated func batch(_ body: @Sendable (inout StorageBatch) throws -> Void) async throws {
        try await Self.cancellable("storage") {
            var batch = StorageBatch()
            try body(&batch)
            for change in batch.changes { try requireRegistered(change.key.base) }
            try await commit(batch)
        }
    }

    private nonisolated func requireRegistered(_ key: any TypedKey) throws {
        func open<Key: TypedKey>(_ key: Key) throws { _ = try entry(key.typed) }
        try open(key)
    }

    /// Commits a batch whose keys may be used.
    nonisolated func commit(_ batch: StorageBatch) async throws {
        let changes = try batch.changes.map { change in
            BatchWriter.Change(try env.routes.slot(change.key.base), try change.prepare?(env))
        }
        try await BatchWriter(env).commit(changes, self)
    }
}

extension StorageRouter: MigrationHost {
    nonisolated func prepare(_ collection: any TypedCollection) async throws {
        func open<Collection: TypedCollection>(_ collection: Collection) async throws {
            try await RecordGatherer(env).requirePrepared(collection.typed, self)
        }
        try await open(collection)
    }
}

import BackendContract
import BackendRuntime
public import Foundation
import Logging
import Sealing

/// Reads and writes all data that a program keeps on the machine: settings, secrets, documents and records.
///
/// Create one router for each program, or use ``shared``. Declare each value as a ``StorageKey``, and each set of
/// records as a ``StorageCollection``. They name the store of a value and its legacy locations, where earlier versions
/// of the program kept it. The router reads the value from its store, or migrates it from a legacy location without
/// ever losing it.
///
/// A router opens a store at its first use. A value that was set is durable when the call returns, as far as its store
/// is durable. All functions can be called from any task and any actor. Every function throws either ``StorageError``
/// or the error of a closure that the caller passed. A cancelled caller gets ``StorageErrorCodes/cancelled``.
///
/// ```swift
/// let storage = StorageRouter(configuration: .xdg(applicationID: "com.example.notes"))
/// do {
///     let width = try await storage.get(.width)  // 800, the key's default
///     try await storage.set(width + 100, for: .width)  // durable when it returns
/// } catch StorageError.noSpace {
///     // The disk is full. The stored value is unchanged.
/// }
/// ```
public actor StorageRouter: EnginePart {
    nonisolated let engine: Engine
    nonisolated let stores: any StoreProvider
    /// Overwrites sealing keys in memory when their keyring is locked; nil if the configuration does not ask for it.
    private nonisolated let follower: KeyringFollower?

    /// The configuration of the router.
    public nonisolated let configuration: StorageConfiguration
    /// The last failures of the stores.
    nonisolated let failures = StoreFailures()
    /// Encrypts the cursors of ordered pages.
    nonisolated let cursorSeal = CursorSeal()

    /// Creates a router. It never fails and opens nothing.
    ///
    /// Two routers of one program may use the same configuration, but one router is enough. Close it with
    /// ``shutdown(waitingAtMost:)`` before the process exits.
    ///
    /// ```swift
    /// let storage = StorageRouter(configuration: .service(applicationID: "com.example.shop", version: "2.0"))
    /// print(await storage.status(of: .userDefaults))  // the first use of a store opens it
    /// ```
    public init(configuration: StorageConfiguration) {
        self.configuration = configuration
        let runtime = configuration.runtime
        let ledger = Wiring.ledger(configuration)
        let keys = SealingKeys(
            pins: ledger.keyPins, uses: Wiring.keyUses(configuration), clock: runtime.clock, randomBytes: runtime.randomBytes)
        let quarantine = Wiring.quarantineStore(configuration)
        let wiring = Wiring(configuration: configuration, keys: keys, sealed: SealedContent(configuration, quarantine: quarantine))
        let sources: @Sendable (KeySourceReference) throws -> any KeySource = { try wiring.keySource($0) }
        let sealedIDs: @Sendable (any KeySource) async throws(BackendError) -> Set<[UInt8]> = {
            (source) throws(BackendError) in try await wiring.sealedIDs(of: source)
        }
        let seals = RecordSeals(
            keys: keys, sources: sources, otherSealedIDs: sealedIDs, application: configuration.sealedApplication,
            randomBytes: runtime.randomBytes)
        let witnesses = PresenceRecords(Wiring.witnessStore(configuration), runtime: runtime)
        let coder = RecordCoder(seals: seals, runtime: runtime)
        let history = History(
            ledger, ExpiryWatch(ledger, runtime: runtime),
            Quarantine(
                quarantine, damagedFiles: Wiring.damagedFiles(configuration), seals, otherSources: configuration.otherKeySources,
                runtime: runtime),
            KeyRegistry(), configuration.events, applicationVersion: configuration.applicationVersion)
        let slots = SlotAccess(RouteTable(stores: wiring, judge: seals, witnesses: witnesses), configuration, history)
        engine = Engine(slots, coder, history, windows: ReleaseWindowSettler.self)
        stores = wiring
        follower = configuration.locksWithKeychain.map { [slots] in KeyringFollower(slots, keys, interval: $0) }
        follower?.start()
        serveParts()
    }

    /// Gives the parts of the protocol what they need of the code above them. They keep no reference to the router.
    private nonisolated func serveParts() {
        program.serve(self)
        slots.lists.use { [weak engine] collection in
            guard let engine else { return }
            try await RecordGatherer(engine: engine).requirePrepared(collection)
        }
    }

    /// Creates a router for a rehearsal. It uses the stores of another router, but it records writes instead of
    /// performing them.
    init(rehearsing router: StorageRouter) {
        var configuration = router.configuration
        configuration.closesWhenReleased = false
        // The caller reports the findings of this router, so nothing is logged here.
        configuration.logger = Logger(label: configuration.logger.label) { _ in SwiftLogNoOpLogHandler() }
        configuration.instruments = []
        self.configuration = configuration
        follower = nil
        // The lanes and flights of a rehearsal are its own, so it waits for no call of the other router.
        let rehearsed = RehearsedStores(over: router.slots.routes, router.stores, router.coder.seals.keys)
        let rehearse: @Sendable (any StorageBackend) -> any StorageBackend = { rehearsed.rehearse($0) }
        let ledger = router.history.ledger.rehearsed(rehearse)
        let keys = SealingKeys(pins: ledger.keyPins, randomBytes: configuration.runtime.randomBytes)
        let seals = router.coder.seals.rehearsed(keys: keys, sources: { try rehearsed.keySource($0) })
        let routes = RouteTable(rehearsing: router.slots.routes, in: rehearsed, judge: seals)
        let coder = RecordCoder(seals: seals, runtime: configuration.runtime)
        let history = History(
            ledger, ExpiryWatch(ledger, runtime: configuration.runtime), router.history.quarantine.rehearsed(seals, rehearse),
            KeyRegistry(copying: router.history.registry, leading: routes), router.history.events,
            applicationVersion: configuration.applicationVersion)
        let slots = SlotAccess(routes, configuration, history)
        engine = Engine(slots, coder, history, windows: ReleaseWindowSettler.self, rehearsal: RehearsalNotes())
        stores = rehearsed
        serveParts()
    }

    /// Closes the opened stores and forgets the sealing keys. It writes no pending work; ``shutdown()`` completes that
    /// first.
    deinit {
        follower?.stop()
        guard configuration.closesWhenReleased else { return }
        configuration.runtime.tasks.spawn { [engine, stores] in
            await Self.close(engine.slots, engine.history, stores)
            await engine.coder.seals.keys.forgetAll()
        }
    }

    /// A function that returns whether the program may use a key of a slot: a registered catalog must contain such a
    /// key. Nil if keys need no registration.
    nonisolated var admits: ((PhysicalSlot) -> Bool)? {
        configuration.requiresRegistration ? { [registry = history.registry] in registry.contains($0) } : nil
    }

    /// Returns the slot of a key that the program passes to the router. The keys of migration sources are not checked
    /// here.
    /// - Throws: ``StorageError`` with `unregisteredKey` if keys must be registered, and this key is not.
    nonisolated func entry<Value>(_ key: StorageKey<Value>) throws -> Slot<Value> { try slots.routes.slot(for: key, if: admits) }

    // MARK: One value

    /// Gets the value of a key, or the key's default when there is no value; throws `notFound` when the key has no
    /// default. ``value(for:)`` returns nil instead.
    ///
    /// If the destination has no value, the router migrates it from a legacy location. It protects the value for the
    /// destination, commits it durably, reads it back, and only then removes the legacy copy. A value that is already
    /// migrated, and that can be read without waiting, is read on the caller's actor. All other reads run on the
    /// concurrent pool.
    ///
    /// ```swift
    /// do {
    ///     signIn(with: try await storage.get(.apiToken))
    /// } catch StorageError.notFound {
    ///     askForToken()  // it is proven that no store has a token
    /// } catch StorageError.locked {
    ///     try await storage.unlock(.keychain)  // may open a prompt; then get the token again
    /// }
    /// ```
    /// - Returns: The value, or the key's default.
    /// - Throws: ``StorageError``: `notFound` when there is neither; `undecodable`, `locked`, `unavailable`,
    ///   `migrationFailed` and others. A failed read never loses data.
    public nonisolated func get<Value>(_ key: StorageKey<Value>) async throws -> Value {
        // This function does not name an optional value, because it would look up the metadata of that type in each call.
        if let box = remembered(by: key.memory)?.box { return unsafeDowncast(box, to: ValueBox<Value>.self).value }
        let unread: ValueReader.Unread
        do throws(ValueReader.Unread) { return try immediateValue(key) } catch { unread = error }
        return try await getUnread(key, unread)
    }

    private nonisolated func getUnread<Value>(_ key: StorageKey<Value>, _ unread: ValueReader.Unread) async throws -> Value {
        if let value = try await value(key, unread) ?? key.defaultValue { return value }
        throw StorageError(
            StorageError.notFound, key: key.name,
            "There is no value in \(key.domain) nor in any legacy location, and the key has no default.")
    }

    /// Gets the stored value of a key, or nil if it was removed or provably exists in no location. Unlike ``get(_:)``,
    /// it ignores the key's default.
    ///
    /// ```swift
    /// if let token = try await storage.value(for: .apiToken) {
    ///     signIn(with: token)
    /// } else {
    ///     askForToken()  // only if the token is proven to be absent: a locked keyring throws `locked`
    /// }
    /// ```
    /// - Throws: The errors of ``get(_:)``, without `notFound`.
    public nonisolated func value<Value>(for key: StorageKey<Value>) async throws -> Value? {
        if let known = remembered(by: key.memory) {
            return known.isDefault ? nil : known.box.map { unsafeDowncast($0, to: ValueBox<Value>.self).value }
        }
        let unread: ValueReader.Unread
        do throws(ValueReader.Unread) { return try immediateValue(key) } catch { unread = error }
        return try await value(key, unread)
    }

    /// Returns the value that a key remembers, if it is current.
    private nonisolated func remembered(by memory: KeyMemory) -> RememberedValue? {
        let routes = slots.routes
        return Task.isCancelled || routes.mayHavePolicies ? nil : memory.current(table: routes.id, locks: routes.gate.locks)
    }

    /// Reads the value of a key that does not remember it, without waiting.
    private nonisolated func immediateValue<Value>(_ key: StorageKey<Value>) throws(ValueReader.Unread) -> Value {
        guard configuration.instruments.isEmpty, let route = try? slots.routes.route(for: key, if: admits) else {
            throw .unanswered(seen: nil)
        }
        return try valueReader.immediateRead(key, route)
    }

    /// Reads the value of a key that could not be read without waiting.
    private nonisolated func value<Value>(_ key: StorageKey<Value>, _ unread: ValueReader.Unread) async throws -> Value? {
        guard case .unanswered(let seen) = unread else { return nil }
        // A call completes a forgetting.
        do { _ = try slots.routes.route(for: key, if: admits) } catch let error as StorageError where error.isUnfinishedForgetting {}
        return try await call("get", key) { try await read(key, seen: seen) }
    }

    private nonisolated func read<Value>(_ key: StorageKey<Value>, seen: StorageProbe? = nil) async throws -> Value? {
        let slot = try entry(key)
        do { return try await valueReader.read(slot, seen: seen).value } catch {
            return try await rehearsed(slot, after: error).value
        }
    }

    /// Stores a value. It is durable when this returns, as far as the domain's store is durable.
    ///
    /// ```swift
    /// do {
    ///     try await storage.set("abc", for: .apiToken)
    ///     try await storage.set("123456", for: .oneTimeCode, lifetime: .seconds(300))
    /// } catch StorageError.incompatibleSchema {
    ///     // A later release of the program has stored this value. It is unchanged.
    /// } catch let error as StorageError where error.outcome == .unknown {
    ///     // The store's answer was lost. Read the value before you store it again.
    /// }
    /// ```
    /// - Parameters:
    ///   - value: The value.
    ///   - key: The key.
    ///   - lifetime: The time from now on during which the value is valid, by the wall clock; nil for the key's
    ///     lifetime. A migration keeps the remaining time.
    ///   - replacingLaterVersions: Whether to replace even a value of a later version than the key's. The data of the
    ///     later program are then lost. Otherwise the call refuses to replace such a value, even if it arrives during
    ///     the call. An expired value is replaced in either case.
    /// - Throws: ``StorageError``: `incompatibleSchema` when the slot contains a value of a later version; nothing was
    ///   changed then. The `outcome` of an error says whether the value may have been stored.
    @concurrent
    public nonisolated func set<Value>(
        _ value: Value, for key: StorageKey<Value>, lifetime: Duration? = nil, replacingLaterVersions: Bool = false
    ) async throws {
        try await call("set", key) {
            var attributes = WriteAttributes(replacesLaterVersions: replacingLaterVersions)
            if let lifetime { attributes.expiry = .after(lifetime) }
            try await valueWriter.set(value, try entry(key), attributes)
        }
    }

    /// Stores a value that expires at a date, like ``set(_:for:lifetime:replacingLaterVersions:)``.
    /// - Parameters:
    ///   - value: The value.
    ///   - key: The key. Its lifetime does not apply to the value.
    ///   - date: The date, by the wall clock. A value whose date has passed counts as absent.
    ///   - replacingLaterVersions: Whether to replace even a value of a later version than the key's.
    /// - Throws: The errors of ``set(_:for:lifetime:replacingLaterVersions:)``.
    @concurrent
    public nonisolated func set<Value>(
        _ value: Value, for key: StorageKey<Value>, expiresAt date: Date, replacingLaterVersions: Bool = false
    ) async throws {
        try await call("set", key) {
            let attributes = WriteAttributes(expiry: .at(date.timeIntervalSince1970), replacesLaterVersions: replacingLaterVersions)
            try await valueWriter.set(value, try entry(key), attributes)
        }
    }

    /// Gets the value at the key's destination with its metadata, even if the value has expired. Use it to show a stale
    /// value, or the time when a value was stored.
    ///
    /// A value of an earlier version is converted to the key's version, and is not written back. Legacy locations are
    /// not read.
    ///
    /// ```swift
    /// if let stored = try await storage.storedValue(for: .rates), stored.isExpired {
    ///     // The server cannot be reached, so show the rates of yesterday with their date.
    ///     show("\(stored.value["EUR", default: 1]) of \(stored.modifiedAt?.formatted() ?? "an unknown date")")
    /// }
    /// ```
    /// - Returns: The value and its metadata; nil when it is absent or was removed.
    /// - Throws: The errors of ``get(_:)``, without `notFound`.
    @concurrent
    public nonisolated func storedValue<Value>(for key: StorageKey<Value>) async throws -> StoredValue<Value>? {
        try await call("storedValue", key) { try await answering(key) { try await $0.stored($1) } }
    }

    /// Restores the bytes that a value had before the key's chain of versions changed it, if the chain keeps them:
    /// ``TypedEvolution/keepingBackup()``.
    ///
    /// The present value becomes a backup of its version: nothing is lost, and a call with that version restores it. If
    /// a program's key has the chain, its next read converts the restored value to the latest version again.
    ///
    /// ```swift
    /// // Version 3 of the program had a faulty chain. Restore the bytes of version 2, and start version 2 again.
    /// if try await storage.restoreBackup(for: person, version: 2) == nil {
    ///     print("The value has no backup of version 2. It is unchanged.")
    /// }
    /// ```
    /// - Parameters:
    ///   - key: The key.
    ///   - version: The version to restore; by default the latest backup that is earlier than the key's version.
    /// - Returns: The version that was restored; nil when there is no backup.
    /// - Throws: ``StorageError``; nothing was changed then, unless its outcome says otherwise.
    @concurrent
    @discardableResult
    public nonisolated func restoreBackup<Value>(for key: StorageKey<Value>, version: Int? = nil) async throws -> Int? {
        try await call("restoreBackup", key, isStepwise: true) {
            let slot = try entry(key)
            return try await slots.unbroken(in: slot.route) { [self] in try await Backups(engine: engine).restore(slot, version) }
        }
    }

    /// Reads, changes and writes a value as one step. The change is durable when the call returns. If the store
    /// supports it, the step is also atomic between processes.
    ///
    /// ```swift
    /// struct NotEnough: Error {}
    /// do {
    ///     try await storage.update(.credit) { credit in
    ///         guard let present = credit, present >= 5 else { throw NotEnough() }
    ///         credit = present - 5
    ///     }
    /// } catch is NotEnough {
    ///     print("The credit is unchanged.")
    /// }
    /// ```
    /// - Parameters:
    ///   - key: The key.
    ///   - body: Changes the value. An absent value begins as the key's default, or as nil if the key has none. Setting
    ///     the value to nil removes it. The router calls `body` again if another process or task changed the value
    ///     after it was read.
    /// - Returns: The result of the last call of `body`.
    /// - Throws: The error of `body`, with nothing changed; ``StorageError``, `conflict` after 64 attempts within about
    ///   two seconds, when another writer changed the value each time.
    @concurrent
    @discardableResult
    public nonisolated func update<Value, R: Sendable>(
        _ key: StorageKey<Value>, _ body: @Sendable (inout Value?) throws -> R
    ) async throws -> R {
        try await call("update", key) {
            try await update(try entry(key), startingWith: key.defaultValue, body)
        }
    }

    /// Reads, changes and writes a value as one step. An absent value begins as a given value.
    ///
    /// ```swift
    /// do {
    ///     let launches = try await storage.update(.launches, default: 0) { count in
    ///         count += 1
    ///         return count
    ///     }
    ///     print("Start number \(launches)")
    /// } catch StorageError.conflict {
    ///     // Other processes changed the value during all 64 attempts. Try again later.
    /// }
    /// ```
    /// - Parameters:
    ///   - key: The key.
    ///   - default: The initial value for `body` when the value is absent. It replaces the key's default.
    ///   - body: Changes the value. The router calls it again if another process or task changed the value after it was
    ///     read.
    @concurrent
    @discardableResult
    public nonisolated func update<Value, R: Sendable>(
        _ key: StorageKey<Value>, default: Value, _ body: @Sendable (inout Value) throws -> R
    ) async throws -> R {
        try await call("update", key) {
            try await update(try entry(key), startingWith: `default`) { (value: inout Value?) in
                var present = value ?? `default`
                let answer = try body(&present)
                value = present
                return answer
            }
        }
    }

    /// Purges the backups of a value's earlier versions. Call it when these backups are not needed any more. The change
    /// is durable when the call returns. Removing the value purges the backups too.
    ///
    /// ```swift
    /// do {
    ///     try await storage.purgeBackups(for: person)  // no one will start version 2 again
    /// } catch StorageError.locked {
    ///     // The store is locked. Repeat the call once it is unlocked.
    /// }
    /// ```
    /// - Throws: ``StorageError``. The call can be repeated safely.
    @concurrent
    public nonisolated func purgeBackups<Value>(for key: StorageKey<Value>) async throws {
        try await call("purgeBackups", key, isStepwise: true) {
            let slot = try entry(key).untyped
            try await slots.withLane(slot.route) { try await Backups(engine: engine).purge(slot) }
        }
    }

    /// Removes a value, every older copy of it, and the backups of its earlier versions. The removal is durable when
    /// the call returns. If the key has a migration, a record of the removal (a tombstone) stays, so that no older copy
    /// is migrated again.
    ///
    /// The call can be repeated safely. It also removes a value of a later version, because removing a value cannot
    /// misread it.
    ///
    /// ```swift
    /// do {
    ///     try await storage.remove(.apiToken)
    /// } catch StorageError.residueRemains {
    ///     // The token is removed and never returns. A sweep deletes the older copy that remains.
    ///     await storage.sweep()
    /// }
    /// ```
    /// - Throws: ``StorageError``: `residueRemains` with the outcome `applied` when the value was removed but an older
    ///   copy could not be removed.
    @concurrent
    public nonisolated func remove<Value>(_ key: StorageKey<Value>) async throws {
        try await call("remove", key) { try await valueWriter.remove(try entry(key)) }
    }

    /// Returns whether the key's destination contains a value. Legacy locations are only read while a release window
    /// keeps them up to date.
    ///
    /// ```swift
    /// do {
    ///     if try await storage.exists(.apiToken) { show("Signed in") }
    /// } catch StorageError.unavailable {
    ///     show("The keyring cannot be reached, so it is unknown whether there is a token.")
    /// }
    /// ```
    /// - Throws: ``StorageError`` when the store cannot answer.
    @concurrent
    public nonisolated func exists<Value>(_ key: StorageKey<Value>) async throws -> Bool {
        try await call("exists", key) { try await answering(key) { try await $0.exists($1) } }
    }

    /// Follows a value: returns a sequence of the current value and its later changes. The changes of this process
    /// arrive in the order of their commits. Changes of other processes arrive when this process detects them.
    ///
    /// Nil means an absent value. The sequence buffers a limited number of changes. If the buffer is full, only the
    /// latest change is kept. A read that fails ends the sequence with its error. ``shutdown(waitingAtMost:)`` ends the
    /// sequence without an error.
    ///
    /// ```swift
    /// do {
    ///     for try await title in storage.values(for: .title) { show(title ?? "Untitled") }
    ///     // The router was shut down.
    /// } catch let error as StorageError {
    ///     warn(error.message)  // a read failed, and the sequence is over: begin another one
    /// }
    /// ```
    public nonisolated func values<Value>(for key: StorageKey<Value>) -> some AsyncSequence<Value?, any Error> & Sendable {
        ValueSequence {
            let follower = ValueFollower(self, key)
            return { try await follower.nextValue() }
        }
    }

    /// Changes several keys of one store in one durable commit, or none of them.
    ///
    /// No change is durable before the end of the batch. A later change of a key in the same batch replaces an earlier
    /// one.
    ///
    /// ```swift
    /// do {
    ///     try await storage.batch { changes in
    ///         changes.set(800, for: .width)
    ///         changes.set("Weather", for: .title)
    ///         changes.remove(.legacyTitle)
    ///     }
    /// } catch StorageError.unsupported {
    ///     // The keys are in several stores, or their store cannot commit them together. All values are unchanged.
    /// }
    /// ```
    /// - Parameter body: Collects the changes. If it throws, nothing is changed.
    /// - Throws: ``StorageError``: `unsupported` when the keys are of several stores, or their store cannot commit
    ///   several changes at once; `residueRemains` with the outcome `applied` when an older copy of a removed value
    ///   remains. Also the error of `body`.
    @concurrent
    public nonisolated func batch(_ body: @Sendable (inout StorageBatch) throws -> Void) async throws {
        try await call("batch") {
            var batch = StorageBatch()
            try body(&batch)
            for change in batch.changes { try requireRegistered(change.key.base) }
            try await commit(batch)
        }
    }

    /// Reads, changes and writes the value of a slot: see ``ValueWriter/update(_:facts:startingWith:ifUnwritten:_:)``.
    nonisolated func update<Value, R: Sendable>(
        _ slot: Slot<Value>, facts: WriteAttributes? = nil, startingWith initial: Value? = nil,
        _ body: @Sendable (inout Value?) throws -> R
    ) async throws -> R {
        try await valueWriter.update(
            slot, facts: facts, startingWith: initial, ifUnwritten: { try await rehearsed(slot, after: $0) }, body)
    }

    private nonisolated func requireRegistered(_ key: some TypedKey) throws { _ = try entry(key.typed) }

    /// Commits a batch whose keys were already checked.
    nonisolated func commit(_ batch: StorageBatch) async throws {
        let preparer = ValuePreparer(engine: engine)
        let changes = try batch.changes.map { change in
            BatchWriter.Change(try slots.routes.slot(change.key.base), try change.prepare?(preparer))
        }
        try await batchWriter.commit(changes)
    }
}

extension SlotAccess {
    fileprivate convenience init(_ routes: RouteTable, _ configuration: StorageConfiguration, _ history: History) {
        let patience = max(configuration.deadlines.files, configuration.deadlines.keychain)
        self.init(routes, configuration.runtime, pageSize: configuration.pageSize, patience: patience) { domain, expires in
            await history.noteCommit(to: domain, expires: expires)
        }
    }
}

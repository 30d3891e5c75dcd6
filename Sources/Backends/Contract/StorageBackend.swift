/// How recent a read has to be.
public enum ReadFreshness: Hashable, Sendable {
    /// Never older than the last acknowledged write, of any process the backend's claims cover; may come from memory that was validated against the store.
    case validated
    /// From the store itself: what a new process would see.
    case fresh
}

/// A store of bytes under names: the base of every domain.
///
/// A backend knows nothing of keys, types or migrations. It stores records, tombstones and metadata; it distinguishes *absent* from
/// *locked*, *unavailable* and *corrupt*; it changes a slot only if the slot's precondition holds. The laws in
/// `BackendConformance` say all of this as tests.
///
/// If a store has only `read`, `write`, `delete` and `list`, implement ``ByteStore`` and wrap it in ``ByteStoreBackend``.
public protocol StorageBackend: Sendable {
    /// The physical store of this backend. Never waits, never opens anything.
    var identity: BackendIdentity { get }

    /// What the backend promises. Never waits, never opens anything.
    var capabilities: BackendCapabilities { get }

    /// Refuses an address that the store cannot hold, from the address alone. Never waits, never opens anything.
    /// - Throws: ``BackendError`` with the code ``BackendError/Code/invalidName`` or ``BackendError/Code/unsupported``.
    func validate(_ address: StorageAddress) throws(BackendError)

    /// Looks at slots.
    ///
    /// Several slots are no snapshot: a change may be committed between reading one and the next.
    /// - Parameters:
    ///   - addresses: The slots, in any order; repeats are allowed.
    ///   - freshness: Whether the answer may come from validated memory.
    /// - Returns: One probe for each address, in the same order. Conditions of the store (locked, unreachable, an unusable name) are probes, not errors.
    /// - Throws: ``BackendError`` when the call itself could not be carried out: its deadline passed, or its caller was cancelled.
    func read(_ addresses: [StorageAddress], _ freshness: ReadFreshness) async throws(BackendError) -> [StorageProbe]

    /// Changes slots. All together or not at all where ``BackendCapabilities/atomicBatch`` is claimed, else one after the other.
    ///
    /// When it returns, what is `applied` is as durable as the result says. An address may occur once in a call.
    /// - Returns: One result for each mutation, in the same order.
    /// - Throws: ``BackendError`` when the call itself could not be carried out; ``BackendError/outcome`` says whether anything may have happened.
    func apply(_ mutations: [StorageMutation]) async throws(BackendError) -> [MutationResult]

    /// The slots that hold a value, a tombstone or damaged bytes, in no particular order.
    /// - Throws: ``BackendError`` when the slots cannot be listed: an incomplete list is never returned. `corrupted` if the name of one of them cannot be read; see
    ///   ``SalvageableBackend``.
    func addresses(in namespace: StorageNamespace) async throws(BackendError) -> [StorageAddress]

    /// A page of the values of a namespace that fulfil a query's conditions. Tombstones are left out. A damaged slot whose name can be read is
    /// included, whatever the conditions; one whose name is lost is in ``StoragePage/damaged``.
    ///
    /// Over all pages, a record that exists and fulfils the conditions throughout is returned exactly once. One that is added, changed or deleted
    /// meanwhile may be missing, or be returned in more than one of its states.
    /// - Parameters:
    ///   - query: The question.
    ///   - cursor: ``StoragePage/next`` of the page before, of this store and this query; nil for the first page.
    ///   - limit: How many entries the page may have; a number below 1 counts as 1.
    /// - Throws: ``BackendError`` when the store cannot be read: a page never leaves out a slot because of it. `unsupported` for a cursor of another query.
    func page(_ query: StorageQuery, after cursor: StorageCursor?, limit: Int) async throws(BackendError) -> StoragePage

    /// How many entries and damaged slots the pages of a query have.
    /// - Throws: As ``page(_:after:limit:)``.
    func count(_ query: StorageQuery) async throws(BackendError) -> Int

    /// Makes every state durable that a read could have returned: after it, no power cut undoes a state that this or another process has read.
    /// - Returns: How long that state is now certain to last.
    /// - Throws: ``BackendError`` when it could not be made durable.
    func synchronize() async throws(BackendError) -> StorageDurability

    /// Whether the store can be used. Never opens a prompt.
    func status() async -> BackendStatus

    /// Finishes acknowledged changes and closes the store. A later call may open it again.
    func close() async
}

extension StorageBackend {
    /// Refuses the addresses that no store accepts.
    public func validate(_ address: StorageAddress) throws(BackendError) { try address.validate() }

    /// Looks at one slot.
    /// - Throws: As ``read(_:_:)``.
    public func read(_ address: StorageAddress, _ freshness: ReadFreshness = .validated) async throws(BackendError) -> StorageProbe {
        let probes = try await read([address], freshness)
        guard let probe = probes.first else { throw BackendError(.failed, "The backend \(identity) returned no probe for one address.") }
        return probe
    }

    /// Changes one slot.
    /// - Throws: As ``apply(_:)``.
    public func apply(_ mutation: StorageMutation) async throws(BackendError) -> MutationResult {
        let results = try await apply([mutation])
        guard let result = results.first else {
            throw BackendError(.failed, "The backend \(identity) returned no result for one mutation.", outcome: .unknown)
        }
        return result
    }

    /// The slot of this store that an address names.
    public func slot(_ address: StorageAddress) -> PhysicalSlot { PhysicalSlot(store: identity, address: address) }

    /// Always ready: the default for a store that cannot be locked.
    public func status() async -> BackendStatus { .ready }

    /// Does nothing: there is nothing to close.
    public func close() async {}
}

/// A store that a person can unlock.
public protocol LockableBackend: StorageBackend {
    /// Unlocks the store, opening a prompt if one is needed and possible: the only call that may.
    /// - Throws: ``BackendError`` with `promptDismissed`, `locked`, `timedOut` or `unavailable`.
    func unlock() async throws(BackendError)
}

/// A store that notices changes made by other programs.
public protocol ObservableBackend: StorageBackend {
    /// The slots that another process may have changed, as changes are noticed; nil means "any slot". Several changes may be reported as one.
    func foreignChanges() -> AsyncStream<Set<StorageAddress>?>
}

/// A store whose closing may fail, as where the disk does not answer.
package protocol ReluctantBackend: StorageBackend {
    /// Whether files are open. After ``close()`` they are only where the disk did not answer; they are closed as soon as it does.
    var hasOpenFiles: Bool { get }
}

/// A store that can be damaged as a whole, and that a person can replace with an empty one.
public protocol RecoverableBackend: StorageBackend {
    /// Moves a damaged store out of the way, where it is kept, so that an empty one can take its place.
    /// - Returns: Where the damaged store is kept now.
    /// - Throws: ``BackendError`` when the store is not damaged, or could not be moved durably.
    func setAsideDamagedStore() async throws(BackendError) -> String
}

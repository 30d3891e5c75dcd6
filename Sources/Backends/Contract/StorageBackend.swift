/// The freshness that a read requires: from a validated cache, from the store, or from a copy of limited age.
///
/// ```swift
/// let address = StorageAddress("city")
/// let known = try await store.read(address, .validated)  // may come from a cache that was compared with the store
/// let stored = try await store.read(address, .fresh)  // the state that a new process would see
/// let shown = try await store.read(address, .stale(upTo: .seconds(5)))  // a standby may answer
/// ```
public enum ReadFreshness: Hashable, Sendable {
    /// The result is at least as new as the last acknowledged write of this process. If the backend claims
    /// ``BackendCapabilities/crossProcess``, the same holds for the writes of all other processes. The result may come
    /// from a cache that was validated against the store.
    case validated
    /// The result is read from the store, and not from a cache. It is the state that a newly started process would see.
    case fresh
    /// The result may come from a copy of the store, such as the standby of a server. It is at most this old. A slot
    /// that is absent in the result was absent in the copy, which proves nothing about the store. A store without copies
    /// reads as for ``validated``.
    case stale(upTo: Duration)
}

/// The code that reads and writes one kind of store. Every domain (a kind of store that a key can choose) is built on a
/// backend.
///
/// Implement it to store values in a place that LocalData does not support, and several processes or machines change
/// it. If a store has only `read`, `write`, `delete` and `list`, implement ``ByteStore`` and wrap it in
/// ``ByteStoreBackend``. Programs do not call a backend: they use `StorageRouter`.
///
/// ```swift
/// let store: any StorageBackend = InMemoryStore()
/// let address = StorageAddress("city")
/// switch try await store.apply(.put(.native(.string("Graz")), at: address, if: .absent)) {
/// case .applied(let revision, let durability): print(revision as Any, durability)
/// case .conflict(let current): print("The slot was not empty: \(current)")
/// case .locked, .failed, .notAttempted: print("Nothing was stored.")
/// }
/// ```
///
/// A backend has no knowledge of keys, types or migrations. It stores values with their metadata, and tombstones, the
/// records of a removal. It distinguishes an *absent* slot (the location of one value) from one that is *locked*,
/// *unavailable* or *corrupt*. It changes a slot only if the slot's precondition holds. The laws in
/// `BackendConformance` test all of these rules.
public protocol StorageBackend: Sendable {
    /// Identifies the physical store of this backend. Returns at once and opens no file or connection.
    var identity: BackendIdentity { get }

    /// The guarantees of this backend. Returns at once and opens no file or connection.
    var capabilities: BackendCapabilities { get }

    /// Throws if the store cannot hold a slot with this address. Checks the address only: returns at once and opens no file or connection.
    ///
    /// ```swift
    /// do throws(BackendError) { try store.validate(StorageAddress("a\u{0}b")) } catch { print(error.code, error.reason) }  // invalidName
    /// ```
    /// - Throws: ``BackendError`` with the code ``BackendError/Code/invalidName`` or ``BackendError/Code/unsupported``.
    func validate(_ address: StorageAddress) throws(BackendError)

    /// Reads slots.
    ///
    /// The results are not a snapshot: another caller may commit a change between the reads of two slots.
    ///
    /// ```swift
    /// let probes = try await store.read([StorageAddress("city"), StorageAddress("country")], .validated)
    /// for probe in probes where probe == .absent { print("It is proven that this slot is empty.") }
    /// ```
    /// - Parameters:
    ///   - addresses: The slots, in any order. An address may occur more than once.
    ///   - freshness: Whether the result may come from a validated cache.
    /// - Returns: One result for each address, in the same order. If the store is locked, is unreachable, or cannot use
    ///   the name, the result states this; the call does not throw.
    /// - Throws: ``BackendError`` when the call could not be carried out: its deadline passed, or its caller was cancelled.
    func read(_ addresses: [StorageAddress], _ freshness: ReadFreshness) async throws(BackendError) -> [StorageProbe]

    /// Changes slots. Each mutation describes the change of one slot. If the backend claims
    /// ``BackendCapabilities/atomicBatch``, it applies either all mutations or none. Otherwise it applies them one
    /// after the other.
    ///
    /// When the call returns, each `applied` mutation has the durability that its result states. An address may occur only once in a call.
    ///
    /// ```swift
    /// let changes: [StorageMutation] = [
    ///     .put(.bytes([1, 2, 3]), at: StorageAddress("image"), if: .absent), .delete(StorageAddress("draft")),
    /// ]
    /// do throws(BackendError) {
    ///     let results = try await store.apply(changes)
    ///     if !results.allSatisfy(\.isApplied) { print("not applied: \(results)") }
    /// } catch {
    ///     if error.outcome == .unknown { print("Read both slots before you repeat the changes.") }
    /// }
    /// ```
    /// - Returns: One result for each mutation, in the same order.
    /// - Throws: ``BackendError`` when the call could not be carried out. ``BackendError/outcome`` states whether any mutation may have
    ///   been applied.
    func apply(_ mutations: [StorageMutation]) async throws(BackendError) -> [MutationResult]

    /// Lists the slots that hold a value, a tombstone or damaged bytes, in no particular order.
    ///
    /// ```swift
    /// let addresses = try await store.addresses(in: .values)  // an incomplete list is never returned
    /// print(addresses.map(\.name).sorted())
    /// ```
    /// - Throws: ``BackendError`` when the slots cannot be listed; an incomplete list is never returned. The code is `corrupted` if the
    ///   name of a slot cannot be read; see ``SalvageableBackend``.
    func addresses(in namespace: StorageNamespace) async throws(BackendError) -> [StorageAddress]

    /// Returns one page of the values in a namespace that fulfil a query's conditions.
    ///
    /// Tombstones are left out. A damaged slot is on a page whatever the conditions are, because the conditions cannot be checked. It is in
    /// ``StoragePage/entries``, or in ``StoragePage/damaged`` if its name cannot be read either.
    ///
    /// All pages together contain a record exactly once if it exists and fulfils the conditions during the whole enumeration. A record that
    /// is added, changed or deleted during the enumeration may be missing. It may also occur several times, each time in another state.
    ///
    /// ```swift
    /// let query = StorageQuery(StorageNamespace("notes"), [.attribute("folder", "home")])
    /// var cursor: StorageCursor?
    /// repeat {
    ///     let page = try await store.page(query, after: cursor, limit: 100)
    ///     for entry in page.entries { print(entry.address, entry.corruption?.reason ?? "readable") }
    ///     cursor = page.next
    /// } while cursor != nil
    /// ```
    /// - Parameters:
    ///   - query: The namespace and the conditions.
    ///   - cursor: ``StoragePage/next`` of the previous page of this store and query; nil for the first page.
    ///   - limit: The maximum number of entries; a number below 1 counts as 1.
    /// - Throws: ``BackendError`` when the store cannot be read; a page never omits a slot that could not be read. The code is
    ///   `unsupported` for a cursor of another query.
    func page(_ query: StorageQuery, after cursor: StorageCursor?, limit: Int) async throws(BackendError) -> StoragePage

    /// Counts the entries and damaged slots on all pages of a query.
    ///
    /// ```swift
    /// print(try await store.count(query), "records, including damaged ones")
    /// ```
    /// - Throws: The errors of ``page(_:after:limit:)``.
    func count(_ query: StorageQuery) async throws(BackendError) -> Int

    /// Flushes the store, including changes of other processes. It covers every state of a slot that this or another
    /// process has read before the call, because a process may have read a change that is not durable yet.
    ///
    /// ```swift
    /// if try await store.synchronize() < .durable { print("A power loss can undo the latest changes.") }
    /// ```
    /// - Returns: The durability that these states have now. After `durable`, no power cut undoes them. A store that
    ///   cannot guarantee this returns a weaker durability.
    /// - Throws: ``BackendError`` if the store could not be flushed.
    func synchronize() async throws(BackendError) -> StorageDurability

    /// Returns whether the store can be used. Never opens a prompt.
    ///
    /// ```swift
    /// switch await store.status() {
    /// case .ready: print("ready")
    /// case .locked: print("locked: a user can unlock it")
    /// case .absent: print("not created yet")
    /// case .unavailable(let error): print(error.reason)
    /// }
    /// ```
    func status() async -> BackendStatus

    /// Finishes acknowledged changes and closes the store. A later call may open it again.
    func close() async
}

extension StorageBackend {
    /// Throws for addresses that no store accepts: the default for a store without further limits.
    public func validate(_ address: StorageAddress) throws(BackendError) { try address.validate() }

    /// Reads one slot.
    ///
    /// ```swift
    /// let probe = try await store.read(StorageAddress("city"), .fresh)
    /// ```
    /// - Throws: The errors of ``read(_:_:)``.
    public func read(_ address: StorageAddress, _ freshness: ReadFreshness = .validated) async throws(BackendError) -> StorageProbe {
        let probes = try await read([address], freshness)
        guard let probe = probes.first else { throw BackendError(.failed, "The backend \(identity) returned no probe for one address.") }
        return probe
    }

    /// Changes one slot.
    ///
    /// ```swift
    /// let address = StorageAddress("city")
    /// let result = try await store.apply(.put(.native(.string("Graz")), at: address, if: .revision(record.revision)))
    /// if case .conflict = result { print("Another process changed the slot. Read it again.") }
    /// ```
    /// - Throws: The errors of ``apply(_:)``.
    public func apply(_ mutation: StorageMutation) async throws(BackendError) -> MutationResult {
        let results = try await apply([mutation])
        guard let result = results.first else {
            throw BackendError(.failed, "The backend \(identity) returned no result for one mutation.", outcome: .unknown)
        }
        return result
    }

    /// Returns the physical slot at an address in this store.
    ///
    /// ```swift
    /// print(store.slot(StorageAddress("city")))  // "memory:…#city"
    /// ```
    public func slot(_ address: StorageAddress) -> PhysicalSlot { PhysicalSlot(store: identity, address: address) }

    /// Returns `ready`: the default for a store that cannot be locked.
    public func status() async -> BackendStatus { .ready }

    /// Does nothing: the default for a store that needs no closing.
    public func close() async {}
}

/// A store that a user can unlock, such as a keyring.
///
/// ```swift
/// guard let lockable = store as? any LockableBackend, await lockable.status() == .locked else { return }
/// do { try await lockable.unlock() } catch {  // may open a prompt
///     print(error.code == .promptDismissed ? "The user declined." : error.reason)
/// }
/// ```
public protocol LockableBackend: StorageBackend {
    /// Unlocks the store. This call opens a prompt if that is necessary and possible. No other call of a backend may
    /// open a prompt for unlocking.
    /// - Throws: ``BackendError`` with `promptDismissed`, `locked`, `timedOut` or `unavailable`.
    func unlock() async throws(BackendError)
}

/// A store that detects changes made by other processes.
///
/// A router uses it to follow values (`values(for:)`). A store without this protocol is only followed within the
/// process.
///
/// ```swift
/// for await slots in store.foreignChanges() {
///     print(slots.map { "changed: \($0)" } ?? "any slot may have changed")
/// }
/// ```
public protocol ObservableBackend: StorageBackend {
    /// Returns a stream that reports which slots another process may have changed. An element is a set of slots, or nil if any slot may
    /// have changed. One element may stand for several changes.
    func foreignChanges() -> AsyncStream<Set<StorageAddress>?>
}

/// A store that may fail to close, for example because the disk does not respond.
package protocol ReluctantBackend: StorageBackend {
    /// Whether the store has open files. After ``close()`` this is true only while the disk does not respond. The files are closed as soon
    /// as the disk responds again.
    var hasOpenFiles: Bool { get }
}

/// A store that knows a limit of its protection on this machine, of which it informs the operator.
package protocol WarningBackend: StorageBackend {
    /// The warning; nil if there is none. It can change when the store is opened.
    var warning: String? { get }
}

/// A store that can be damaged as a whole, such as one file. A user can replace the damaged store with an empty one.
///
/// ```swift
/// do { print("The damaged file is now \(try await store.setAsideDamagedStore()).") } catch {
///     print("The store is not damaged, or could not be moved: \(error.reason)")
/// }
/// ```
public protocol RecoverableBackend: StorageBackend {
    /// Moves a damaged store to another location, where it is kept. An empty store can then be created at the old location.
    /// - Returns: The new location of the damaged store.
    /// - Throws: ``BackendError`` when the store is not damaged, or could not be moved durably.
    func setAsideDamagedStore() async throws(BackendError) -> String
}

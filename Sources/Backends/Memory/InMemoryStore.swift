public import BackendContract
package import BackendRuntime
import Synchronization

/// A store in memory. It is the reference implementation of the backend contract. It is also the backend of the domains
/// (kinds of store that a key can choose) for transient values.
///
/// ```swift
/// let store = InMemoryStore()
/// _ = try await store.apply([.put(.native(.string("Graz")), at: StorageAddress("city"))])
/// print(try await store.addresses(in: .values))  // [city]
/// ```
///
/// The slots (locations of single values) are in a *medium*, an object that several stores can share. The store writes
/// nothing to disk and never waits for I/O: each call is one read or one change under a lock. A test can give it other
/// capabilities, so that it can be used instead of another kind of store.
public final class InMemoryStore: ObservableBackend, ImmediateBackend {
    /// The medium that holds the slots.
    package let medium: MemoryMedium

    /// The identity of the physical store. By default, all stores on one medium have the same identity.
    public let identity: BackendIdentity
    /// The capabilities that the store claims.
    public let capabilities: BackendCapabilities

    private let identifier: (UInt64, UInt64)
    private let number: UInt64

    /// The default capabilities: values last as long as the process, batches are atomic, and native values are accepted.
    ///
    /// The store claims the same protection as a keyring, because it writes nothing to disk.
    package static let ownCapabilities = BackendCapabilities(
        durability: .process, atomicBatch: true, crossProcess: false, protection: .keychain, storesNativeValues: true,
        usefulConcurrency: 64)

    /// Creates an empty store that shares no data with any other store.
    public convenience init() { self.init(medium: MemoryMedium()) }

    /// Creates a store over a medium.
    /// - Parameters:
    ///   - medium: The medium that holds the slots. Default: a new, empty medium.
    ///   - identity: The identity of the physical store. Default: the identity of the medium, because all stores on one medium are one
    ///     physical store.
    ///   - capabilities: The capabilities that the store claims. Default: ``ownCapabilities``.
    ///   - runtime: The source of the medium's random identifier.
    package init(
        medium: MemoryMedium = MemoryMedium(), identity: BackendIdentity? = nil,
        capabilities: BackendCapabilities = InMemoryStore.ownCapabilities, runtime: Runtime = .live
    ) {
        let drawn = (runtime.randomBits(), runtime.randomBits())
        let (identifier, number) = medium.state.withLock { state in
            let identifier = state.identifier ?? drawn
            state.identifier = identifier
            state.stores += 1
            return (identifier, state.stores)
        }
        (self.medium, self.capabilities, self.identifier, self.number) = (medium, capabilities, identifier, number)
        self.identity =
            identity ?? BackendIdentity(kind: "memory", store: String(identifier.0, radix: 16) + "-" + String(identifier.1, radix: 16))
    }

    /// Reads slots from one consistent snapshot.
    /// - Throws: `cancelled` if the calling task was cancelled.
    public func read(_ addresses: [StorageAddress], _ freshness: ReadFreshness) async throws(BackendError) -> [StorageProbe] {
        try refuseIfCancelled()
        return medium.state.withLock { state in
            addresses.map { address in Self.refusal(ofName: address).map(StorageProbe.unavailable) ?? probe(address, in: state) }
        }
    }

    /// Reads a slot from memory, without waiting for I/O.
    package func immediateProbe(of address: StorageAddress) -> StorageProbe? { medium.state.withLock { probe(address, in: $0) } }

    /// Returns the number of changes of the medium.
    package func immediateVersion() -> UInt64? { medium.state.withLock(\.changes) }

    /// Applies mutations (changes of one slot) under one lock, so that no reader sees an intermediate state. If the
    /// store claims atomic batches, either all mutations are applied or none is.
    /// - Throws: `cancelled` if the calling task was cancelled; an error if two mutations have the same address.
    public func apply(_ mutations: [StorageMutation]) async throws(BackendError) -> [MutationResult] {
        try refuseIfCancelled()
        try mutations.requireDistinctAddresses()
        return medium.state.withLock { state in
            if capabilities.atomicBatch {
                let refusals = mutations.map { refusal(of: $0, in: state) }
                guard refusals.allSatisfy({ $0 == nil }) else { return refusals.map { $0 ?? .notAttempted } }
            }
            var changed: Set<StorageAddress> = []
            let results = mutations.map { mutation in
                if let refusal = refusal(of: mutation, in: state) { return refusal }
                if mutation.operation != .check { changed.insert(mutation.address) }
                return carryOut(mutation, in: &state)
            }
            state.announce(changed, by: number)
            return results
        }
    }

    /// Returns the slots of a namespace that are not empty, sorted by name.
    public func addresses(in namespace: StorageNamespace) async throws(BackendError) -> [StorageAddress] {
        try refuseIfCancelled()
        return medium.state.withLock { $0.addresses(in: namespace) }
    }

    /// Returns one page of the values that match a query, sorted by name. A page is read from one consistent snapshot.
    ///
    /// The sorted names are cached until a slot is added or deleted.
    public func page(_ query: StorageQuery, after cursor: StorageCursor?, limit: Int) async throws(BackendError) -> StoragePage {
        try refuseIfCancelled()
        let last: StorageAddress?
        if let cursor { last = try Self.address(cursor, query) } else { last = nil }
        let page = medium.state.withLock { state in
            let addresses = state.addresses(in: query.namespace)
            let start = last.map { last in addresses.firstPlace { last.precedes($0) } } ?? 0
            return Result { () throws(BackendError) in
                var entries: [StoragePage.Entry] = []
                for place in start..<addresses.count {
                    guard let entry = try query.entry(addresses[place], probe(addresses[place], in: state)) else { continue }
                    entries.append(entry)
                    if entries.count >= limit {
                        let isLast = place + 1 == addresses.count
                        return StoragePage(entries, next: isLast ? nil : StorageCursor(Array(addresses[place].name.utf8)))
                    }
                }
                return StoragePage(entries, next: nil)
            }
        }
        return try page.get()
    }

    private static func address(_ cursor: StorageCursor, _ query: StorageQuery) throws(BackendError) -> StorageAddress {
        guard let name = String(validating: cursor.bytes, as: UTF8.self) else { throw StorageCursor.stranger }
        return StorageAddress(name, in: query.namespace)
    }

    /// Returns the claimed durability. The store has no pending writes.
    public func synchronize() async throws(BackendError) -> StorageDurability { capabilities.durability }

    /// Returns a stream of the slots that are changed from now on, by other stores on the medium or by simulated other programs.
    public func foreignChanges() -> AsyncStream<Set<StorageAddress>?> {
        let (stream, continuation) = AsyncStream<Set<StorageAddress>?>.makeStream()
        let watcher = medium.state.withLock { state in
            state.watchersEver += 1
            state.watchers[state.watchersEver] = MemoryMedium.Watcher(store: number, continuation: continuation)
            return state.watchersEver
        }
        continuation.onTermination = { [medium] _ in medium.state.withLock { state in _ = state.watchers.removeValue(forKey: watcher) } }
        return stream
    }
}

extension InMemoryStore {
    private func refuseIfCancelled() throws(BackendError) {
        if Task.isCancelled { throw BackendError(.cancelled, "The caller was cancelled. Nothing was changed; try again.") }
    }

    private static func refusal(ofName address: StorageAddress) -> BackendError? {
        do throws(BackendError) { try address.validate() } catch { return error }
        return nil
    }

    private func probe(_ address: StorageAddress, in state: borrowing MemoryMedium.State) -> StorageProbe {
        guard let slot = state.slots[address] else { return .absent }
        switch slot.content {
        case .value(let payload, let metadata, let isForeign):
            return .value(StorageRecord(payload: payload, metadata: metadata, revision: revision(slot.change), isForeign: isForeign))
        case .tombstone(let metadata): return .tombstone(StorageTombstone(metadata: metadata, revision: revision(slot.change)))
        case .damaged(let bytes):
            return .corrupt(StorageCorruption(bytes: bytes, revision: revision(slot.change), reason: "the bytes are not a record"))
        }
    }

    private func refusal(of mutation: StorageMutation, in state: borrowing MemoryMedium.State) -> MutationResult? {
        if let error = Self.refusal(ofName: mutation.address) { return .failed(error) }
        if case .put(.native, _) = mutation.operation, !capabilities.storesNativeValues {
            return .failed(BackendError(.unsupported, "This store takes bytes only, no native values. Give it a serializer's bytes."))
        }
        do throws(BackendError) { try capabilities.requireFit(mutation) } catch { return .failed(error) }
        return probe(mutation.address, in: state).refusal(of: mutation)
    }

    private func carryOut(_ mutation: StorageMutation, in state: inout MemoryMedium.State) -> MutationResult {
        switch mutation.operation {
        case .put(let payload, let metadata):
            let change = state.hold(.value(payload, metadata, isForeign: false), at: mutation.address)
            return .applied(revision(change), capabilities.durability)
        case .tombstone(let metadata):
            return .applied(revision(state.hold(.tombstone(metadata), at: mutation.address)), capabilities.durability)
        case .delete:
            _ = state.empty(mutation.address)
            return .applied(nil, capabilities.durability)
        case .check: return .applied(probe(mutation.address, in: state).revision, capabilities.durability)
        }
    }

    /// The revision that a change gives to a slot, as the identifier of its state. It consists of the medium's
    /// identifier and the number of the change: 24 bytes in big-endian order.
    private func revision(_ change: UInt64) -> StorageRevision {
        withUnsafeBytes(of: (identifier.0.bigEndian, identifier.1.bigEndian, change.bigEndian)) { StorageRevision(Array($0)) }
    }
}

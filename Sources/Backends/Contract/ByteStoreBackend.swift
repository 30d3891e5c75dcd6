import Synchronization

/// Turns a ``ByteStore`` into a complete backend.
///
/// It adds metadata, namespaces, tombstones (records of a removal), revisions (identifiers of a state) and
/// preconditions of changes. A router uses the backend as a domain:
///
/// ```swift
/// var configuration = StorageConfiguration.inMemory()
/// configuration.useBackend(for: .init("dictionary")) { scope in ByteStoreBackend(DictionaryStore()) }
/// let city = StorageKey<String>(name: "city", domain: .custom("dictionary", scope: "main"))
/// try await StorageRouter(configuration: configuration).set("Graz", for: city)
/// ```
///
/// Each slot, the location of one value, is stored as one record in record format 1 (``RecordCodec``). The slot's name
/// in the byte store is `n.<namespace>.<name>`, with both parts in lower-case hexadecimal. The stored name therefore
/// has only characters that every store accepts, and canonically equivalent names stay distinct.
///
/// Reads and changes run one after the other. Preconditions hold within this instance only, because a byte store has no
/// compare-and-swap.
public actor ByteStoreBackend<Store: ByteStore>: StorageBackend {
    private let store: Store
    private let nextRevision: @Sendable () -> StorageRevision
    private let turnstile = AsyncTurnstile()

    /// The identity that the byte store had when this backend was created.
    public nonisolated let identity: BackendIdentity
    /// The capabilities of the byte store, adjusted for this backend. Batches are not atomic, preconditions do not hold between processes,
    /// and native values can be stored.
    public nonisolated let capabilities: BackendCapabilities

    /// Wraps a byte store.
    /// - Parameters:
    ///   - store: The byte store.
    ///   - nextRevision: Returns a revision that was never used before; random by default.
    public init(_ store: Store, nextRevision: (@Sendable () -> StorageRevision)? = nil) {
        self.store = store
        self.nextRevision =
            nextRevision
            ?? {
                var generator = SystemRandomNumberGenerator()
                return StorageRevision.random(using: &generator)
            }
        identity = store.identity
        var capabilities = store.capabilities
        capabilities.atomicBatch = false
        capabilities.crossProcess = false
        capabilities.storesNativeValues = true
        self.capabilities = capabilities
    }

    /// Reads and decodes the slots one after the other. The parameter `freshness` has no effect, because nothing is cached.
    public func read(_ addresses: [StorageAddress], _ freshness: ReadFreshness) async throws(BackendError) -> [StorageProbe] {
        await turnstile.enter()
        defer { turnstile.leave() }
        var probes: [StorageProbe] = []
        for address in addresses { probes.append(await probe(address)) }
        return probes
    }

    /// Checks the precondition of each mutation and applies it, one mutation after the other. No other read or change of this instance runs
    /// between them.
    public func apply(_ mutations: [StorageMutation]) async throws(BackendError) -> [MutationResult] {
        await turnstile.enter()
        defer { turnstile.leave() }
        var results: [MutationResult] = []
        for mutation in mutations { results.append(await apply(one: mutation)) }
        return results
    }

    /// Lists the slots of a namespace. Names in the byte store that belong to other programs are skipped.
    public func addresses(in namespace: StorageNamespace) async throws(BackendError) -> [StorageAddress] {
        try await store.list().compactMap(Self.address(storedAs:)).filter { $0.namespace == namespace }
    }

    /// Returns the durability that the byte store claims. Its writes already have this durability when they return.
    public func synchronize() async throws(BackendError) -> StorageDurability { capabilities.durability }

    private func probe(_ address: StorageAddress) async -> StorageProbe {
        do throws(BackendError) {
            try address.validate()
            guard let bytes = try await store.read(Self.storedName(of: address)) else { return .absent }
            return RecordCodec.decode(bytes).probe(ofForeign: "the bytes are not a record") { reason in corrupt(bytes, reason) }
        } catch {
            return error.code == .locked ? .locked : .unavailable(error)
        }
    }

    private func corrupt(_ bytes: [UInt8], _ reason: String) -> StorageProbe {
        // The revision of damaged bytes contains these bytes. Only a caller that has read exactly these bytes can
        // therefore replace them.
        .corrupt(StorageCorruption(bytes: bytes, revision: StorageRevision([0xFF] + bytes), reason: reason))
    }

    private func apply(one mutation: StorageMutation) async -> MutationResult {
        let current = await probe(mutation.address)
        if let refusal = current.refusal(of: mutation) { return refusal }
        do throws(BackendError) {
            let name = Self.storedName(of: mutation.address)
            let revision = nextRevision()
            try capabilities.requireFit(mutation)
            switch mutation.operation {
            case .put(let payload, let metadata):
                if case .native(let value) = payload, value.isNested(deeperThan: NativeValue.maximumDepth) {
                    return .failed(
                        BackendError(
                            .unsupported, "The value is nested more than \(NativeValue.maximumDepth) levels deep. Store it as bytes."))
                }
                try await store.write(RecordCodec.encode(StorageRecord(payload: payload, metadata: metadata, revision: revision)), name)
            case .tombstone(let metadata):
                try await store.write(RecordCodec.encode(StorageTombstone(metadata: metadata, revision: revision)), name)
            case .delete:
                if current != .absent { try await store.delete(name) }
                return .applied(nil, capabilities.durability)
            case .check: return .applied(current.revision, capabilities.durability)
            }
            return .applied(revision, capabilities.durability)
        } catch {
            return error.code == .locked ? .locked : .failed(error)
        }
    }

    static func storedName(of address: StorageAddress) -> String {
        "n.\(hexadecimalText(of: address.namespace.name.utf8)).\(hexadecimalText(of: address.name.utf8))"
    }

    static func address(storedAs stored: String) -> StorageAddress? {
        let parts = stored.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == "n", let namespace = text(parts[1]), let name = text(parts[2]) else { return nil }
        let address = StorageAddress(name, in: StorageNamespace(namespace))
        // This backend writes only lower-case digits and valid slot names. A name with anything else belongs to another program.
        guard storedName(of: address) == stored, (try? address.validate()) != nil else { return nil }
        return address
    }

    private static func text(_ hexadecimal: Substring) -> String? {
        bytes(ofHexadecimal: hexadecimal).flatMap { String(validating: $0, as: UTF8.self) }
    }
}

/// A lock that may be held across suspension points. Callers acquire it in the order of arrival.
final class AsyncTurnstile: Sendable {
    private struct State {
        var isTaken = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    func enter() async {
        await withCheckedContinuation { continuation in
            let free = state.withLock { state in
                if state.isTaken {
                    state.waiting.append(continuation)
                    return false
                }
                state.isTaken = true
                return true
            }
            if free { continuation.resume() }
        }
    }

    func leave() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard !state.waiting.isEmpty else {
                state.isTaken = false
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.resume()
    }
}

extension RecordCodec.Decoded {
    /// Returns the content of a slot that consists of the bytes of one record.
    /// - Parameters:
    ///   - foreign: The reason for bytes that another program wrote.
    ///   - corrupt: Returns the damaged content, given the reason.
    package func probe(ofForeign foreign: String, _ corrupt: (_ reason: String) -> StorageProbe) -> StorageProbe {
        switch self {
        case .record(let record): .value(record)
        case .tombstone(let tombstone): .tombstone(tombstone)
        case .foreign: corrupt(foreign)
        case .damaged(let how): corrupt("the record is damaged: it \(how)")
        case .unknownFormat(let version):
            .unavailable(
                BackendError(
                    .unsupported, "The record has format \(version); this version reads format 1. Update the program that reads it."))
        }
    }
}

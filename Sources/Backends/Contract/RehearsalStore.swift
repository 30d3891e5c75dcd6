import Synchronization

/// The changes of one physical store in a rehearsal, a run that changes no store. They are kept in memory and shared by every
/// ``RehearsalStore`` over that physical store.
package final class RehearsedChanges: Sendable {
    /// The change of one slot, the location of one value.
    struct Change: Sendable {
        /// The content of the slot in the rehearsal: a value, a tombstone (the record of a removal) or `absent`.
        let content: StorageProbe
        /// The revision (identifier of a state) that the slot had in the underlying store when the change was made. Nil
        /// if the slot was empty then.
        let base: StorageRevision?

        /// Whether the underlying slot is unchanged since the rehearsed change. If another process has changed it, the rehearsed change no
        /// longer applies.
        func isOver(_ probe: StorageProbe) -> Bool {
            switch probe {
            case .absent: base == nil
            case .value, .tombstone, .corrupt: base != nil && probe.revision == base
            case .locked, .unavailable: false
            }
        }
    }

    /// The number of changes in all rehearsals of this process. Each revision in a rehearsal contains this number, so
    /// every revision is unique.
    private static let changes = Atomic<UInt64>(0)

    let slots = Mutex<[StorageAddress: Change]>([:])

    /// Creates an empty set of changes.
    package init() {}

    static func nextRevision() -> StorageRevision {
        let number = changes.add(1, ordering: .relaxed).newValue
        return StorageRevision(Array("rehearsal".utf8) + withUnsafeBytes(of: number.bigEndian, Array.init))
    }
}

/// A store that keeps changes in memory and reads unchanged slots from another store, the underlying store.
///
/// Preconditions, revisions, batches and limits work as in the underlying store. No slot, file or encryption key of that store is changed,
/// and no prompt is opened.
///
/// If another process changes a slot after the rehearsal changed it, reads return the content that the other process wrote.
package final class RehearsalStore: SalvageableBackend {
    /// The underlying store.
    package let base: any StorageBackend
    package let changes: RehearsedChanges

    /// Creates a rehearsal of a store.
    /// - Parameters:
    ///   - base: The underlying store.
    ///   - changes: The changes that the rehearsal has already made to this store.
    package init(over base: any StorageBackend, _ changes: RehearsedChanges = RehearsedChanges()) {
        self.base = base
        self.changes = changes
    }

    /// The identity of the underlying store, so that a slot has the same identity inside and outside the rehearsal.
    package var identity: BackendIdentity { base.identity }
    /// The capabilities of the underlying store.
    package var capabilities: BackendCapabilities { base.capabilities }

    /// Throws for the addresses that the underlying store refuses.
    package func validate(_ address: StorageAddress) throws(BackendError) { try base.validate(address) }

    /// Reads slots of the underlying store. If the rehearsal changed a slot, returns the rehearsed content instead.
    package func read(_ addresses: [StorageAddress], _ freshness: ReadFreshness) async throws(BackendError) -> [StorageProbe] {
        let probes = try await base.read(addresses, freshness)
        return changes.slots.withLock { slots in zip(addresses, probes).map { Self.present($1, slots[$0]) } }
    }

    /// Checks preconditions against the rehearsed content and keeps the changes in memory.
    package func apply(_ mutations: [StorageMutation]) async throws(BackendError) -> [MutationResult] {
        try mutations.requireDistinctAddresses()
        let probes = try await base.read(mutations.map(\.address), .fresh)
        return changes.slots.withLock { slots in
            let refusals = zip(mutations, probes).map { refusal(of: $0, over: Self.present($1, slots[$0.address])) }
            if capabilities.atomicBatch, refusals.contains(where: { $0 != nil }) { return refusals.map { $0 ?? .notAttempted } }
            var results: [MutationResult] = []
            for ((mutation, probe), refusal) in zip(zip(mutations, probes), refusals) {
                results.append(refusal ?? keep(mutation, over: probe, in: &slots))
            }
            return results
        }
    }

    /// Returns the durability that the underlying store claims. Flushes nothing.
    package func synchronize() async throws(BackendError) -> StorageDurability { capabilities.durability }

    /// Returns the status of the underlying store.
    package func status() async -> BackendStatus { await base.status() }

    // MARK: One slot

    static func present(_ probe: StorageProbe, _ change: RehearsedChanges.Change?) -> StorageProbe {
        guard let change, change.isOver(probe) else { return probe }
        return change.content
    }

    private func refusal(of mutation: StorageMutation, over probe: StorageProbe) -> MutationResult? {
        if case .put(.native, _) = mutation.operation, !capabilities.storesNativeValues {
            return .failed(BackendError(.unsupported, "This store takes bytes only, no native values. Give it a serializer's bytes."))
        }
        do throws(BackendError) { try capabilities.requireFit(mutation) } catch { return .failed(error) }
        return probe.refusal(of: mutation)
    }

    private func keep(
        _ mutation: StorageMutation, over probe: StorageProbe, in slots: inout [StorageAddress: RehearsedChanges.Change]
    ) -> MutationResult {
        let revision = RehearsedChanges.nextRevision()
        let content: StorageProbe
        switch mutation.operation {
        case .check: return .applied(Self.present(probe, slots[mutation.address]).revision, capabilities.durability)
        case .put(let payload, let metadata): content = .value(StorageRecord(payload: payload, metadata: metadata, revision: revision))
        case .tombstone(let metadata): content = .tombstone(StorageTombstone(metadata: metadata, revision: revision))
        case .delete: content = .absent
        }
        if case (.absent, .absent) = (content, probe) {
            slots[mutation.address] = nil
        } else {
            slots[mutation.address] = RehearsedChanges.Change(content: content, base: probe.revision)
        }
        return .applied(content.revision, capabilities.durability)
    }
}

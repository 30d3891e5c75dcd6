import Synchronization

/// What a rehearsal has changed in one physical store: kept in memory, and shared by every ``RehearsalStore`` over that store.
package final class RehearsedChanges: Sendable {
    /// One slot that the rehearsal changed.
    struct Change: Sendable {
        /// What the slot holds in the rehearsal: a value, a tombstone or nothing.
        let content: StorageProbe
        /// The revision of what the store itself held then; nil if the slot was empty.
        let base: StorageRevision?

        /// Whether the store itself still holds what the change was made over. If another program changed the slot, the store's own content counts.
        func isOver(_ probe: StorageProbe) -> Bool {
            switch probe {
            case .absent: base == nil
            case .value, .tombstone, .corrupt: base != nil && probe.revision == base
            case .locked, .unavailable: false
            }
        }
    }

    /// The number of the latest change of any rehearsal: no two rehearsed states of this process have one revision.
    private static let changes = Atomic<UInt64>(0)

    let slots = Mutex<[StorageAddress: Change]>([:])

    /// Creates an empty set of changes.
    package init() {}

    static func nextRevision() -> StorageRevision {
        let number = changes.add(1, ordering: .relaxed).newValue
        return StorageRevision(Array("rehearsal".utf8) + withUnsafeBytes(of: number.bigEndian, Array.init))
    }
}

/// A store that records instead of writing: reads go through to another store, changes stay in memory.
///
/// It keeps the contract of the store below it - preconditions, revisions, batches, limits - and never changes that store: no slot, no file, no key. It opens no prompt.
/// A slot that another program changes below a rehearsed change shows what that program wrote.
package final class RehearsalStore: SalvageableBackend {
    /// The store that is read.
    package let base: any StorageBackend
    package let changes: RehearsedChanges

    /// Creates a store over another one.
    /// - Parameters:
    ///   - base: The store that is read.
    ///   - changes: What was changed in it already.
    package init(over base: any StorageBackend, _ changes: RehearsedChanges = RehearsedChanges()) {
        self.base = base
        self.changes = changes
    }

    /// The identity of the store below, so that a slot has the same identity in the rehearsal as outside it.
    package var identity: BackendIdentity { base.identity }
    /// The claims of the store below.
    package var capabilities: BackendCapabilities { base.capabilities }

    /// Refuses what the store below refuses.
    package func validate(_ address: StorageAddress) throws(BackendError) { try base.validate(address) }

    /// Reads the store below, and replaces what the rehearsal changed.
    package func read(_ addresses: [StorageAddress], _ freshness: ReadFreshness) async throws(BackendError) -> [StorageProbe] {
        let probes = try await base.read(addresses, freshness)
        return changes.slots.withLock { slots in zip(addresses, probes).map { Self.present($1, slots[$0]) } }
    }

    /// Evaluates preconditions against what a read would find, and keeps the changes in memory.
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

    /// How durable the store below claims to be: nothing is flushed.
    package func synchronize() async throws(BackendError) -> StorageDurability { capabilities.durability }

    /// The state of the store below.
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

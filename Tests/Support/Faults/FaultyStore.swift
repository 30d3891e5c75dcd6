package import BackendContract
package import MemoryBackend

/// A store in memory with one fault, which laws and callers must notice.
package struct FaultyStore: SalvageableBackend, ImmediateBackend {
    /// A fault. Each closure replaces one call of the contract.
    package struct Fault: Sendable {
        package typealias Read = @Sendable (InMemoryStore, [StorageAddress], ReadFreshness) async throws(BackendError) -> [StorageProbe]
        package typealias Apply = @Sendable (InMemoryStore, [StorageMutation]) async throws(BackendError) -> [MutationResult]
        package typealias Addresses = @Sendable (InMemoryStore, StorageNamespace) async throws(BackendError) -> [StorageAddress]
        package typealias Page = @Sendable (InMemoryStore, StorageQuery, StorageCursor?, Int) async throws(BackendError) -> StoragePage
        package typealias Count = @Sendable (InMemoryStore, StorageQuery) async throws(BackendError) -> Int
        package typealias Synchronize = @Sendable (InMemoryStore) async throws(BackendError) -> StorageDurability

        package typealias Listing = @Sendable (InMemoryStore, StorageNamespace) async throws(BackendError) -> StorageListing
        package typealias Damage = @Sendable (InMemoryStore, DamageHandle) async throws(BackendError) -> StorageCorruption?
        package typealias DeleteDamage = @Sendable (InMemoryStore, DamageHandle) async throws(BackendError) -> Bool

        package var read: Read
        package var apply: Apply
        package var addresses: Addresses
        package var page: Page
        package var count: Count
        package var synchronize: Synchronize
        package var listing: Listing
        package var damage: Damage
        package var deleteDamage: DeleteDamage
        package var status: @Sendable (InMemoryStore) async -> BackendStatus
        package var identity: @Sendable (InMemoryStore) -> BackendIdentity
        /// The result of an immediate read. The default is nil: no immediate result.
        package var immediate: @Sendable (InMemoryStore, StorageAddress) -> StorageProbe? = { _, _ in nil }
        /// Whether a reopened store finds an empty medium.
        package var forgetsWhenReopened = false

        /// Creates a fault. Calls without a closure work correctly.
        package init(
            read: @escaping Read = { store, addresses, freshness async throws(BackendError) in try await store.read(addresses, freshness) },
            apply: @escaping Apply = { store, mutations async throws(BackendError) in try await store.apply(mutations) },
            addresses: @escaping Addresses = { store, namespace async throws(BackendError) in
                try await store.sealedAddresses(in: namespace)
            },
            page: @escaping Page = { store, query, cursor, limit async throws(BackendError) in
                try await store.sealedPage(query, after: cursor, limit: limit)
            }, count: @escaping Count = { store, query async throws(BackendError) in try await store.count(query) },
            synchronize: @escaping Synchronize = { store async throws(BackendError) in try await store.synchronize() },
            listing: @escaping Listing = { store, namespace async throws(BackendError) in try await store.sealedListing(in: namespace) },
            damage: @escaping Damage = { store, handle async throws(BackendError) in try await store.sealedDamage(at: handle) },
            deleteDamage: @escaping DeleteDamage = { store, handle async throws(BackendError) in
                try await store.deleteSealedDamage(at: handle)
            },
            status: @escaping @Sendable (InMemoryStore) async -> BackendStatus = { await $0.status() },
            identity: @escaping @Sendable (InMemoryStore) -> BackendIdentity = { $0.identity }
        ) {
            (self.read, self.apply, self.addresses, self.page) = (read, apply, addresses, page)
            (self.count, self.synchronize, self.status, self.identity) = (count, synchronize, status, identity)
            (self.listing, self.damage, self.deleteDamage) = (listing, damage, deleteDamage)
        }

        /// A fault that changes every probe.
        package static func probes(_ change: @escaping @Sendable (StorageProbe) -> StorageProbe) -> Fault {
            Fault(read: { store, addresses, freshness async throws(BackendError) in try await store.read(addresses, freshness).map(change) }
            )
        }

        /// A fault that changes every mutation before it is applied.
        package static func mutations(_ change: @escaping @Sendable (StorageMutation) -> StorageMutation) -> Fault {
            Fault(apply: { store, mutations async throws(BackendError) in try await store.apply(mutations.map(change)) })
        }

        /// A fault that changes every result.
        package static func results(_ change: @escaping @Sendable (StorageMutation, MutationResult) -> MutationResult) -> Fault {
            Fault(apply: { store, mutations async throws(BackendError) in zip(mutations, try await store.apply(mutations)).map(change) })
        }

        /// A fault that replaces each address with another one.
        package static func names(_ change: @escaping @Sendable (StorageAddress) -> StorageAddress) -> Fault {
            Fault(
                read: { store, addresses, freshness async throws(BackendError) in try await store.read(addresses.map(change), freshness) },
                apply: { store, mutations async throws(BackendError) in
                    try await store.apply(mutations.map { StorageMutation(change($0.address), $0.operation, if: $0.precondition) })
                })
        }
    }

    package let store: InMemoryStore
    package let fault: Fault

    package init(store: InMemoryStore, fault: Fault) { (self.store, self.fault) = (store, fault) }

    package var identity: BackendIdentity { fault.identity(store) }
    package var capabilities: BackendCapabilities { store.capabilities }

    package func read(_ addresses: [StorageAddress], _ freshness: ReadFreshness) async throws(BackendError) -> [StorageProbe] {
        try await fault.read(store, addresses, freshness)
    }

    package func immediateProbe(of address: StorageAddress) -> StorageProbe? { fault.immediate(store, address) }

    package func apply(_ mutations: [StorageMutation]) async throws(BackendError) -> [MutationResult] {
        try await fault.apply(store, mutations)
    }

    package func addresses(in namespace: StorageNamespace) async throws(BackendError) -> [StorageAddress] {
        try await fault.addresses(store, namespace)
    }

    package func page(_ query: StorageQuery, after cursor: StorageCursor?, limit: Int) async throws(BackendError) -> StoragePage {
        try await fault.page(store, query, cursor, limit)
    }

    package func listing(in namespace: StorageNamespace) async throws(BackendError) -> StorageListing {
        try await fault.listing(store, namespace)
    }

    package func damage(at handle: DamageHandle) async throws(BackendError) -> StorageCorruption? { try await fault.damage(store, handle) }

    package func deleteDamage(at handle: DamageHandle) async throws(BackendError) -> Bool { try await fault.deleteDamage(store, handle) }

    package func count(_ query: StorageQuery) async throws(BackendError) -> Int { try await fault.count(store, query) }

    package func synchronize() async throws(BackendError) -> StorageDurability { try await fault.synchronize(store) }

    package func status() async -> BackendStatus { await fault.status(store) }
}

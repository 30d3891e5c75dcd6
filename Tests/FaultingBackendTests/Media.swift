import BackendContract
import MemoryBackend
import Synchronization

/// Finds the medium of a store in memory again by the store's identity.
final class Media: Sendable {
    private let media = Mutex<[BackendIdentity: MemoryMedium]>([:])

    /// A store that was not kept here.
    struct UnknownStore: Error {}

    func keep(_ store: InMemoryStore) -> InMemoryStore {
        media.withLock { $0[store.identity] = store.medium }
        return store
    }

    func medium(of store: any StorageBackend) throws -> MemoryMedium {
        guard let medium = media.withLock({ $0[store.identity] }) else { throw UnknownStore() }
        return medium
    }
}

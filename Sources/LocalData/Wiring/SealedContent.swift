import BackendContract
import Sealing
import Synchronization

/// Finds the sealed data of this program, in every kind of store. Before the library creates the first key of a key
/// source, it searches for data that was sealed with keys of this source. If there is any, the key was lost, and no new
/// key is created.
///
/// The search covers the folders of databases, the quarantine, and the property lists of registered keys. It cannot
/// find other property lists of this program, because all programs share their folder. The store of a database may hold
/// this object. The stores that this object holds have no reference to it, so there is no cycle.
final class SealedContent: Sendable {
    private struct Place: Hashable {
        let slot: PhysicalSlot
        /// The identifier of the key source whose key seals the slot.
        let source: String
    }

    private let configuration: StorageConfiguration
    private let quarantine: OwnStore
    private let places = Mutex<[Place: any StorageBackend]>([:])

    init(_ configuration: StorageConfiguration, quarantine: OwnStore) {
        self.configuration = configuration
        self.quarantine = quarantine
    }

    /// Remembers a slot for later searches, if it is in a property list and is sealed. The slot belongs to a registered
    /// key or to one of its legacy locations.
    func note(_ route: Route, _ stores: any StoreProvider) throws {
        guard route.domain.kind == .userDefaults, let reference = route.security.keySource else { return }
        let place = Place(slot: route.slot, source: try stores.keySource(reference).identifier)
        places.withLock { $0[place] = route.backend }
    }

    /// Returns the ids of all keys of a source with which data is sealed.
    /// - Throws: `BackendError` when a store cannot be read. An incomplete result is never returned.
    func ids(of source: any KeySource, naming stores: any StoreProvider) async throws(BackendError) -> Set<[UInt8]> {
        var ids = try await Quarantine.sealedIDs(in: try quarantineBackend(), of: source, stores)
        for provider in configuration.providers {
            for keyed in try await provider.keyedStores(of: source, configuration).values { ids.formUnion(keyed) }
        }
        var lists: [BackendIdentity: (backend: any StorageBackend, addresses: [StorageAddress])] = [:]
        for (place, backend) in places.withLock(\.self) where place.source == source.identifier {
            lists[place.slot.store, default: (backend, [])].addresses.append(place.slot.address)
        }
        for (backend, addresses) in lists.values {
            ids.formUnion(RecordSeals.sealedIDs(in: try await backend.read(addresses, .validated)))
        }
        return ids
    }

    private func quarantineBackend() throws(BackendError) -> any StorageBackend {
        do { return try quarantine.backend() } catch { throw BackendError(.unavailable, "The quarantine cannot be opened: \(error)") }
    }
}

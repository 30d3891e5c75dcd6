import BackendContract
import Sealing
import Synchronization

/// What this program is known to have sealed, in every kind of store. It is asked before the first key of a source is made: a key that is missing for sealed data is never
/// made anew.
///
/// It knows the folders of databases, the quarantine, and the property lists that registered keys lead to. Which other property lists are this program's is unknown: all
/// programs share their folder. None of the stores that it holds refers back to it, so stores of databases may hold it.
final class SealedContent: Sendable {
    private struct Place: Hashable {
        let slot: PhysicalSlot
        /// The identifier of the source that the key names.
        let source: String
    }

    private let configuration: StorageConfiguration
    private let quarantine: OwnStore
    private let places = Mutex<[Place: any StorageBackend]>([:])

    init(_ configuration: StorageConfiguration, quarantine: OwnStore) {
        self.configuration = configuration
        self.quarantine = quarantine
    }

    /// Remembers a slot of a property list that a registered key leads to, or a legacy location of one.
    func note(_ route: Route, _ stores: any StoreProvider) throws {
        guard route.domain.kind == .userDefaults, let reference = route.security.keySource else { return }
        let place = Place(slot: route.slot, source: try stores.keySource(reference).identifier)
        places.withLock { $0[place] = route.backend }
    }

    /// The ids of the keys of a source that sealed something.
    /// - Throws: `BackendError` when a store cannot be read: an incomplete answer is never given.
    func ids(of source: any KeySource, naming stores: any StoreProvider) async throws(BackendError) -> Set<[UInt8]> {
        var ids = try await Quarantine.sealedIDs(in: try quarantineBackend(), of: source, stores)
        for provider in Wiring.providers {
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

import BackendContract
import Sealing

extension MigrationEngine {
    /// The ids of the keys of a source that sealed what is known to be outside of databases: in quarantine, and in the property lists where registered keys and their
    /// older places are. Which other property lists are this program's, nobody can tell: their folder is everybody's.
    func sealedIDs(of source: any KeySource) async throws(BackendError) -> Set<[UInt8]> {
        var slots: [BackendIdentity: (backend: any StorageBackend, addresses: Set<StorageAddress>)] = [:]
        for entry in registry.entries() {
            let older = (try? allSources(entry.key.olderPlaces, entry.route))?.map(\.route) ?? []
            for route in [entry.route] + older where route.domain.kind == .userDefaults {
                guard let reference = route.security.keySource, (try? records.sources(reference))?.identifier == source.identifier else {
                    continue
                }
                slots[route.slot.store, default: (route.backend, [])].addresses.insert(route.address)
            }
        }
        var ids = try await quarantine.keptIDs(of: source)
        for (backend, addresses) in slots.values {
            ids.formUnion(RecordCoder.sealedIDs(in: try await backend.read(Array(addresses), .validated)))
        }
        return ids
    }
}

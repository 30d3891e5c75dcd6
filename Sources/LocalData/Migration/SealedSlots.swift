import BackendContract
import Sealing

extension Environment {
    /// The ids of the keys of a source that sealed what is known to be outside of databases: in quarantine, and in the property lists where registered keys and their
    /// legacy locations are. Which other property lists are this program's is unknown: all programs share their folder.
    func sealedIDs(of source: any KeySource) async throws(BackendError) -> Set<[UInt8]> {
        var slots: [BackendIdentity: (backend: any StorageBackend, addresses: Set<StorageAddress>)] = [:]
        for entry in registry.entries() {
            let older = (try? LegacyLocations(self).all(entry.key.legacyLocations, of: entry.route.slot))?.map(\.route) ?? []
            for route in [entry.route] + older where route.domain.kind == .userDefaults {
                guard let reference = route.security.keySource, (try? coder.sources(reference))?.identifier == source.identifier else {
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

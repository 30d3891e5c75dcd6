import BackendContract
import Sealing

/// Finds the namespaces that may contain data sealed with a key of one key source: the namespaces of the keys of the
/// registered catalogs (also of keys that are no longer used), and of their legacy locations.
struct SealedPlaces: EnginePart, Sendable {
    /// A namespace of a store, which may contain sealed data.
    struct Part: Sendable {
        /// A route (a store, a slot and its protection) of one key in this store. The routes of the slots in this
        /// namespace are derived from it.
        let template: Route
        let namespace: StorageNamespace
        /// The namespace to which the seals are bound. A backup of an earlier schema version is a copy of the sealed
        /// bytes, so its seal is bound to the namespace of the original slot.
        let bound: StorageNamespace

        /// Returns the route of the slot with a name in this namespace.
        func route(_ name: String) -> Route { template.beside(in: namespace, named: name) }

        /// Returns the route of the slot to which the seal in a slot of this namespace is bound.
        func boundRoute(_ name: String) -> Route { template.beside(in: bound, named: name) }
    }

    let engine: Engine

    /// Returns every namespace once.
    /// - Parameter source: The source of the key.
    func parts(of source: any KeySource) throws -> [Part] {
        struct Name: Hashable {
            let store: BackendIdentity
            let namespace: StorageNamespace
        }
        var seen: Set<Name> = []
        var parts: [Part] = []
        for entry in history.registry.entries() + history.registry.catalogs.flatMap({ history.registry.retired(of: $0) }) {
            for (key, route) in [(entry.key, entry.route)]
                + (try LegacyLocations(engine: engine).all(entry.key.sources, of: entry.route.slot))
            {
                guard let reference = route.security.keySource,
                    try coder.seals.sources(reference).identifier == source.identifier
                else { continue }
                for (namespace, bound) in Self.namespaces(of: key, route) {
                    guard seen.insert(Name(store: route.slot.store, namespace: namespace)).inserted else { continue }
                    parts.append(Part(template: route, namespace: namespace, bound: bound))
                }
            }
        }
        return parts
    }

    /// Returns the namespaces in which a key stores data, each with the namespace to which its seals are bound.
    private static func namespaces(of key: AnyStorageKey, _ route: Route) -> [(StorageNamespace, bound: StorageNamespace)] {
        let slot = route.address.namespace
        let own = slot == .collections ? StorageNamespace.collection(route.address.name) : slot
        var namespaces = [StorageNamespace.values, slot, own, MirroredLocation.namespace(of: own)].map { ($0, bound: $0) }
        for version in 0...max(key.base.schemaVersion, 0) {
            // A backup is a copy of the sealed bytes of the slot, so its seal is bound to the slot's namespace.
            namespaces.append((Backups.namespace(of: own, version: version), bound: own))
        }
        return namespaces
    }
}

import BackendContract
import Sealing

/// The parts of stores in which a program's keys, and what a release before left beside them, may have sealed something with one source's key.
struct SealedPlaces: Sendable {
    /// A part of a store.
    struct Part: Sendable {
        /// A place in the same store, with the same protection.
        let template: Route
        let namespace: StorageNamespace
        /// What seals here are bound to; another part for copies that were taken as they stood there.
        let bound: StorageNamespace

        /// The route of a slot of this part.
        func route(_ name: String) -> Route { template.beside(in: namespace, named: name) }

        /// The route of the slot for which the content of a slot here was sealed.
        func boundRoute(_ name: String) -> Route { template.beside(in: bound, named: name) }
    }

    let env: Environment

    init(_ env: Environment) { self.env = env }

    /// Every part, each once.
    /// - Parameter source: The source of the key.
    func parts(of source: any KeySource) throws -> [Part] {
        struct Name: Hashable {
            let store: BackendIdentity
            let namespace: StorageNamespace
        }
        var seen: Set<Name> = []
        var parts: [Part] = []
        for entry in env.registry.entries() + env.registry.catalogs.flatMap({ env.registry.retired(of: $0) }) {
            for (key, route) in [(entry.key, entry.route)] + (try LegacyLocations(env).all(entry.key.sources, of: entry.route.slot)) {
                guard let reference = route.security.keySource,
                    try env.coder.seals.sources(reference).identifier == source.identifier
                else { continue }
                for (namespace, bound) in Self.namespaces(of: key, route) {
                    guard seen.insert(Name(store: route.slot.store, namespace: namespace)).inserted else { continue }
                    parts.append(Part(template: route, namespace: namespace, bound: bound))
                }
            }
        }
        return parts
    }

    /// The parts of a store that belong to a key, and what is sealed there is bound to.
    private static func namespaces(of key: AnyStorageKey, _ route: Route) -> [(StorageNamespace, bound: StorageNamespace)] {
        let slot = route.address.namespace
        let own = slot == .collections ? StorageNamespace.collection(route.address.name) : slot
        var namespaces = [StorageNamespace.values, slot, own, MirroredLocations.namespace(of: own)].map { ($0, bound: $0) }
        for version in 0...max(key.schemaVersion, 0) {
            // A backup has the bytes of the slot itself.
            namespaces.append((Backups.namespace(of: own, version: version), bound: own))
        }
        return namespaces
    }
}

extension AnyStorageKey {
    /// The version of the key's values, or of the collection's records.
    fileprivate var schemaVersion: Int {
        func version<Key: TypedKey>(_ key: Key) -> Int { key.typed.schemaVersion }
        return version(base)
    }
}

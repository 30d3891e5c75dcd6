import BackendContract

/// The locations whose content is forgotten: those in the forgotten domains, and the legacy locations of their keys and collections.
struct ForgottenPlaces {
    /// The forgotten domains, each with its scope.
    let domains: Set<StorageDomain>
    private var slots: Set<Place> = []
    /// The collections whose records are forgotten.
    private var collections: Set<Collection> = []

    private struct Collection: Hashable {
        let kind: String
        let scope: String
        let namespace: String
    }

    /// - Parameter domains: The forgotten domains, each with its scope.
    init(domains: Set<StorageDomain>) { self.domains = domains }

    /// Adds a legacy location: a slot, or all records of a collection.
    mutating func add(_ route: Route, _ key: AnyStorageKey) {
        let place = route.place
        guard key.collection != nil else {
            slots.insert(place)
            return
        }
        collections.insert(
            Collection(kind: place.kind, scope: place.scope, namespace: StorageNamespace.collection(key.name).name))
    }

    /// Returns whether the content of a location is forgotten.
    func contains(_ place: Place) -> Bool {
        slots.contains(place) || collections.contains(Collection(kind: place.kind, scope: place.scope, namespace: place.namespace))
            || domains.contains(StorageDomain(kind: StorageDomain.Kind(place.kind), scope: place.scope))
    }
}

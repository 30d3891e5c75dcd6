/// What a snapshot records of a key or collection: where it is, and the shape of what it stores.
package struct EntityShape: Sendable {
    package let name: String
    package let domain: String
    package let serializer: String
    /// The name that the records of a collection are stored with; nil for a key.
    package let recordTag: String?
    package let version: Int
    package let type: AttributeType
    /// Whether the value may come from another place.
    package let mayMove: Bool
    /// Whether a value of another shape is transformed in its own place, without a version.
    package let convertsInPlace: Bool
    private let evolution: EvolutionChain?

    fileprivate init<Value>(_ key: StorageKey<Value>, legacyLocations: [AnyStorageKey], isCollection: Bool) {
        let ownPlace = legacyLocations.filter { $0.name == key.name && $0.domain == key.domain && ($0.collection != nil) == isCollection }
        name = key.name
        domain = key.domain.description
        serializer = key.serializer.name
        recordTag = isCollection ? key.typeTag : nil
        version = key.schemaVersion
        type = .of(Value.self)
        mayMove = !legacyLocations.isEmpty
        convertsInPlace = !ownPlace.isEmpty
        evolution = key.evolution
    }

    /// Whether a value of a version can be read: it is the present one, or steps lead from it to that.
    package func canRead(version stored: Int) -> Bool {
        if stored == version { return true }
        guard let evolution, evolution.problem == nil, evolution.known.contains(stored) else { return false }
        return evolution.way(from: stored)?.last?.to == version
    }
}

extension AnyStorageKey {
    /// The shape of what the key or collection stores.
    package var shape: EntityShape {
        func shape<Value>(_ key: some TypedKey<Value>) -> EntityShape {
            EntityShape(key.typed, legacyLocations: legacyLocations, isCollection: collection != nil)
        }
        return shape(base)
    }

    /// The shape of what the key or collection stores, under its name and version; without properties for a lone text, number or list.
    public var entity: EntityDescription {
        let shape = shape
        guard case .compound(_, let attributes) = shape.type else { return EntityDescription(shape.name, version: shape.version) }
        return EntityDescription(shape.name, version: shape.version, attributes)
    }
}

/// What a snapshot records of a key: where it is, and the shape of what it stores.
package struct EntityShape: Sendable {
    package let name: String
    package let domain: String
    package let serializer: String
    package let version: Int
    package let type: AttributeType
    /// Whether the value may come from another place.
    package let mayMove: Bool
    /// Whether a value of another shape is transformed in its own place, without a version.
    package let convertsInPlace: Bool
    private let evolution: EvolutionChain?

    init<Value>(_ key: StorageKey<Value>) {
        let migrations = key.migrations
        let ownPlace = migrations.flatMap(\.sources).filter { $0.name == key.name && $0.domain == key.domain }
        name = key.name
        domain = key.domain.description
        serializer = key.serializer.name
        version = key.schemaVersion
        type = .of(Value.self)
        mayMove = !migrations.isEmpty
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
    /// The shape of what the key stores.
    package var shape: EntityShape { base.shape }

    /// The shape of what the key stores, under its name and version; without properties for a lone text, number or list.
    public var entity: EntityDescription {
        let shape = shape
        guard case .compound(_, let attributes) = shape.type else { return EntityDescription(shape.name, version: shape.version) }
        return EntityDescription(shape.name, version: shape.version, attributes)
    }

    /// The value of the key as a document; nil when it is absent.
    package func document(_ router: StorageRouter) async throws -> StoredDocument? { try await base.document(router) }
}

extension TypedKey {
    fileprivate var shape: EntityShape { EntityShape(typed) }

    fileprivate func document(_ router: StorageRouter) async throws -> StoredDocument? {
        try await router.value(for: typed).map { try StoredDocument(encoding: $0) }
    }
}

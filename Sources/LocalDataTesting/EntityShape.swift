import LocalData
import LocalDataModels

/// What a snapshot records of a key or collection: where it is, and the shape of what it stores.
struct EntityShape: Sendable {
    let name: String
    let domain: String
    let type: AttributeType
    /// Whether the value may come from another place.
    let mayMove: Bool
    /// Whether a value of another shape is transformed in its own place, without a version.
    let convertsInPlace: Bool
    private let declared: DeclaredEntity

    var serializer: String { declared.serializer }
    /// The name that the records of a collection are stored with; nil for a key.
    var recordTag: String? { declared.isCollection ? declared.typeTag : nil }
    var version: Int { declared.version }

    init(_ entry: AnyStorageKey) {
        let declared = entry.declaredEntity
        name = entry.name
        domain = entry.domain.description
        type = .of(declared.valueType)
        mayMove = !entry.legacyLocations.isEmpty
        convertsInPlace = entry.legacyLocations.contains {
            $0.name == entry.name && $0.domain == entry.domain && $0.declaredEntity.isCollection == declared.isCollection
        }
        self.declared = declared
    }

    /// Whether a value of a version can be read: it is the present one, or steps lead from it to that.
    func canRead(version stored: Int) -> Bool { declared.canRead(version: stored) }
}

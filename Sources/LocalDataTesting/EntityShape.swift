package import LocalData
import LocalDataModels

/// The recorded facts about one key or collection: its name, its domain, and the shape of its values.
package struct EntityShape: Sendable {
    let name: String
    let domain: String
    let type: AttributeType
    /// Whether the key declares legacy locations, so that its value may move here from another slot.
    let mayMove: Bool
    /// Whether the key declares a legacy location with its current name and domain.
    /// Values of another shape are then converted in the same slot, without a version.
    let convertsInPlace: Bool
    private let declared: DeclaredEntity

    package var serializer: String { declared.serializer }
    /// The type tag that is stored with each record of a collection; nil for a key.
    var recordTag: String? { declared.isCollection ? declared.typeTag : nil }
    package var version: Int { declared.version }
    /// Whether the key declares a chain of versions.
    package var hasChain: Bool { declared.hasChain }
    package var isCollection: Bool { declared.isCollection }

    package init(_ entry: AnyStorageKey) {
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

    /// Whether a stored version can be read: it is the current version, or migration steps lead from it to the current version.
    func canRead(version stored: Int) -> Bool { declared.canRead(version: stored) }
}

import Synchronization

/// A cache of the attributes (the descriptions of stored properties) that models declare. A model may compute them on
/// every access, and decoding a value needs them each time.
enum DeclaredShapes {
    private static let known = Mutex<[ObjectIdentifier: [AttributeDescription]]>([:])

    /// Returns the attributes that a type declares; nil if it is not a ``StorageModel``.
    static func attributes(of type: any Any.Type) -> [AttributeDescription]? {
        (type as? any StorageModel.Type).map { model in known.value(at: ObjectIdentifier(type)) { model.attributes } }
    }

    /// Whether a type has properties that have other names in older records.
    static func renames(_ type: any Any.Type) -> Bool { attributes(of: type)?.contains { $0.originalName != nil } == true }

    private static let derivations = Mutex<[Derivation: DerivedAttributes]>([:])

    /// A type and the name under which its values are stored.
    private struct Derivation: Hashable {
        let type: ObjectIdentifier
        let typeTag: String
    }

    /// Returns the attributes that are derived from the records of a type: those of its model, and those that a
    /// collection adds. Nil if there are none.
    /// - Parameter added: The attributes of the collection; nil if it adds none.
    static func derivedAttributes(of type: any Any.Type, typeTag: String, adding added: DerivedAttributes?) -> DerivedAttributes? {
        let declared = attributes(of: type)?.compactMap(\.derived.attribute) ?? []
        guard let added else {
            if declared.isEmpty { return nil }
            return derivations.value(at: Derivation(type: ObjectIdentifier(type), typeTag: typeTag)) {
                DerivedAttributes(declared, typeTag: typeTag)
            }
        }
        return declared.isEmpty ? added : DerivedAttributes(declared + added.all, typeTag: typeTag)
    }
}

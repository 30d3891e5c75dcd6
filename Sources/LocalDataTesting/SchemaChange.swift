/// One difference between a catalog and its recorded snapshot.
package struct SchemaChange: Hashable, Sendable {
    /// The effect of a change on stored values.
    package enum Effect: Hashable, Sendable {
        /// Every stored value can be read.
        case harmless
        /// Values of the latest recorded version need a step to a later version.
        case needsStep
        /// The declaration must be corrected. No step can convert the stored values.
        case refused
    }

    /// The changed part of a value, for the draft of a step. Types have their names of the snapshot.
    package enum Part: Hashable, Sendable {
        /// A property that older values do not have, and that is required.
        case missing(String, type: String)
        /// A property, or the whole value, of another type.
        case retyped(String, to: String)
        /// A property with another name and another type.
        case renamed(String, to: String, type: String)
        /// A property that no longer exists.
        case removed(String)
        /// Any other change.
        case other
    }

    /// The path of a value that has no properties.
    package static let wholeValue = CatalogSnapshot.Property.whole

    /// The name of the key or collection in the snapshot.
    package let entity: String
    /// The effect on stored values.
    package let effect: Effect
    /// The changed part of the value.
    package let part: Part
    /// The change, for people.
    package let text: String
    /// The correction, for people; nil for a harmless change.
    let remedy: String?

    /// The change, and the correction if there is one.
    package var description: String { remedy.map { "\(text)\($0)" } ?? text }
}

/// One property of a stored type: its name, its type, and whether it may be missing.
///
/// ```swift
/// let stars = AttributeDescription("stars", .integer, default: 0, originalName: "rating")
/// print(stars.mayBeMissing)  // true, because it has a default
/// ```
public struct AttributeDescription: Hashable, Sendable, Codable {
    /// The name of the property in stored values.
    public var name: String
    /// The type of the property.
    public var type: AttributeType
    /// Whether the property may be missing or null.
    public var isOptional: Bool
    /// The value that the property gets if an older value lacks it; nil if there is no default.
    public var defaultValue: DocumentValue?
    /// The name of the property in older values, if it was renamed; otherwise nil.
    public var originalName: String?
    /// The attribute of records that is derived from the property, if queries find records by it. It is a part of the
    /// program, not of the stored shape: it is neither compared nor encoded.
    package var derived = Derived()

    private enum CodingKeys: CodingKey {
        case name, type, isOptional, defaultValue, originalName
    }

    /// Creates the description of a property.
    public init(
        _ name: String, _ type: AttributeType, isOptional: Bool = false, default defaultValue: DocumentValue? = nil,
        originalName: String? = nil
    ) {
        (self.name, self.type, self.isOptional, self.defaultValue) = (name, type, isOptional, defaultValue)
        self.originalName = originalName
    }

    /// Whether a value that lacks the property can be read.
    public var mayBeMissing: Bool { isOptional || defaultValue != nil }

    /// A derived attribute, or none. All values are equal.
    package struct Derived: Hashable, Sendable {
        package var attribute: DerivedAttribute?

        package static func == (left: Self, right: Self) -> Bool { true }
        package func hash(into hasher: inout Hasher) {}
    }
}

/// The shape of the values that a key or a collection stores: its version and its properties.
///
/// A ``CatalogSchema`` consists of such descriptions. The module `LocalDataModels` derives them from Swift types.
///
/// ```swift
/// let schema = CatalogSchema(
///     "V2", entities: [EntityDescription("notes", version: 2, [AttributeDescription("title", .string)])],
///     configurations: ["text": ["notes"]])
/// print(schema.entity("notes")?.version ?? 0)  // 2
/// ```
public struct EntityDescription: Hashable, Sendable, Codable {
    /// The name of the key or collection.
    public var name: String
    /// The version of the shape.
    public var version: Int
    /// The stored properties. Transient properties are not among them, because they are never stored.
    public var attributes: [AttributeDescription]

    /// Creates the description of a shape.
    public init(_ name: String, version: Int = 1, _ attributes: [AttributeDescription] = []) {
        (self.name, self.version, self.attributes) = (name, version, attributes)
    }

    /// Returns the property with a name; nil if there is none.
    ///
    /// ```swift
    /// if entity.attribute("stars") == nil { print("\(entity.name) has no property with the name stars.") }
    /// ```
    public func attribute(_ name: String) -> AttributeDescription? { attributes.first { $0.name == name } }

    /// Returns the differences to another description, one sentence for each property. The result is empty if the
    /// shapes are the same. Default values, original names and the order of properties are not compared.
    ///
    /// ```swift
    /// let before = EntityDescription("notes", [AttributeDescription("title", .string)])
    /// let now = EntityDescription("notes", version: 2, [AttributeDescription("title", .string), stars])
    /// print(now.differences(from: before))  // ["notes.stars is new"]
    /// ```
    public func differences(from other: EntityDescription) -> [String] {
        var found: [String] = []
        for attribute in other.attributes where self.attribute(attribute.name) == nil { found.append("\(name).\(attribute.name) is gone") }
        for attribute in attributes {
            guard let before = other.attribute(attribute.name) else {
                found.append("\(name).\(attribute.name) is new")
                continue
            }
            if before.type != attribute.type { found.append("\(name).\(attribute.name) was \(before.type) and is \(attribute.type)") }
            if before.isOptional != attribute.isOptional {
                found.append("\(name).\(attribute.name) is \(attribute.isOptional ? "optional now" : "no longer optional")")
            }
        }
        return found
    }
}

/// A type that describes the shape of its stored values.
///
/// Conform to it if a migration plan or a snapshot of shapes must know the stored properties. The macro `@StorageModel`
/// of the module `LocalDataModels` generates the description. By hand it takes a few lines:
///
/// ```swift
/// struct Book: StorageModel {
///     var title: String
///     var stars: Int?
///     static let attributes = [AttributeDescription("title", .string), AttributeDescription("stars", .integer, isOptional: true)]
/// }
/// ```
public protocol StorageModel: Codable, Sendable {
    /// The descriptions of the stored properties.
    static var attributes: [AttributeDescription] { get }
}

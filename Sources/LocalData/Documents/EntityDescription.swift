/// One property of a stored type.
public struct AttributeDescription: Hashable, Sendable, Codable {
    /// The name under which it is stored.
    public var name: String
    /// What it holds.
    public var type: AttributeType
    /// Whether it may be missing or null.
    public var isOptional: Bool
    /// What it is where an older value lacks it.
    public var defaultValue: DocumentValue?
    /// The name under which older values have it.
    public var originalName: String?

    /// Describes a property.
    public init(
        _ name: String, _ type: AttributeType, isOptional: Bool = false, default defaultValue: DocumentValue? = nil,
        originalName: String? = nil
    ) {
        self.name = name
        self.type = type
        self.isOptional = isOptional
        self.defaultValue = defaultValue
        self.originalName = originalName
    }

    /// Whether an older value without the property can be read.
    public var mayBeMissing: Bool { isOptional || defaultValue != nil }
}

/// The shape of what an entity - a key or a collection - stores.
public struct EntityDescription: Hashable, Sendable, Codable {
    /// The name of the key or collection.
    public var name: String
    /// The version of the shape.
    public var version: Int
    /// The properties. Transient ones are not among them: they are never stored.
    public var attributes: [AttributeDescription]

    /// Describes an entity.
    public init(_ name: String, version: Int = 1, _ attributes: [AttributeDescription] = []) {
        self.name = name
        self.version = version
        self.attributes = attributes
    }

    /// The property of a name.
    public func attribute(_ name: String) -> AttributeDescription? { attributes.first { $0.name == name } }

    /// What differs in another description, one sentence for each property; empty when the shapes are the same. The order of properties does not count.
    public func differences(from other: EntityDescription) -> [String] {
        var found: [String] = []
        for attribute in other.attributes where self.attribute(attribute.name) == nil {
            found.append("\(name).\(attribute.name) is gone")
        }
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

/// A type that describes the shape of what it stores. The macro `@StorageModel` writes the description; by hand it is a few lines:
///
/// ```swift
/// struct Note: StorageModel {
///     var title: String
///     var stars: Int?
///     static let attributes = [AttributeDescription("title", .string), AttributeDescription("stars", .integer, isOptional: true)]
/// }
/// ```
public protocol StorageModel: Codable, Sendable {
    /// The stored properties.
    static var attributes: [AttributeDescription] { get }
}

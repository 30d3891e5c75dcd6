public import Foundation
public import LocalData

/// The declared shapes of a catalog and of its earlier versions: a fixture for people to read and for a test to compare.
///
/// Each property is one line: `"stars" : "integer"`, `"address.street" : "string?"`, `"phones[].number" : "string"`. A question mark means optional.
/// `with default` means that an older value without the property gets a default. `formerly x` means that older values name it `x`.
public struct CatalogSnapshot: Hashable, Sendable, Codable {
    /// One key or collection.
    struct Entity: Hashable, Sendable, Codable {
        var domain: String
        var serializer: String
        /// The type tag of a collection's records.
        var recordTag: String?
        /// The properties of each recorded version, by their path.
        var versions: [Int: [String: Property]]

        /// The latest recorded version.
        var version: Int { versions.keys.max() ?? 0 }
    }

    /// The id of the catalog.
    public let catalog: String
    var entities: [String: Entity]

    /// Creates a snapshot of a catalog as declared now.
    public init(_ catalog: some StorageKeyCatalog) {
        self.init(catalog.id, catalog.allKeys.map(EntityShape.init))
    }

    init(_ catalog: String, _ shapes: [EntityShape]) {
        self.catalog = catalog
        entities = Dictionary(
            Self.named(shapes).map { name, shape in
                (
                    name,
                    Entity(
                        domain: shape.domain, serializer: shape.serializer, recordTag: shape.recordTag,
                        versions: [shape.version: Property.all(of: shape.type)])
                )
            }, uniquingKeysWith: { first, _ in first })
    }

    /// The shapes by key name. If several domains have a key of one name, the name includes the domain.
    static func named(_ shapes: [EntityShape]) -> [(String, EntityShape)] {
        let counts = Dictionary(shapes.map { ($0.name, 1) }, uniquingKeysWith: +)
        return shapes.map { (counts[$0.name] == 1 ? $0.name : "\($0.name) in \($0.domain)", $0) }
    }

    /// Reads a snapshot.
    public init(json: Data) throws { self = try JSONDecoder().decode(CatalogSnapshot.self, from: json) }

    /// The snapshot as JSON: equal shapes give equal text, with one line for each property.
    public func json() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(self) + Data("\n".utf8)
    }
}

extension CatalogSnapshot {
    /// One property, written as one line.
    struct Property: Hashable, Sendable, Codable, CustomStringConvertible {
        var type: String
        var isOptional = false
        var hasDefault = false
        var formerName: String?

        /// The path of a value without properties.
        static let whole = "(value)"

        /// Whether an older value without the property can be read.
        var mayBeMissing: Bool { isOptional || hasDefault }

        /// The properties of a type and, at any depth, of their types.
        static func all(of type: AttributeType) -> [String: Property] {
            var found: [String: Property] = [:]
            if case .compound(_, let attributes) = type {
                add(attributes, below: "", to: &found)
            } else {
                found[whole] = Property(type: text(type))
                add(partsOf: type, below: "", to: &found)
            }
            return found
        }

        private static func add(_ attributes: [AttributeDescription], below prefix: String, to found: inout [String: Property]) {
            for attribute in attributes {
                let way = prefix.isEmpty ? attribute.name : "\(prefix).\(attribute.name)"
                found[way] = Property(
                    type: text(attribute.type), isOptional: attribute.isOptional, hasDefault: attribute.defaultValue != nil,
                    formerName: attribute.originalName)
                add(partsOf: attribute.type, below: way, to: &found)
            }
        }

        private static func add(partsOf type: AttributeType, below way: String, to found: inout [String: Property]) {
            switch type {
            case .compound(_, let attributes): add(attributes, below: way, to: &found)
            case .array(let element): add(partsOf: element, below: "\(way)[]", to: &found)
            case .dictionary(let element): add(partsOf: element, below: "\(way){}", to: &found)
            default: break
            }
        }

        /// A type in words. The Swift name of a compound type is not stored and may change.
        private static func text(_ type: AttributeType) -> String {
            switch type {
            case .compound: "object"
            case .array(let element): "array of \(text(element))"
            case .dictionary(let element): "dictionary of \(text(element))"
            default: type.description
            }
        }

        var description: String {
            type + (isOptional ? "?" : "") + (hasDefault ? " with default" : "") + (formerName.map { " formerly \($0)" } ?? "")
        }

        init(type: String, isOptional: Bool = false, hasDefault: Bool = false, formerName: String? = nil) {
            self.type = type
            self.isOptional = isOptional
            self.hasDefault = hasDefault
            self.formerName = formerName
        }

        init(from decoder: any Decoder) throws {
            var text = try decoder.singleValueContainer().decode(String.self)[...]
            var formerName: String?
            if let range = text.firstRange(of: " formerly ") {
                formerName = String(text[range.upperBound...])
                text = text[..<range.lowerBound]
            }
            let hasDefault = text.hasSuffix(" with default")
            if hasDefault { text.removeLast(" with default".count) }
            let isOptional = text.hasSuffix("?")
            if isOptional { text.removeLast() }
            self.init(type: String(text), isOptional: isOptional, hasDefault: hasDefault, formerName: formerName)
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(description)
        }
    }
}

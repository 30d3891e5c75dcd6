public import Foundation
public import LocalData

/// The declared shapes of the values of a catalog, and of its earlier versions.
///
/// The snapshot is a fixture: people review it, and a test compares it with the current catalog.
/// `requireSchemaUnchanged` does both in one line.
///
/// ```swift
/// let snapshot = CatalogSnapshot(AppKeys())
/// print(String(decoding: try snapshot.json(), as: UTF8.self))  // "title" : "string", …
/// ```
///
/// Each property is one line: `"stars" : "integer"`, `"address.street" : "string?"`, `"phones[].number" : "string"`.
///
/// - A question mark means that the property is optional.
/// - `with default` means that the property gets a default if an older value lacks it.
/// - `formerly x` means that older values store the property under the name `x`.
public struct CatalogSnapshot: Hashable, Sendable, Codable {
    /// One key or collection of the catalog.
    struct Entity: Hashable, Sendable, Codable {
        var domain: String
        var serializer: String
        /// The type tag, the name of the record type that is stored with each record of a collection; nil for a key.
        var recordTag: String?
        /// The properties of each recorded version: version number, then property path.
        var versions: [Int: [String: Property]]

        /// The latest recorded version.
        var version: Int { versions.keys.max() ?? 0 }
    }

    /// The catalog's id.
    public let catalog: String
    var entities: [String: Entity]

    /// Creates a snapshot of the current declarations of a catalog.
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

    /// Pairs each shape with the name of its key. If keys in several domains share a name, the domain is appended.
    package static func named(_ shapes: [EntityShape]) -> [(String, EntityShape)] {
        let counts = Dictionary(shapes.map { ($0.name, 1) }, uniquingKeysWith: +)
        return shapes.map { (counts[$0.name] == 1 ? $0.name : "\($0.name) in \($0.domain)", $0) }
    }

    /// Decodes a snapshot from JSON.
    /// - Throws: `DecodingError` if the data is not a snapshot.
    public init(json: Data) throws { self = try JSONDecoder().decode(CatalogSnapshot.self, from: json) }

    /// Encodes the snapshot as JSON, one line for each property. Equal shapes produce equal text.
    ///
    /// ```swift
    /// let snapshot = CatalogSnapshot(AppKeys())
    /// print(String(decoding: try snapshot.json(), as: UTF8.self))  // "title" : "string", …
    /// ```
    public func json() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(self) + Data("\n".utf8)
    }
}

extension CatalogSnapshot {
    /// One property of a stored value. It is encoded as one string.
    struct Property: Hashable, Sendable, Codable, CustomStringConvertible {
        var type: String
        var isOptional = false
        var hasDefault = false
        var formerName: String?

        /// The path of a value that has no properties, for example a number or a list.
        static let whole = "(value)"

        /// Whether an older value that lacks the property can be read.
        var mayBeMissing: Bool { isOptional || hasDefault }

        /// The properties of a type, including nested properties, by their path.
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

        /// The name of a type in the snapshot. A compound type is always "object", because its Swift name is not stored and may change.
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

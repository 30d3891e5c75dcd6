public import Foundation

/// A stored value without the type that wrote it: read, changed and written by the names of its properties.
///
/// It is `Codable` itself, so that a `StorageKey<StoredDocument>` or a collection of documents opens any JSON or property list in a slot.
///
/// ```swift
/// document.rename("name", to: "title")
/// document["address.city"] = "Graz"
/// let year = document["year"]?.integer
/// ```
public struct StoredDocument: Hashable, Sendable, Codable {
    /// The whole content.
    public var root: DocumentValue

    /// Creates a document.
    public init(_ root: DocumentValue = .object([:])) { self.root = root }

    /// Reads any content.
    public init(from decoder: any Decoder) throws { root = try DocumentValue(from: decoder) }

    /// Writes the content, and nothing around it.
    public func encode(to encoder: any Encoder) throws { try root.encode(to: encoder) }

    /// The document of a value, as JSON shows it.
    /// - Throws: What the value's own `encode(to:)` throws.
    public init<Value: Encodable>(encoding value: Value) throws {
        self = try Coders.jsonDecoder.decode(StoredDocument.self, from: try Coders.jsonEncoder.encode(value))
    }

    /// Reads a JSON document.
    public init(json: Data) throws { self = try Coders.jsonDecoder.decode(StoredDocument.self, from: json) }

    /// The document as JSON, with sorted names.
    public func json() throws -> Data { try Coders.jsonEncoder.encode(self) }

    /// The value that the document describes.
    /// - Throws: `DecodingError` when it is not such a value.
    public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
        try Coders.jsonDecoder.decode(type, from: try json())
    }

    /// The value at a place of the document.
    /// - Throws: `DecodingError` when there is none, or it is another.
    public func decode<Value: Decodable>(_ type: Value.Type = Value.self, at path: DocumentPath) throws -> Value {
        try StoredDocument(self[path] ?? .null).decode(type)
    }

    // MARK: Looking and changing

    /// The value at a place; nil where there is none. Setting nil removes it, setting a value makes the objects on the way to it; nothing happens where a
    /// text or a number is in the way, or a list has no such position (its end may be appended to).
    public subscript(path: DocumentPath) -> DocumentValue? {
        get { Self.value(in: root, path.components[...]) }
        set { Self.set(newValue, in: &root, path.components[...]) }
    }

    /// The names of the properties, sorted; none when the document is no object.
    public var names: [String] { root.object.map { $0.keys.sorted() } ?? [] }

    /// Gives a property another name, in the same place or another; a property of that name is replaced. Nothing happens when it is not there, or the new place cannot be
    /// made, since a text or a number is in the way or a list has no such position.
    public mutating func rename(_ path: DocumentPath, to newPath: DocumentPath) {
        guard path != newPath, let value = self[path] else { return }
        if case .name? = path.components.first, case .name? = newPath.components.first,
            path.components.count + newPath.components.count == 2
        {
            // Within one object nothing is in the way: it is changed where it is.
            self[path] = nil
            self[newPath] = value
            return
        }
        var renamed = self
        renamed[path] = nil
        renamed[newPath] = value
        if renamed[newPath] != nil { self = renamed }
    }

    /// Removes a property. Nothing happens when it is not there.
    public mutating func remove(_ path: DocumentPath) { self[path] = nil }

    /// Adds a property, unless it is there already.
    public mutating func add(_ path: DocumentPath, default value: DocumentValue) {
        if self[path] == nil { self[path] = value }
    }

    /// Copies a property. Nothing happens when it is not there.
    public mutating func copy(_ path: DocumentPath, to newPath: DocumentPath) {
        if let value = self[path] { self[newPath] = value }
    }

    /// Changes a property where it is there.
    public mutating func update(_ path: DocumentPath, _ change: (DocumentValue) throws -> DocumentValue) rethrows {
        if let value = self[path] { self[path] = try change(value) }
    }

    /// Gives a property another type, where it is there and is not null.
    /// - Throws: ``DocumentError`` when the value has no such form: "x" is no number, 1.5 no whole one.
    public mutating func convert(_ path: DocumentPath, to type: AttributeType) throws {
        guard let value = self[path], value != .null else { return }
        guard let converted = type.converted(value) else {
            throw DocumentError(path: path, "is \(value.kindName) and cannot become \(type)")
        }
        self[path] = converted
    }

    private static func value(in value: DocumentValue, _ path: ArraySlice<DocumentPath.Component>) -> DocumentValue? {
        switch path.first {
        case nil: return value
        case .name(let name): return value.object?[name].flatMap { Self.value(in: $0, path.dropFirst()) }
        case .position(let position):
            guard let array = value.array, array.indices.contains(position) else { return nil }
            return Self.value(in: array[position], path.dropFirst())
        }
    }

    private static func set(_ new: DocumentValue?, in value: inout DocumentValue, _ path: ArraySlice<DocumentPath.Component>) {
        switch path.first {
        case nil: value = new ?? .null
        case .name(let name):
            var properties: [String: DocumentValue]
            switch value {
            case .object(let known): properties = known
            case .null where new != nil: properties = [:]
            default: return
            }
            value = .null
            if path.count == 1 {
                properties[name] = new
            } else if new != nil || properties[name] != nil {
                set(new, in: &properties[name, default: .null], path.dropFirst())
            }
            value = .object(properties)
        case .position(let position):
            guard var array = value.array, position <= array.count else { return }
            if position == array.count {
                guard let new else { return }
                var element = DocumentValue.null
                set(new, in: &element, path.dropFirst())
                array.append(element)
            } else if path.count == 1, new == nil {
                array.remove(at: position)
            } else {
                set(new, in: &array[position], path.dropFirst())
            }
            value = .array(array)
        }
    }
}

/// Why a document could not be changed as a step asked. It names the place, never the content.
public struct DocumentError: LocalizedError, Sendable, CustomStringConvertible {
    /// The place.
    public let path: DocumentPath
    private let what: String

    init(path: DocumentPath, _ what: String) {
        self.path = path
        self.what = what
    }

    /// One sentence, without any of the content.
    public var errorDescription: String? { description }

    /// One sentence, without any of the content.
    public var description: String { "\(path) \(what)" }
}

public import Foundation

/// A stored value without its Swift type. Its properties can be read, changed and written by name.
///
/// Steps of an ``Evolution`` receive documents. A `StorageKey<StoredDocument>` or a collection of documents can read
/// any JSON or property list in a slot, because documents are `Codable`.
///
/// ```swift
/// var document = try StoredDocument(json: Data(#"{"name": "Milk", "year": 2024}"#.utf8))
/// document.rename("name", to: "title")
/// document["address.city"] = "Graz"
/// let year = document["year"]?.integer
/// ```
///
/// No function crashes because a property is missing or has another type: a read returns nil, and a change does
/// nothing.
public struct StoredDocument: Hashable, Sendable, Codable {
    /// The whole content.
    public var root: DocumentValue

    /// Creates a document.
    ///
    /// ```swift
    /// let empty = StoredDocument()
    /// let note = StoredDocument(["title": "Groceries", "stars": 3, "tags": ["home"]])
    /// ```
    public init(_ root: DocumentValue = .object([:])) { self.root = root }

    /// Decodes any content.
    public init(from decoder: any Decoder) throws { root = try DocumentValue(from: decoder) }

    /// Encodes the content without a wrapper.
    public func encode(to encoder: any Encoder) throws { try root.encode(to: encoder) }

    /// Creates a document with the JSON content of a value.
    ///
    /// ```swift
    /// let document = try StoredDocument(encoding: address)
    /// print(document.names)  // ["city", "street"]
    /// ```
    /// - Throws: The errors of the value's `encode(to:)`.
    public init<Value: Encodable>(encoding value: Value) throws {
        self = try Coders.jsonDecoder.decode(StoredDocument.self, from: try Coders.jsonEncoder.encode(value))
    }

    /// Parses a JSON document.
    ///
    /// ```swift
    /// do { print(try StoredDocument(json: Data(text.utf8)).names) } catch is DecodingError { print("This is not JSON.") }
    /// ```
    /// - Throws: `DecodingError` if the data is not JSON.
    public init(json: Data) throws { self = try Coders.jsonDecoder.decode(StoredDocument.self, from: json) }

    /// Returns the document as JSON with sorted property names.
    ///
    /// ```swift
    /// print(String(decoding: try document.json(), as: UTF8.self))  // {"city":"Graz","street":"Sporgasse"}
    /// ```
    public func json() throws -> Data { try Coders.jsonEncoder.encode(self) }

    /// Decodes the document as a value.
    ///
    /// ```swift
    /// do { print(try document.decode(Address.self).city) } catch is DecodingError { print("A property is missing.") }
    /// ```
    /// - Throws: `DecodingError` if the document does not describe such a value.
    public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
        try Coders.value(type, inJSON: Array(try json()))
    }

    /// Decodes the part of the document at a path. A missing part is decoded as null.
    ///
    /// ```swift
    /// let address = try document.decode(Address.self, at: "people[0].address")
    /// let none = try document.decode(Address?.self, at: "people[9].address")  // a missing part is null
    /// ```
    /// - Throws: `DecodingError` if the part does not describe such a value.
    public func decode<Value: Decodable>(_ type: Value.Type = Value.self, at path: DocumentPath) throws -> Value {
        try StoredDocument(self[path] ?? .null).decode(type)
    }

    // MARK: Looking and changing

    /// The value at a path; nil if there is none.
    ///
    /// Setting nil removes the value. Setting a value creates the missing objects on the path. Nothing happens if a
    /// string or number is on the path, or if a list does not have the position. The position after the last element
    /// appends to the list.
    ///
    /// ```swift
    /// document["address.city"] = "Graz"  // creates the object `address` if it is missing
    /// document["tags[0]"] = nil  // removes the first element of the list
    /// print(document["address.city"]?.string ?? "There is no city.")
    /// ```
    public subscript(path: DocumentPath) -> DocumentValue? {
        get { Self.value(in: root, path.components[...]) }
        set { Self.set(newValue, in: &root, path.components[...]) }
    }

    /// The sorted names of the properties; empty if the document is not an object.
    ///
    /// ```swift
    /// for name in document.names { print(name) }  // empty for a document that is a list or a text
    /// ```
    public var names: [String] { root.object.map { $0.keys.sorted() } ?? [] }

    /// Renames or moves a property. An existing property at the new path is replaced.
    ///
    /// The document is not changed if the property does not exist, or if the new path cannot be created. A path cannot
    /// be created if a string or number is on it, or if a list does not have the position.
    ///
    /// ```swift
    /// document.rename("name", to: "person.name")  // does nothing if `name` is missing
    /// ```
    public mutating func rename(_ path: DocumentPath, to newPath: DocumentPath) {
        guard path != newPath, let value = self[path] else { return }
        if case .name? = path.components.first, case .name? = newPath.components.first,
            path.components.count + newPath.components.count == 2
        {
            // Both paths are names in the root object. The new path can always be created, so no copy of the document
            // is needed.
            self[path] = nil
            self[newPath] = value
            return
        }
        var renamed = self
        renamed[path] = nil
        renamed[newPath] = value
        if renamed[newPath] != nil { self = renamed }
    }

    /// Removes a property. Nothing happens if it does not exist.
    ///
    /// ```swift
    /// document.remove("address.street")
    /// ```
    public mutating func remove(_ path: DocumentPath) { self[path] = nil }

    /// Adds a property, unless it exists.
    ///
    /// ```swift
    /// document.add("stars", default: 0)  // an existing value stays
    /// ```
    public mutating func add(_ path: DocumentPath, default value: DocumentValue) {
        if self[path] == nil { self[path] = value }
    }

    /// Copies a property. Nothing happens if it does not exist.
    ///
    /// ```swift
    /// document.copy("title", to: "subtitle")
    /// ```
    public mutating func copy(_ path: DocumentPath, to newPath: DocumentPath) {
        if let value = self[path] { self[newPath] = value }
    }

    /// Changes a property, if it exists.
    ///
    /// ```swift
    /// document.update("title") { .string(($0.string ?? "").uppercased()) }
    /// ```
    public mutating func update(_ path: DocumentPath, _ change: (DocumentValue) throws -> DocumentValue) rethrows {
        if let value = self[path] { self[path] = try change(value) }
    }

    /// Converts a property to another type, if it exists and is not null.
    ///
    /// ```swift
    /// do { try document.convert("stars", to: .integer) } catch let error as DocumentError {
    ///     print("\(error.path) stays unchanged: \(error)")  // the text never contains the value
    /// }
    /// ```
    /// - Throws: ``DocumentError`` if the value cannot be converted: "x" is not a number, and 1.5 is not an integer.
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
            return value.array.flatMap { $0.indices.contains(position) ? Self.value(in: $0[position], path.dropFirst()) : nil }
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

/// The error of a conversion that a document does not allow. It names the path, never the content.
///
/// ```swift
/// do { try document.convert("stars", to: .integer) } catch let error as DocumentError {
///     print("\(error.path) stays unchanged: \(error)")  // the text never contains the value
/// }
/// ```
public struct DocumentError: LocalizedError, Sendable, CustomStringConvertible {
    /// The path of the value that could not be changed.
    public let path: DocumentPath
    private let what: String

    init(path: DocumentPath, _ what: String) {
        self.path = path
        self.what = what
    }

    /// The error in one sentence, without any of the content.
    public var errorDescription: String? { description }

    /// The error in one sentence, without any of the content.
    public var description: String { "\(path) \(what)" }
}

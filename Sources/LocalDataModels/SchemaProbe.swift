import Foundation
public import LocalData

/// Infers the shape of a type that does not describe its properties.
///
/// The probe calls the type's `init(from:)` with a decoder that returns an empty value for each request and records the requests.
/// It reads and stores no data.
///
/// Some shapes cannot be inferred, so the result contains only the type's name: an enumeration with associated values, a type that
/// decodes different properties depending on the content, and a type that rejects empty values.
struct SchemaProbe {
    /// Types that this probe is already inferring. A nested occurrence of such a type is described by its name, which ends the recursion.
    private var underWay: Set<ObjectIdentifier> = []

    @TaskLocal private static var describing: Set<ObjectIdentifier> = []

    /// The result of probing a type.
    struct Finding {
        var type: AttributeType
        var isOptional = false
        /// An empty value of the type; nil if none could be created.
        var value: Any?
    }

    /// The shape of a type; ``AttributeType/named(_:)`` if it cannot be inferred.
    static func type(of type: any Any.Type) -> AttributeType { SchemaProbe(underWay: describing).finding(type).type }

    func finding(_ type: any Any.Type) -> Finding {
        if let scalar = Self.scalars[ObjectIdentifier(type)] { return Finding(type: scalar.type, value: scalar.empty) }
        if let optional = type as? any ProbedOptional.Type {
            return Finding(type: finding(optional.wrapped).type, isOptional: true, value: optional.emptyValue)
        }
        if let list = type as? any ProbedList.Type { return Finding(type: .array(finding(list.element).type), value: list.emptyValue) }
        if let dictionary = type as? any ProbedDictionary.Type {
            return Finding(
                type: dictionary.isKeyedByText ? .dictionary(finding(dictionary.element).type) : .named("\(type)"),
                value: dictionary.emptyValue)
        }
        if let reference = type as? any ProbedReference.Type {
            return Finding(type: .reference("\(reference.target)"), value: reference.emptyValue)
        }
        let id = ObjectIdentifier(type)
        guard !underWay.contains(id), let decodable = type as? any Decodable.Type else { return Finding(type: .named("\(type)")) }
        var inner = self
        inner.underWay.insert(id)
        var found = inner.run(decodable)
        if let model = type as? any StorageModel.Type {
            found.type = .compound("\(type)", Self.$describing.withValue(inner.underWay) { model.attributes })
        }
        if found.value == nil { found.value = Self.emptyValue(of: decodable) }
        return found
    }

    private func run<Value: Decodable>(_ type: Value.Type) -> Finding {
        let sketch = ShapeSketch()
        // Reason: "The shape of a type is found with empty values" in Docs/Decisions/Evolution.md.
        let value = try? Value(from: ProbingDecoder(sketch: sketch, probe: self, codingPath: []))
        return Finding(type: sketch.type(named: "\(type)", isComplete: value != nil), value: value)
    }

    private static func emptyValue<Value: Decodable>(of type: Value.Type) -> Any? {
        if let cases = type as? any CaseIterable.Type { return first(cases) }
        // The type may be an enumeration that rejects the empty raw value. A decodable type that can be copied bit by
        // bit contains only numbers, Booleans and enumerations. Memory with only zero bits is a valid value of each of
        // these: zero, false, or the first case.
        guard type is any RawRepresentable.Type, _isPOD(type) else { return nil }
        return withUnsafeTemporaryAllocation(byteCount: max(1, MemoryLayout<Value>.size), alignment: MemoryLayout<Value>.alignment) {
            $0.initializeMemory(as: UInt8.self, repeating: 0)
            return $0.baseAddress?.load(as: Value.self)
        }
    }

    private static func first<Cases: CaseIterable>(_ type: Cases.Type) -> Any? { type.allCases.first }

    private static let scalars: [ObjectIdentifier: (type: AttributeType, empty: any Sendable)] = {
        var scalars: [ObjectIdentifier: (type: AttributeType, empty: any Sendable)] = [:]
        func add<Value: Sendable>(_ empty: Value, _ type: AttributeType) { scalars[ObjectIdentifier(Value.self)] = (type, empty) }
        func add<Number: BinaryInteger & Sendable>(whole: Number.Type) { add(Number(0), .integer) }
        add("", .string)
        add(false, .boolean)
        add(whole: Int.self)
        add(whole: Int8.self)
        add(whole: Int16.self)
        add(whole: Int32.self)
        add(whole: Int64.self)
        add(whole: UInt.self)
        add(whole: UInt8.self)
        add(whole: UInt16.self)
        add(whole: UInt32.self)
        add(whole: UInt64.self)
        add(0 as Double, .double)
        add(0 as Float, .double)
        add(0 as CGFloat, .double)
        add(0 as Decimal, .decimal)
        add(Date(timeIntervalSinceReferenceDate: 0), .date)
        add(Data(), .data)
        add(UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)), .uuid)
        add(URL(filePath: "/"), .named("URL"))
        add(DocumentValue.null, .named("DocumentValue"))
        add(StoredDocument(), .named("StoredDocument"))
        return scalars
    }()
}

extension AttributeType {
    /// The shape of a property's type, inferred without a value.
    ///
    /// ```swift
    /// print(AttributeType.of([Int].self))  // array of integer
    /// print(AttributeType.of(Phone.self))  // Phone, with its properties
    /// ```
    ///
    /// A ``StorageModel`` describes its shape. For any other type, `init(from:)` runs once with empty values, which shows the properties
    /// that it decodes. If that initializer must not run with empty values, make the type a `StorageModel`.
    ///
    /// The shape of an optional is the shape of its wrapped type. A shape that cannot be inferred is ``named(_:)``.
    public static func of(_ type: any Any.Type) -> AttributeType { SchemaProbe.type(of: type) }
}

extension AttributeType {
    /// Returns an empty value of a type: empty strings, zeros, the first case of an enumeration. Nil if none could be created.
    package static func emptyValue<Value>(of type: Value.Type) -> Value? { SchemaProbe().finding(type).value as? Value }
}

extension AttributeDescription {
    /// Describes a property by its Swift type. An optional type makes the property optional.
    ///
    /// ```swift
    /// let kind = AttributeDescription("kind", of: String?.self)
    /// print(kind.isOptional)  // true
    /// ```
    /// - Parameters:
    ///   - name: The stored name.
    ///   - type: The type of the property: see ``AttributeType/of(_:)``.
    ///   - defaultValue: The value of the property if an older value lacks it.
    ///   - originalName: The stored name in older values.
    public init(_ name: String, of type: any Any.Type, default defaultValue: DocumentValue? = nil, originalName: String? = nil) {
        self.init(
            name, .of(type), isOptional: type is any ProbedOptional.Type, default: defaultValue, originalName: originalName)
    }
}

extension AttributeDescription {
    /// Returns this description for a property from which an attribute of records is derived. The macro `@Attribute(indexed:)`
    /// generates a call of this function. The attribute has the name of the property in stored values.
    /// - Parameter path: The property. A string, number, Boolean, UUID or date gets an attribute, and so does an enumeration
    ///   with such raw values, or an optional of these. Raw values must be equal exactly if the values are.
    public func indexed<Model, Value>(_ path: any KeyPath<Model, Value> & Sendable) -> AttributeDescription {
        var description = self
        description.derived.attribute = DerivedAttribute(name, path) { AttributeText.text(of: $0) }
        return description
    }
}

extension EntityDescription {
    /// Describes an entity (a key or a collection) by the type of its values. A type without properties, such as a
    /// string or a list, has no attributes.
    ///
    /// ```swift
    /// let phones = EntityDescription("phones", version: 2, of: Phone.self)
    /// print(phones.attributes.map(\.name))  // number, kind
    /// ```
    public init(_ name: String, version: Int = 1, of type: any Any.Type) {
        var attributes: [AttributeDescription] = []
        if case .compound(_, let known) = AttributeType.of(type) { attributes = known }
        self.init(name, version: version, attributes)
    }
}

extension AnyStorageKey {
    /// The shape of the stored values, with the name and version of the key or collection.
    ///
    /// It has no attributes if the value is a single string, number or list.
    ///
    /// ```swift
    /// for key in AppKeys().allKeys { print("\(key.name), version \(key.entity.version): \(key.entity.attributes.map(\.name))") }
    /// ```
    public var entity: EntityDescription {
        let declared = declaredEntity
        return EntityDescription(name, version: declared.version, of: declared.valueType)
    }
}

// MARK: Types with an empty value of their own

protocol ProbedOptional {
    static var wrapped: any Any.Type { get }
    static var emptyValue: Any { get }
}

protocol ProbedList {
    static var element: any Any.Type { get }
    static var emptyValue: Any { get }
}

protocol ProbedDictionary {
    static var element: any Any.Type { get }
    static var isKeyedByText: Bool { get }
    static var emptyValue: Any { get }
}

protocol ProbedReference {
    static var target: any Any.Type { get }
    /// An empty value of the reference type: a reference that identifies no record.
    static var emptyValue: Any? { get }
}

extension StorageReference: ProbedReference {
    static var target: any Any.Type { Target.self }
    static var emptyValue: Any? { try? StoredDocument("").decode(Self.self) }
}

extension Optional: ProbedOptional {
    static var wrapped: any Any.Type { Wrapped.self }
    static var emptyValue: Any { Self(nilLiteral: ()) as Any }
}

extension Array: ProbedList {
    static var element: any Any.Type { Element.self }
    static var emptyValue: Any { [Element]() }
}

extension Set: ProbedList {
    static var element: any Any.Type { Element.self }
    static var emptyValue: Any { Set<Element>() }
}

extension Dictionary: ProbedDictionary {
    static var element: any Any.Type { Value.self }
    /// Whether the dictionary is stored as an object. With other key types, it is stored as a list of keys and values.
    static var isKeyedByText: Bool { Key.self == String.self || Key.self == Int.self || Key.self is any CodingKeyRepresentable.Type }
    static var emptyValue: Any { [Key: Value]() }
}

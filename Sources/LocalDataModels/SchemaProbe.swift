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

    /// The result for a type; its shape is ``AttributeType/named(_:)`` if it cannot be inferred.
    static func finding(of type: any Any.Type) -> Finding { SchemaProbe(underWay: describing).finding(type) }

    func finding(_ type: any Any.Type) -> Finding {
        if let scalar = Self.scalars[ObjectIdentifier(type)] { return Finding(type: scalar.type, value: scalar.empty) }
        if let probed = type as? any Probed.Type { return probed.find(self) }
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
        if let cases = type as? any CaseIterable.Type { return cases.allCases.first }
        // The type may be an enumeration that rejects the empty raw value. A decodable type that can be copied bit by
        // bit contains only numbers, Booleans and enumerations. Memory with only zero bits is a valid value of each of
        // these: zero, false, or the first case.
        guard type is any RawRepresentable.Type, _isPOD(type) else { return nil }
        return withUnsafeTemporaryAllocation(byteCount: max(1, MemoryLayout<Value>.size), alignment: MemoryLayout<Value>.alignment) {
            $0.initializeMemory(as: UInt8.self, repeating: 0)
            return $0.baseAddress?.load(as: Value.self)
        }
    }

    private static let scalars: [ObjectIdentifier: (type: AttributeType, empty: any Sendable)] = {
        var scalars: [ObjectIdentifier: (type: AttributeType, empty: any Sendable)] = [:]
        func add<Value: Sendable>(_ empty: Value, _ type: AttributeType) { scalars[ObjectIdentifier(Value.self)] = (type, empty) }
        add("", .string)
        add(false, .boolean)
        let zeros: [any BinaryInteger & Sendable] = [
            0 as Int, 0 as Int8, 0 as Int16, 0 as Int32, 0 as Int64, 0 as UInt, 0 as UInt8, 0 as UInt16, 0 as UInt32, 0 as UInt64,
        ]
        for zero in zeros { add(zero, .integer) }
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
    public static func of(_ type: any Any.Type) -> AttributeType { SchemaProbe.finding(of: type).type }
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
        let found = SchemaProbe.finding(of: type)
        self.init(name, found.type, isOptional: found.isOptional, default: defaultValue, originalName: originalName)
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

protocol Probed {
    static func find(_ probe: SchemaProbe) -> SchemaProbe.Finding
}

extension StorageReference: Probed {
    /// The empty value is a reference that identifies no record.
    static func find(_ probe: SchemaProbe) -> SchemaProbe.Finding {
        SchemaProbe.Finding(type: .reference("\(Target.self)"), value: try? StoredDocument("").decode(Self.self))
    }
}

extension Optional: Probed {
    static func find(_ probe: SchemaProbe) -> SchemaProbe.Finding {
        SchemaProbe.Finding(type: probe.finding(Wrapped.self).type, isOptional: true, value: Self(nilLiteral: ()) as Any)
    }
}

extension Array: Probed {
    static func find(_ probe: SchemaProbe) -> SchemaProbe.Finding { .init(type: .array(probe.finding(Element.self).type), value: Self()) }
}

extension Set: Probed {
    static func find(_ probe: SchemaProbe) -> SchemaProbe.Finding { .init(type: .array(probe.finding(Element.self).type), value: Self()) }
}

extension Dictionary: Probed {
    /// A dictionary with keys of other types is stored as a list of keys and values, not as an object.
    static func find(_ probe: SchemaProbe) -> SchemaProbe.Finding {
        let isKeyedByText = Key.self == String.self || Key.self == Int.self || Key.self is any CodingKeyRepresentable.Type
        let type: AttributeType = isKeyedByText ? .dictionary(probe.finding(Value.self).type) : .named("\(Self.self)")
        return SchemaProbe.Finding(type: type, value: Self())
    }
}

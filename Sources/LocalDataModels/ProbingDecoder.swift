import LocalData

/// The requests that a type's `init(from:)` made to a ``ProbingDecoder``.
final class ShapeSketch {
    private enum Form {
        case nothing
        case single(AttributeType)
        case keyed
        case list(AttributeType?)
        /// The type made requests of different forms, so its shape depends on the content that it reads.
        case undecided
    }

    private var form = Form.nothing
    private var attributes: [AttributeDescription] = []
    private var nested: [String: ShapeSketch] = [:]
    private var optional: Set<String> = []

    func noteKeyed() {
        switch form {
        case .nothing, .keyed: form = .keyed
        default: form = .undecided
        }
    }

    func noteUndecided() { form = .undecided }

    func noteSingle(_ type: AttributeType) {
        if case .nothing = form { form = .single(type) } else { form = .undecided }
    }

    func noteList(_ element: AttributeType? = nil) {
        switch (form, element) {
        case (.nothing, _), (.list(nil), _): form = .list(element)
        case (.list(let known), let element) where element == nil || known == element: break
        default: form = .undecided
        }
    }

    func note(_ name: String, _ type: AttributeType, isOptional: Bool) {
        if let index = attributes.firstIndex(where: { $0.name == name }) {
            // The type tried to decode this property as several types, so the type of the property is unknown.
            if attributes[index].type != type { attributes[index].type = .named("any") }
            attributes[index].isOptional = attributes[index].isOptional || isOptional
        } else {
            attributes.append(AttributeDescription(name, type, isOptional: isOptional))
        }
    }

    func noteOptional(_ name: String) { optional.insert(name) }

    func part(_ name: String) -> ShapeSketch {
        note(name, .named("any"), isOptional: false)
        let part = nested[name] ?? ShapeSketch()
        nested[name] = part
        return part
    }

    /// The shape that follows from the requests.
    /// - Parameter isComplete: Whether `init(from:)` returned without an error. The shape of a single value is the
    ///   requested type, even if `init(from:)` failed afterwards. For example, an enumeration of strings requests a
    ///   string, and then rejects the empty string.
    func type(named name: String, isComplete: Bool) -> AttributeType {
        switch form {
        case .single(let type): return type
        case .keyed where isComplete:
            return .compound(
                name,
                attributes.map { attribute in
                    var attribute = attribute
                    if let part = nested[attribute.name] { attribute.type = part.type(named: "object", isComplete: true) }
                    attribute.isOptional = attribute.isOptional || optional.contains(attribute.name)
                    return attribute
                })
        case .list(let element?) where isComplete: return .array(element)
        default: return .named(name)
        }
    }
}

/// A decoder without input. It returns an empty value for each request, and records the request in `sketch`.
struct ProbingDecoder: Decoder {
    let sketch: ShapeSketch
    let probe: SchemaProbe
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        sketch.noteKeyed()
        return KeyedDecodingContainer(ProbingProperties(decoder: self))
    }

    func unkeyedContainer() -> any UnkeyedDecodingContainer {
        sketch.noteList()
        return ProbingList(decoder: self)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    fileprivate func refusal(_ type: any Any.Type) -> DecodingError {
        .dataCorrupted(DecodingError.Context(codingPath: codingPath, debugDescription: "There is no empty \(type)."))
    }

    fileprivate func value<Value>(_ finding: SchemaProbe.Finding, _ type: Value.Type) throws -> Value {
        guard let value = finding.value as? Value else { throw refusal(type) }
        return value
    }

    fileprivate func part(_ name: String) -> ProbingDecoder {
        ProbingDecoder(sketch: sketch.part(name), probe: probe, codingPath: codingPath)
    }

    /// A decoder whose requests are not recorded. It is used where the shape is already known to be undecided.
    fileprivate var unnoted: ProbingDecoder { ProbingDecoder(sketch: ShapeSketch(), probe: probe, codingPath: codingPath) }
}

extension ProbingDecoder: SingleValueDecodingContainer {
    func decodeNil() -> Bool { false }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let finding = probe.finding(type)
        sketch.noteSingle(finding.type)
        return try value(finding, type)
    }
}

/// The container for the properties of an object.
private struct ProbingProperties<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoder: ProbingDecoder
    var codingPath: [any CodingKey] { decoder.codingPath }

    var allKeys: [Key] {
        // A type that asks for the available names does not have a fixed set of properties.
        decoder.sketch.noteUndecided()
        return []
    }

    func contains(_ key: Key) -> Bool {
        decoder.sketch.noteOptional(key.stringValue)
        return true
    }

    func decodeNil(forKey key: Key) -> Bool {
        decoder.sketch.noteOptional(key.stringValue)
        return false
    }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        let finding = decoder.probe.finding(type)
        decoder.sketch.note(key.stringValue, finding.type, isOptional: finding.isOptional)
        return try decoder.value(finding, type)
    }

    // The other overloads of `decodeIfPresent` are for numbers, Booleans and strings. Their default implementations
    // call `contains` and `decode`, so this type need not implement them.
    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) -> Value? {
        decoder.sketch.note(key.stringValue, decoder.probe.finding(type).type, isOptional: true)
        return nil
    }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) -> KeyedDecodingContainer<Nested> {
        decoder.part(key.stringValue).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedDecodingContainer { decoder.part(key.stringValue).unkeyedContainer() }

    func superDecoder() -> any Decoder { decoder.part("super") }

    func superDecoder(forKey key: Key) -> any Decoder { decoder.part(key.stringValue) }
}

/// The container for a list. `isAtEnd` is true after one element, but a type that ignores it can decode more.
private struct ProbingList: UnkeyedDecodingContainer {
    let decoder: ProbingDecoder
    var currentIndex = 0
    var codingPath: [any CodingKey] { decoder.codingPath }
    var count: Int? { nil }
    var isAtEnd: Bool { currentIndex > 0 }
    /// The number of elements after which decoding throws, so that a type which never checks `isAtEnd` cannot loop for ever.
    private static let limit = 1_000

    mutating func decodeNil() -> Bool { false }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        currentIndex += 1
        let finding = decoder.probe.finding(type)
        decoder.sketch.noteList(finding.type)
        guard currentIndex < Self.limit else { throw decoder.refusal(type) }
        return try decoder.value(finding, type)
    }

    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedDecodingContainer<Nested> {
        next().container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedDecodingContainer { next().unkeyedContainer() }

    mutating func superDecoder() -> any Decoder { next() }

    private mutating func next() -> ProbingDecoder {
        currentIndex += 1
        decoder.sketch.noteUndecided()
        return decoder.unnoted
    }
}

/// A value in a form that users and other programs can read in the store: a scalar or container of a property list.
///
/// ```swift
/// let forecast: NativeValue = .dictionary(["city": .string("Graz"), "days": .array([.integer(21), .integer(19)])])
/// print(forecast == forecast, NativeValue.real(0) == .real(-0.0))  // true false: equality is bitwise
/// ```
///
/// Equality is bitwise, so a written value can be compared with the value that is read back. In contrast to `==` of
/// `String` and `Double`, canonically equivalent texts are different values, 0 differs from -0, and a NaN equals a NaN
/// with the same bits.
public indirect enum NativeValue: Hashable, Sendable {
    /// Text.
    case string(String)
    /// A whole number.
    case integer(Int64)
    /// A whole number above the largest `Int64`.
    case unsigned(UInt64)
    /// A floating-point number.
    case real(Double)
    /// A Boolean.
    case boolean(Bool)
    /// A point in time, in seconds since 2001-01-01T00:00:00Z, as Foundation counts them.
    case date(Double)
    /// Bytes.
    case data([UInt8])
    /// An ordered list.
    case array([NativeValue])
    /// A dictionary.
    case dictionary([String: NativeValue])
}

extension NativeValue {
    /// Whether two values are bitwise equal. Texts are compared by their UTF-8 bytes.
    public static func == (left: Self, right: Self) -> Bool { left.canonicalBytes == right.canonicalBytes }

    /// Hashes the canonical bytes, which `==` compares.
    public func hash(into hasher: inout Hasher) { hasher.combine(canonicalBytes) }

    /// An injective encoding: two values have the same canonical bytes exactly if they are equal.
    ///
    /// Each value is a tag byte followed by its content, which has a fixed width or a length prefix. Integers are big-endian. Dictionary
    /// entries are sorted by the UTF-8 bytes of their names.
    public var canonicalBytes: [UInt8] {
        var writer = ByteWriter()
        encode(into: &writer)
        return writer.bytes
    }

    func encode(into writer: inout ByteWriter) {
        switch self {
        case .string(let text):
            writer.byte(1)
            writer.counted(text.utf8)
        case .integer(let number):
            writer.byte(2)
            writer.fixed(UInt64(bitPattern: number))
        case .unsigned(let number):
            writer.byte(3)
            writer.fixed(number)
        case .real(let number):
            writer.byte(4)
            writer.fixed(number.bitPattern)
        case .boolean(let flag):
            writer.byte(5)
            writer.byte(flag ? 1 : 0)
        case .date(let seconds):
            writer.byte(6)
            writer.fixed(seconds.bitPattern)
        case .data(let bytes):
            writer.byte(7)
            writer.counted(bytes)
        case .array(let elements):
            writer.byte(8)
            writer.fixed(UInt32(elements.count))
            for element in elements { element.encode(into: &writer) }
        case .dictionary(let entries):
            writer.byte(9)
            writer.fixed(UInt32(entries.count))
            for (name, value) in entries.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
                writer.counted(name.utf8)
                value.encode(into: &writer)
            }
        }
    }

    /// The maximum nesting depth. Decoding treats deeper values as damaged, so they must not be encoded.
    static let maximumDepth = 64

    /// Whether containers are nested deeper than the given number of levels. The search stops at that depth.
    func isNested(deeperThan levels: Int) -> Bool {
        guard levels > 0 else { return true }
        switch self {
        case .array(let elements): return elements.contains { $0.isNested(deeperThan: levels - 1) }
        case .dictionary(let entries): return entries.values.contains { $0.isNested(deeperThan: levels - 1) }
        default: return false
        }
    }

    package static func decode(from reader: inout ByteReader, depth: Int = 0) throws(RecordDamage) -> NativeValue {
        guard depth < maximumDepth else { throw RecordDamage("nested too deeply") }
        switch try reader.byte() {
        case 1: return .string(try reader.text())
        case 2: return .integer(Int64(bitPattern: try reader.fixed(UInt64.self)))
        case 3: return .unsigned(try reader.fixed(UInt64.self))
        case 4: return .real(Double(bitPattern: try reader.fixed(UInt64.self)))
        case 5:
            let flag = try reader.byte()
            guard flag <= 1 else { throw RecordDamage("holds a truth value that is none") }
            return .boolean(flag == 1)
        case 6: return .date(Double(bitPattern: try reader.fixed(UInt64.self)))
        case 7: return .data(try reader.counted())
        case 8:
            var elements: [NativeValue] = []
            for _ in 0..<(try reader.fixed(UInt32.self)) { elements.append(try decode(from: &reader, depth: depth + 1)) }
            return .array(elements)
        case 9:
            var entries: [String: NativeValue] = [:]
            var last: String?
            for _ in 0..<(try reader.fixed(UInt32.self)) {
                let name = try reader.text()
                if let last, !last.utf8.lexicographicallyPrecedes(name.utf8) { throw RecordDamage("has names out of order") }
                last = name
                // A Swift dictionary treats canonically equivalent names as one key, so it could hold only one of their values.
                guard entries.updateValue(try decode(from: &reader, depth: depth + 1), forKey: name) == nil else {
                    throw RecordDamage("has a name twice")
                }
            }
            return .dictionary(entries)
        default: throw RecordDamage("unknown kind of value")
        }
    }
}

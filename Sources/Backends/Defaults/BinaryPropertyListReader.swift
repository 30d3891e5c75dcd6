import BackendContract

/// Reads a binary property list from an untrusted source. Every offset and length is checked before it is used. A
/// list is refused if repeated references to its objects expand it to far more values than it contains.
///
/// Foundation's parser is not used, for the reason that is named below. In addition, that parser keeps only one of
/// several entries with the same name.
/// Reason: "Foundation parses XML lists, but not binary ones" in Docs/Decisions/Stores.md.
///
/// The format begins with "bplist00". The objects follow: each begins with a marker, a byte that has the kind and the
/// length of the object. Then come a table with the offset of each object, and a trailer of 32 bytes. A reference to
/// an object is its index in the table. The trailer has the width of an offset, the width of a reference, the number
/// of objects, a reference to the outermost object, and the offset of the table. Integers are big-endian.
struct BinaryPropertyListReader {
    private static let magic = Array("bplist".utf8)
    private static let trailerLength = 32

    private let bytes: [UInt8]
    private let offsetWidth: Int
    private let referenceWidth: Int
    private let objectCount: Int
    private let table: Int
    /// Whether references of a keyed archive are read. Otherwise a list with such a reference is refused.
    private let keepsReferences: Bool
    /// How much memory the values that are not yet read may take, in estimated bytes. Many references can lead to one
    /// object, so a few bytes can expand to any number of values.
    private var allowance: Int

    /// Whether bytes are a binary property list, complete or not.
    static func recognizes(_ bytes: [UInt8]) -> Bool { bytes.starts(with: magic) }

    /// Returns the value in the bytes.
    /// - Parameter keepsReferences: Whether references of a keyed archive are read:
    ///   ``PropertyListReader/read(_:keepsReferences:)``.
    static func read(_ bytes: [UInt8], keepsReferences: Bool = false) throws(PropertyListFault) -> NativeValue {
        guard bytes.count >= 8 + trailerLength else { throw damage }
        guard bytes[6] == UInt8(ascii: "0") else { throw .unsupported("it is a binary property list of a version that is not known here") }
        let trailer = bytes.count - trailerLength
        var reader = try BinaryPropertyListReader(bytes, trailer: trailer, keepsReferences)
        return try reader.object(try reader.number(at: trailer + 16, width: 8), depth: 0)
    }

    private init(_ bytes: [UInt8], trailer: Int, _ keepsReferences: Bool) throws(PropertyListFault) {
        (self.bytes, self.keepsReferences) = (bytes, keepsReferences)
        (offsetWidth, referenceWidth) = (Int(bytes[trailer + 6]), Int(bytes[trailer + 7]))
        // A value takes about 64 bytes in memory and at least one byte in the list. A list without repeated
        // references is therefore always within the limit.
        allowance = 128 * bytes.count + 16 << 20
        objectCount = try Self.number(bytes, at: trailer + 8, width: 8)
        table = try Self.number(bytes, at: trailer + 24, width: 8)
        guard 1...8 ~= offsetWidth, 1...8 ~= referenceWidth, 8..<trailer ~= table, 1...(trailer - table) ~= objectCount,
            objectCount * offsetWidth == trailer - table
        else { throw Self.damage }
    }

    private static var damage: PropertyListFault { .damaged("the file is not a whole property list") }

    // MARK: Objects

    private mutating func object(_ reference: Int, depth: Int) throws(PropertyListFault) -> NativeValue {
        guard depth < PropertyListReader.maximumDepth else { throw .unsupported("it is nested too deeply") }
        guard reference < objectCount else { throw Self.damage }
        var place = try number(at: table + reference * offsetWidth, width: offsetWidth)
        guard 8..<table ~= place else { throw Self.damage }
        let marker = bytes[place]
        place += 1
        switch marker >> 4 {
        case 0x0 where marker == 0x08 || marker == 0x09:
            try spend(0)
            return .boolean(marker == 0x09)
        case 0x1 where marker <= 0x14: return try integer(at: place, width: 1 << Int(marker & 15))
        case 0x2 where marker == 0x22: return real(Double(Float(bitPattern: UInt32(try word(at: place, width: 4)))))
        case 0x2 where marker == 0x23: return real(Double(bitPattern: try word(at: place, width: 8)))
        case 0x3 where marker == 0x33: return .date(Double(bitPattern: try word(at: place, width: 8)))
        case 0x4: return .data(Array(try content(&place, marker, width: 1)))
        case 0x5: return .string(try ascii(try content(&place, marker, width: 1)))
        case 0x6: return .string(try unicode(try content(&place, marker, width: 2)))
        case 0x8 where keepsReferences:
            // The low half of the marker is the width of the number, less one.
            guard marker <= 0x87, let number = Int64(exactly: try word(at: place, width: Int(marker & 15) + 1)) else { throw Self.damage }
            return .dictionary([PropertyListReader.referenceName: .integer(number)])
        case 0xA:
            let references = try content(&place, marker, width: referenceWidth)
            var elements: [NativeValue] = []
            for start in stride(from: references.startIndex, to: references.endIndex, by: referenceWidth) {
                elements.append(try object(try number(at: start, width: referenceWidth), depth: depth + 1))
            }
            return .array(elements)
        case 0xD:
            let references = try content(&place, marker, width: 2 * referenceWidth)
            return .dictionary(try entries(references, depth: depth + 1))
        default: throw .unsupported("it holds a value of a kind that property lists on this system do not have")
        }
    }

    /// Returns the entries of a dictionary. The list contains first the references to all names, then the references to
    /// the values.
    private mutating func entries(_ references: ArraySlice<UInt8>, depth: Int) throws(PropertyListFault) -> [String: NativeValue] {
        let half = references.count / 2
        var entries: [String: NativeValue] = [:]
        for start in stride(from: references.startIndex, to: references.startIndex + half, by: referenceWidth) {
            guard case .string(let name) = try object(try number(at: start, width: referenceWidth), depth: depth) else {
                throw .unsupported("it has an entry whose name is not a text")
            }
            let value = try object(try number(at: start + half, width: referenceWidth), depth: depth)
            // Refuse two entries with one name, because a rewrite would lose one of them. This includes canonically
            // equivalent names, which a Swift dictionary treats as one.
            guard entries.updateValue(value, forKey: name) == nil else { throw .damaged("the property list names an entry twice") }
        }
        return entries
    }

    private mutating func integer(at place: Int, width: Int) throws(PropertyListFault) -> NativeValue {
        guard width == 16 else {
            let number = try word(at: place, width: width)
            // Only integers of 8 bytes have a sign; shorter ones do not.
            return .integer(Int64(bitPattern: number))
        }
        let (high, low) = (try word(at: place, width: 8), try word(at: place + 8, width: 8))
        let signed = Int64(bitPattern: low)
        if high == (signed < 0 ? .max : 0) { return .integer(signed) }
        guard high == 0 else { throw .unsupported("it holds a number of more than 64 bits") }
        return .unsigned(low)
    }

    /// Returns a real number. Every NaN becomes the same NaN, because Foundation, which writes these lists, has only
    /// one.
    private func real(_ number: Double) -> NativeValue { .real(number.isNaN ? .nan : number) }

    private func ascii(_ content: ArraySlice<UInt8>) throws(PropertyListFault) -> String {
        guard content.allSatisfy({ $0 < 0x80 }) else { throw Self.damage }
        return String(decoding: content, as: UTF8.self)
    }

    private func unicode(_ content: ArraySlice<UInt8>) throws(PropertyListFault) -> String {
        let units = stride(from: content.startIndex, to: content.endIndex, by: 2).map { UInt16(content[$0]) << 8 | UInt16(content[$0 + 1]) }
        guard let text = String(validating: units, as: UTF16.self) else { throw .unsupported("it holds a text that is not Unicode") }
        return text
    }

    // MARK: Bytes

    /// Returns the content of an object. The low half of the marker has the length of the content, in units of `width`
    /// bytes. If the low half is 15, a number after the marker has the length.
    private mutating func content(_ place: inout Int, _ marker: UInt8, width: Int) throws(PropertyListFault) -> ArraySlice<UInt8> {
        var count = Int(marker & 15)
        if count == 15 {
            guard place < table, 0x10...0x13 ~= bytes[place] else { throw Self.damage }
            let length = 1 << Int(bytes[place] & 15)
            guard length < table - place else { throw Self.damage }
            count = try number(at: place + 1, width: length)
            place += 1 + length
        }
        guard count <= (table - place) / width else { throw Self.damage }
        try spend(count * width)
        return bytes[place..<place + count * width]
    }

    /// Reads a number that is the content of an object.
    private mutating func word(at place: Int, width: Int) throws(PropertyListFault) -> UInt64 {
        guard width <= table - place else { throw Self.damage }
        try spend(width)
        return bytes[place..<place + width].reduce(0) { $0 << 8 | UInt64($1) }
    }

    private func number(at place: Int, width: Int) throws(PropertyListFault) -> Int { try Self.number(bytes, at: place, width: width) }

    /// Reads a number of the format: an offset, a reference or a count.
    private static func number(_ bytes: [UInt8], at place: Int, width: Int) throws(PropertyListFault) -> Int {
        guard let number = Int(exactly: bytes[place..<place + width].reduce(0 as UInt64) { $0 << 8 | UInt64($1) }) else { throw damage }
        return number
    }

    private mutating func spend(_ count: Int) throws(PropertyListFault) {
        allowance -= 64 + count
        guard allowance >= 0 else { throw .unsupported("it expands to far more values than it contains") }
    }
}

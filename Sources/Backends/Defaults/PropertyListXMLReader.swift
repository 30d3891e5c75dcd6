import BackendContract

/// Reads XML of the form that ``PropertyListXML`` writes, in one pass. Other XML is for Foundation.
///
/// It returns a value only if Foundation returns the same value for the bytes. It reads no dates.
struct PropertyListXMLReader {
    private let bytes: [UInt8]
    private var position: Int

    /// Returns the entries of a list; nil if Foundation must read it.
    static func entries(_ bytes: [UInt8]) -> [String: NativeValue]? {
        guard ByteOrder.areEqual(Array(bytes.prefix(PropertyListXML.header.count)), PropertyListXML.header) else { return nil }
        var reader = PropertyListXMLReader(bytes: bytes, position: PropertyListXML.header.count)
        guard case .dictionary(let entries)? = reader.value(depth: 0), reader.takes("</plist>"), reader.bytes[reader.position...] == [0x0A]
        else { return nil }
        return entries
    }

    private mutating func value(depth: Int) -> NativeValue? {
        guard depth < PropertyListReader.maximumDepth else { return nil }
        if takes("<string>") { return text("</string>").map(NativeValue.string) }
        if takes("<data>") { return content("</data>").flatMap { Base64.decode($0) }.map(NativeValue.data) }
        if takes("<integer>") { return text("</integer>").flatMap(Self.integer) }
        if takes("<dict>") { return dictionary(depth: depth) }
        if takes("<true/>") { return .boolean(true) }
        if takes("<false/>") { return .boolean(false) }
        if takes("<real>") { return text("</real>").flatMap(Self.real) }
        if takes("<dict/>") { return .dictionary([:]) }
        if takes("<array/>") { return .array([]) }
        guard takes("<array>") else { return nil }
        var elements: [NativeValue] = []
        while !takes("</array>") {
            guard let element = value(depth: depth + 1) else { return nil }
            elements.append(element)
        }
        return .array(elements)
    }

    private mutating func dictionary(depth: Int) -> NativeValue? {
        var entries = [String: NativeValue](minimumCapacity: depth < 2 ? 3 : 0)
        while !takes("</dict>") {
            // Foundation turns the reference of a keyed archive into an object.
            guard takes("<key>"), let name = text("</key>"), name != PropertyListReader.referenceName,
                let value = value(depth: depth + 1), entries.updateValue(value, forKey: name) == nil
            else { return nil }
        }
        return .dictionary(entries)
    }

    /// Skips white space and a tag. Returns false if another tag follows.
    private mutating func takes(_ tag: StaticString) -> Bool {
        while position < bytes.count, [0x20, 0x09, 0x0A].contains(bytes[position]) { position += 1 }
        return ends(tag)
    }

    private mutating func ends(_ tag: StaticString) -> Bool {
        let end = position + tag.utf8CodeUnitCount
        guard end <= bytes.count else { return false }
        for index in position..<end where bytes[index] != tag.utf8Start[index - position] { return false }
        position = end
        return true
    }

    /// Returns the bytes before an end tag; nil if another tag comes first.
    private mutating func content(_ end: StaticString) -> ArraySlice<UInt8>? {
        let start = position
        position = ByteOrder.place(of: "<", in: bytes[start...]) ?? bytes.count
        let content = bytes[start..<position]
        return ends(end) ? content : nil
    }

    /// Returns the text before an end tag.
    private mutating func text(_ end: StaticString) -> String? {
        guard let content = content(end) else { return nil }
        func has(_ character: Unicode.Scalar) -> Bool { ByteOrder.place(of: character, in: content) != nil }
        // Foundation drops a byte order mark at the start.
        if has("\0") || has("\r") || content.first == 0xEF && content.starts(with: "\u{FEFF}".utf8) { return nil }
        if has("&") { return Self.unescaped(content).flatMap { $0.withUnsafeBytes { String(utf8: $0) } } }
        return content.withUnsafeBytes { String(utf8: $0) }
    }

    private static let entities: [(name: String, byte: UInt8)] = [("amp;", 0x26), ("lt;", 0x3C), ("gt;", 0x3E), ("#13;", 0x0D)]

    /// Returns a text without entities; nil if it has another entity than those that this library writes.
    private static func unescaped(_ content: ArraySlice<UInt8>) -> [UInt8]? {
        let pieces = content.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
        var whole = Array(pieces[0])
        for piece in pieces.dropFirst() {
            guard let entity = entities.first(where: { piece.starts(with: $0.name.utf8) }) else { return nil }
            whole.append(entity.byte)
            whole += piece.dropFirst(entity.name.utf8.count)
        }
        return whole
    }

    private static func integer(_ text: String) -> NativeValue? {
        if let number = Int64(text), String(number) == text { return .integer(number) }
        return UInt64(text).flatMap { String($0) == text ? .unsigned($0) : nil }
    }

    private static func real(_ text: String) -> NativeValue? {
        Double(text).flatMap { $0.isFinite && "\($0)" == text ? .real($0) : nil }
    }
}

package import BackendContract
import Foundation

/// The reason why bytes cannot be used as a property list.
package enum PropertyListFault: Error {
    /// The bytes are damaged, or not a property list. The text describes the damage and contains nothing of the
    /// content.
    case damaged(String)
    /// The bytes are an intact property list, but this version of LocalData cannot keep all of its content. This
    /// version must not change the list.
    case unsupported(String)
}

/// Reads the bytes of an XML or binary property list, and distinguishes every kind of value.
///
/// ``PropertyListXMLReader`` parses XML of the form that this library writes, and Foundation parses other XML.
/// ``BinaryPropertyListReader`` parses binary lists; its comment states why Foundation does not parse them.
package enum PropertyListReader {
    /// The maximum depth of nesting.
    static let maximumDepth = 256

    /// The name of the only entry of a dictionary that represents a reference of a keyed archive. Its value is the number of
    /// the object. XML lists represent a reference in this way too.
    package static let referenceName = "CF$UID"

    /// Returns the entries of the dictionary in the bytes.
    /// - Parameter keepsReferences: Whether the bytes are a keyed archive, the property list that `NSKeyedArchiver` writes. In contrast to
    ///   other lists, it has references between its objects. Each of them becomes a dictionary with the single entry ``referenceName``.
    package static func read(_ bytes: [UInt8], keepsReferences: Bool = false) throws(PropertyListFault) -> [String: NativeValue] {
        if bytes.isEmpty { throw .damaged("the file is empty") }
        if BinaryPropertyListReader.recognizes(bytes) {
            guard case .dictionary(let entries) = try BinaryPropertyListReader.read(bytes, keepsReferences: keepsReferences) else {
                throw rootless
            }
            return entries
        }
        if !keepsReferences { return if let entries = PropertyListXMLReader.entries(bytes) { entries } else { try readXML(bytes) } }
        // Foundation would turn a reference into an object without public properties, and accept numbers below zero.
        return try readXML(disguisingReferences(in: bytes)).mapValues(revealingReferences)
    }

    private static var rootless: PropertyListFault { .damaged("the property list holds no dictionary") }

    /// Reads XML with Foundation.
    static func readXML(_ bytes: [UInt8]) throws(PropertyListFault) -> [String: NativeValue] {
        try checkEncoding(bytes)
        var format = PropertyListSerialization.PropertyListFormat.xml
        let root: Any
        do {
            root = try PropertyListSerialization.propertyList(from: Data(bytes), options: [], format: &format)
        } catch {
            // Drop Foundation's error text, because it may quote the content.
            throw .damaged("the file is not a whole property list")
        }
        // Refuse the old NeXT format: almost any text, even a blank file, is a property list in it.
        guard format == .xml else { throw .damaged("the file is neither an XML nor a binary property list") }
        guard let dictionary = root as? [AnyHashable: Any] else { throw rootless }
        var names = 0
        let entries = try convert(dictionary, depth: 0, names: &names)
        // Foundation keeps only the last of several entries with one name, and treats canonically equivalent names as
        // one. A rewrite would lose the other entries.
        if countNames(bytes) > names { throw .damaged("the property list names an entry twice") }
        return entries
    }

    private static func convert(
        _ dictionary: [AnyHashable: Any], depth: Int, names: inout Int
    ) throws(PropertyListFault) -> [String: NativeValue] {
        var entries: [String: NativeValue] = [:]
        entries.reserveCapacity(dictionary.count)
        for (key, value) in dictionary {
            guard let name = key.base as? String else { throw .unsupported("it has an entry whose name is not a text") }
            entries[name] = try convert(value, depth: depth + 1, names: &names)
        }
        names += entries.count
        return entries
    }

    private static func convert(_ value: Any, depth: Int, names: inout Int) throws(PropertyListFault) -> NativeValue {
        guard depth < maximumDepth else { throw .unsupported("it is nested too deeply") }
        // The order of the cases matters. Texts come first, because the check whether a text is an `NSNumber` takes
        // ten times as long as all other checks. The type of a number is determined last and separately, because an
        // `NSNumber` converts to every number type, even if it is a truth value.
        switch value {
        case let text as String: return .string(text)
        case let dictionary as [AnyHashable: Any]: return .dictionary(try convert(dictionary, depth: depth, names: &names))
        case let array as [Any]:
            var elements: [NativeValue] = []
            elements.reserveCapacity(array.count)
            for element in array { elements.append(try convert(element, depth: depth + 1, names: &names)) }
            return .array(elements)
        case let data as Data: return .data([UInt8](data))
        case let date as Date: return .date(date.timeIntervalSinceReferenceDate)
        case let number as NSNumber: return isTruthValue(value) ? .boolean(number.boolValue) : convert(number)
        default: throw .unsupported("it holds a value of a kind that property lists on this system do not have")
        }
    }

    private static func isTruthValue(_ value: Any) -> Bool {
        #if canImport(Darwin)
            CFGetTypeID(value as CFTypeRef) == CFBooleanGetTypeID()
        #else
            type(of: value) == Bool.self
        #endif
    }

    private static func convert(_ number: NSNumber) -> NativeValue {
        switch UInt8(bitPattern: number.objCType.pointee) {
        case UInt8(ascii: "d"), UInt8(ascii: "f"): .real(number.doubleValue)
        case UInt8(ascii: "Q") where number.uint64Value > UInt64(Int64.max): .unsigned(number.uint64Value)
        default: .integer(number.int64Value)
        }
    }

    /// Refuses encodings in which the bytes of a tag are not ASCII, because ``countNames(_:)`` could not find the
    /// tags.
    private static func checkEncoding(_ bytes: [UInt8]) throws(PropertyListFault) {
        let wide: [[UInt8]] = [
            [0xFF, 0xFE], [0xFE, 0xFF], [0x3C, 0x00], [0x00, 0x3C], [0x00, 0x00, 0x00, 0x3C], [0x00, 0x00, 0xFE, 0xFF],
        ]
        var isKnown = !wide.contains { bytes.starts(with: $0) }
        let text = bytes.drop { $0 != UInt8(ascii: "<") }
        if text.starts(with: "<?xml".utf8) {
            let declaration = String(decoding: text.prefix { $0 != UInt8(ascii: ">") }.prefix(1_024), as: UTF8.self).lowercased()
            for piece in declaration.split(separator: "encoding").dropFirst() {
                let name = piece.split { $0 == "\"" || $0 == "'" }.dropFirst().first ?? ""
                isKnown = isKnown && ["utf-8", "us-ascii", "ascii", "iso-8859-1"].contains(name)
            }
        }
        guard isKnown else { throw .unsupported("it is not written in UTF-8") }
    }

    /// Returns the number of `<key>` elements, without those in comments and CDATA sections.
    private static func countNames(_ bytes: [UInt8]) -> Int {
        let open = Array("<key".utf8)
        var count = 0
        forEachTag(in: bytes) { bytes, position in
            let end = position + open.count
            if contains(open, bytes, at: position), end < bytes.count, [0x3E, 0x2F, 0x20, 0x09, 0x0A, 0x0D].contains(bytes[end]) {
                count += 1
            }
        }
        return count
    }

    /// Calls a closure with the position of each `<`, except for those in comments and CDATA sections.
    private static func forEachTag(in bytes: [UInt8], _ body: (UnsafeBufferPointer<UInt8>, Int) -> Void) {
        let (comment, commentEnd) = (Array("<!--".utf8), Array("-->".utf8))
        let (section, sectionEnd) = (Array("<![CDATA[".utf8), Array("]]>".utf8))
        bytes.withUnsafeBufferPointer { bytes in
            var position = 0
            func skip(past end: [UInt8]) {
                while position < bytes.count, !contains(end, bytes, at: position) { position += 1 }
                position += end.count
            }
            while position < bytes.count {
                guard bytes[position] == UInt8(ascii: "<") else {
                    position += 1
                    continue
                }
                if contains(comment, bytes, at: position) {
                    skip(past: commentEnd)
                } else if contains(section, bytes, at: position) {
                    skip(past: sectionEnd)
                } else {
                    body(bytes, position)
                    position += 1
                }
            }
        }
    }

    /// Whether bytes contain a text at a position.
    private static func contains(_ text: [UInt8], _ bytes: UnsafeBufferPointer<UInt8>, at position: Int) -> Bool {
        guard position + text.count <= bytes.count else { return false }
        for index in text.indices where bytes[position + index] != text[index] { return false }
        return true
    }

    // MARK: References of keyed archives

    /// ``referenceName`` with another character instead of the dollar sign, so that Foundation does not recognize it.
    private static let disguisedName = "CF\u{7F}UID"

    /// Returns an XML list in which each name ``referenceName`` is replaced by ``disguisedName``.
    private static func disguisingReferences(in bytes: [UInt8]) -> [UInt8] {
        let tag = Array("<key>\(referenceName)</key>".utf8)
        var disguised = bytes
        forEachTag(in: bytes) { bytes, position in
            if contains(tag, bytes, at: position) { disguised[position + "<key>CF".utf8.count] = 0x7F }
        }
        return disguised
    }

    /// Returns a value in which each dictionary with the single name ``disguisedName`` is a reference again.
    private static func revealingReferences(in value: NativeValue) -> NativeValue {
        switch value {
        case .array(let elements): return .array(elements.map(revealingReferences))
        case .dictionary(let entries):
            if entries.count == 1, let number = entries[disguisedName] { return .dictionary([referenceName: number]) }
            return .dictionary(entries.mapValues(revealingReferences))
        default: return value
        }
    }

    // MARK: The other way

    /// Returns the bytes of a binary property list, for values that XML cannot represent exactly. Such a value can
    /// only come from a binary list that another program wrote.
    static func binary(_ entries: [String: NativeValue]) throws(BackendError) -> [UInt8] {
        do {
            return [UInt8](
                try PropertyListSerialization.data(fromPropertyList: foundation(.dictionary(entries)), format: .binary, options: 0))
        } catch {
            throw BackendError(.failed, "The property list could not be written in the binary format. Nothing was changed.")
        }
    }

    private static func foundation(_ value: NativeValue) -> Any {
        switch value {
        case .string(let text): text
        case .integer(let number): NSNumber(value: number)
        case .unsigned(let number): NSNumber(value: number)
        case .real(let number): NSNumber(value: number)
        case .boolean(let flag): NSNumber(value: flag)
        case .date(let seconds): Date(timeIntervalSinceReferenceDate: seconds)
        case .data(let bytes): Data(bytes)
        case .array(let elements): elements.map(foundation)
        case .dictionary(let entries): entries.mapValues(foundation)
        }
    }
}

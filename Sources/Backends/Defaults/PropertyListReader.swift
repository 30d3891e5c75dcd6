import BackendContract
import Foundation

/// The reason why bytes cannot be used as a property list.
enum PropertyListFault: Error {
    /// The bytes are damaged, or not a property list. The text describes the damage and contains nothing of the
    /// content.
    case damaged(String)
    /// The bytes are an intact property list, but this version of LocalData cannot keep all of its content. This
    /// version must not change the list.
    case unsupported(String)
}

/// Reads the bytes of an XML or binary property list, and distinguishes every kind of value.
///
/// Foundation parses XML. ``BinaryPropertyListReader`` parses binary lists; its comment states why Foundation does not
/// parse them.
enum PropertyListReader {
    /// The maximum depth of nesting.
    static let maximumDepth = 256

    /// Returns the entries of the dictionary in the bytes.
    static func read(_ bytes: [UInt8]) throws(PropertyListFault) -> [String: NativeValue] {
        if bytes.isEmpty { throw .damaged("the file is empty") }
        guard BinaryPropertyListReader.recognizes(bytes) else { return try readXML(bytes) }
        guard case .dictionary(let entries) = try BinaryPropertyListReader.read(bytes) else { throw rootless }
        return entries
    }

    private static var rootless: PropertyListFault { .damaged("the property list holds no dictionary") }

    private static func readXML(_ bytes: [UInt8]) throws(PropertyListFault) -> [String: NativeValue] {
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
        let (open, comment, commentEnd) = (Array("<key".utf8), Array("<!--".utf8), Array("-->".utf8))
        let (section, sectionEnd) = (Array("<![CDATA[".utf8), Array("]]>".utf8))
        return bytes.withUnsafeBufferPointer { bytes in
            var count = 0
            var position = 0
            func stands(_ text: [UInt8]) -> Bool {
                guard position + text.count <= bytes.count else { return false }
                for index in text.indices where bytes[position + index] != text[index] { return false }
                return true
            }
            func skip(past end: [UInt8]) {
                while position < bytes.count, !stands(end) { position += 1 }
                position += end.count
            }
            while position < bytes.count {
                guard bytes[position] == UInt8(ascii: "<") else {
                    position += 1
                    continue
                }
                if stands(comment) {
                    skip(past: commentEnd)
                } else if stands(section) {
                    skip(past: sectionEnd)
                } else {
                    let end = position + open.count
                    if stands(open), end < bytes.count, [0x3E, 0x2F, 0x20, 0x09, 0x0A, 0x0D].contains(bytes[end]) { count += 1 }
                    position += 1
                }
            }
            return count
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

import BackendContract
import Foundation

/// Writes values as the XML of a property list, in separate pieces for each slot, the location of one value. When the
/// list is rewritten, only the pieces of changed slots are encoded again.
/// Reason: "The XML of property lists is written by hand" in Docs/Decisions/Stores.md.
///
/// If ``represents(_:_:)`` returns true for a value, Foundation's parser reads exactly the same value back.
enum PropertyListXML {
    static let header = Array(
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0">

        """.utf8)
    static let trailer = Array("</plist>\n".utf8)

    /// The parser that must be able to read the XML.
    enum Reader {
        /// Foundation, which accepts control characters and years before 1.
        case foundation
        /// Every XML 1.0 parser.
        case anyone
    }

    /// Whether a parser that reads the XML of a value gets exactly the same value.
    static func represents(_ value: NativeValue, _ reader: Reader) -> Bool {
        switch value {
        case .string(let text): representsText(text, reader)
        case .integer, .boolean, .data: true
        case .unsigned(let number): number > UInt64(Int64.max)
        case .real(let number): !number.isNaN || number.bitPattern == Double.nan.bitPattern
        case .date(let seconds): representsDate(seconds, reader)
        case .array(let elements): elements.allSatisfy { represents($0, reader) }
        case .dictionary(let entries): entries.allSatisfy { representsText($0.key, reader) && represents($0.value, reader) }
        }
    }

    static func representsText(_ text: String, _ reader: Reader) -> Bool {
        // Foundation drops a byte order mark at the start of a text, even one that is written as a character
        // reference.
        if text.unicodeScalars.first == "\u{FEFF}" { return false }
        return text.unicodeScalars.allSatisfy { scalar in
            switch scalar.value {
            case 0x09, 0x0A, 0x0D: true
            case 0: false
            case ..<0x20, 0xFFFE, 0xFFFF: reader == .foundation
            default: true
            }
        }
    }

    private static func representsDate(_ seconds: Double, _ reader: Reader) -> Bool {
        guard seconds.isFinite, seconds == seconds.rounded(.down), !(seconds == 0 && seconds.sign == .minus) else { return false }
        // Foundation reads the years -999 to 9999, and every parser reads the years 1 to 9999. The text of these years
        // has exactly four characters; the text of any other year has more.
        return (reader == .anyone ? -63_113_904_000 : -94_670_726_400)..<252_423_993_600 ~= seconds
    }

    // MARK: Pieces

    /// Appends a name and its value, each on separate lines.
    static func appendEntry(_ name: String, _ value: NativeValue, indent: Int, to bytes: inout [UInt8]) {
        appendKey(name, indent: indent, to: &bytes)
        append(value, indent: indent, to: &bytes)
    }

    static func appendKey(_ name: String, indent: Int, to bytes: inout [UInt8]) {
        appendElement("key", name, indent: indent, to: &bytes)
    }

    /// Appends the line that opens or closes an element.
    static func appendTag(_ tag: StaticString, indent: Int, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: repeatElement(UInt8(ascii: "\t"), count: indent))
        tag.withUTF8Buffer { bytes.append(contentsOf: $0) }
        bytes.append(UInt8(ascii: "\n"))
    }

    static func append(_ value: NativeValue, indent: Int, to bytes: inout [UInt8]) {
        switch value {
        case .string(let text): appendElement("string", text, indent: indent, to: &bytes)
        case .integer(let number): appendElement("integer", String(number), indent: indent, to: &bytes)
        case .unsigned(let number): appendElement("integer", String(number), indent: indent, to: &bytes)
        case .real(let number): appendElement("real", text(of: number), indent: indent, to: &bytes)
        case .boolean(let flag): appendTag(flag ? "<true/>" : "<false/>", indent: indent, to: &bytes)
        case .date(let seconds): appendElement("date", dateText(seconds), indent: indent, to: &bytes)
        case .data(let content): appendData(content, indent: indent, to: &bytes)
        case .array(let elements):
            guard !elements.isEmpty else { return appendTag("<array/>", indent: indent, to: &bytes) }
            appendTag("<array>", indent: indent, to: &bytes)
            for element in elements { append(element, indent: indent + 1, to: &bytes) }
            appendTag("</array>", indent: indent, to: &bytes)
        case .dictionary(let entries):
            guard !entries.isEmpty else { return appendTag("<dict/>", indent: indent, to: &bytes) }
            appendTag("<dict>", indent: indent, to: &bytes)
            for (name, value) in entries.sorted(by: { ByteOrder.compare($0.key, $1.key) < 0 }) {
                appendEntry(name, value, indent: indent + 1, to: &bytes)
            }
            appendTag("</dict>", indent: indent, to: &bytes)
        }
    }

    private static func appendElement(_ name: StaticString, _ text: String, indent: Int, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: repeatElement(UInt8(ascii: "\t"), count: indent))
        bytes.append(UInt8(ascii: "<"))
        name.withUTF8Buffer { bytes.append(contentsOf: $0) }
        bytes.append(UInt8(ascii: ">"))
        appendEscaped(text, to: &bytes)
        bytes.append(UInt8(ascii: "<"))
        bytes.append(UInt8(ascii: "/"))
        name.withUTF8Buffer { bytes.append(contentsOf: $0) }
        bytes.append(UInt8(ascii: ">"))
        bytes.append(UInt8(ascii: "\n"))
    }

    private static func appendEscaped(_ text: String, to bytes: inout [UInt8]) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "&"): bytes.append(contentsOf: "&amp;".utf8)
            case UInt8(ascii: "<"): bytes.append(contentsOf: "&lt;".utf8)
            case UInt8(ascii: ">"): bytes.append(contentsOf: "&gt;".utf8)
            // An XML parser turns a bare carriage return into a line feed.
            case 0x0D: bytes.append(contentsOf: "&#13;".utf8)
            default: bytes.append(byte)
            }
        }
    }

    private static func appendData(_ content: [UInt8], indent: Int, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: repeatElement(UInt8(ascii: "\t"), count: indent))
        bytes.append(contentsOf: "<data>".utf8)
        bytes.append(contentsOf: Data(content).base64EncodedData())
        bytes.append(contentsOf: "</data>\n".utf8)
    }

    /// Returns the shortest decimal text that reads back as the same number.
    private static func text(of number: Double) -> String {
        if number.isNaN { return "nan" }
        if number.isInfinite { return number < 0 ? "-infinity" : "+infinity" }
        return "\(number)"
    }

    /// Returns the text of a date in the proleptic Gregorian calendar. The calculation is `civil_from_days` from
    /// Howard Hinnant's "chrono-Compatible Low-Level Date Algorithms".
    private static func dateText(_ secondsSince2001: Double) -> String {
        let total = Int64(secondsSince2001) + 978_307_200
        let day = total.quotientFloor(86_400)
        let second = total - day * 86_400
        let shifted = day + 719_468
        let era = shifted.quotientFloor(146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let dayOfMonth = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        let date = "\(padded(year, 4))-\(padded(month, 2))-\(padded(dayOfMonth, 2))"
        return "\(date)T\(padded(second / 3_600, 2)):\(padded(second / 60 % 60, 2)):\(padded(second % 60, 2))Z"
    }

    private static func padded(_ number: Int64, _ width: Int) -> String {
        let digits = String(number.magnitude)
        let sign = number < 0 ? "-" : ""
        return sign + String(repeating: "0", count: max(0, width - digits.count - sign.count)) + digits
    }
}

extension Int64 {
    /// Returns the quotient, rounded towards minus infinity.
    fileprivate func quotientFloor(_ divisor: Int64) -> Int64 {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}

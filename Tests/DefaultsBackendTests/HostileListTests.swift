import BackendContract
import Foundation
import TestSupport
import Testing

@testable import DefaultsBackend

/// Tests of property lists that an attacker crafted or a disk damaged.
@Suite(.inTurn) struct HostileListTests {
    /// Encodes these objects as a binary property list. The first object is the outermost by default.
    static func binary(_ objects: [[UInt8]], top: UInt8 = 0) -> [UInt8] {
        var bytes = Array("bplist00".utf8)
        var table: [UInt8] = []
        for object in objects {
            table += [UInt8(bytes.count >> 8), UInt8(bytes.count & 255)]
            bytes += object
        }
        let start = bytes.count
        bytes += table + [0, 0, 0, 0, 0, 0, 2, 1]
        for number in [objects.count, Int(top), start] { withUnsafeBytes(of: UInt64(number).bigEndian) { bytes.append(contentsOf: $0) } }
        return bytes
    }

    private func expect(_ fault: String, _ bytes: [UInt8], sourceLocation: SourceLocation = #_sourceLocation) {
        do throws(PropertyListFault) {
            _ = try PropertyListReader.read(bytes)
            Issue.record("it is read", sourceLocation: sourceLocation)
        } catch {
            #expect("\(error)".contains(fault), sourceLocation: sourceLocation)
        }
    }

    private static let name: [UInt8] = [0x51, UInt8(ascii: "a")]

    @Test func `a valid binary list is read`() throws {
        let entries = try PropertyListReader.read(Self.binary([[0xD1, 1, 2], Self.name, [0xA2, 1, 3], [0x10, 200]]))
        #expect(entries == ["a": .array([.string("a"), .integer(200)])])
    }

    @Test func `the reader decodes lists from Foundation as Foundation does`() throws {
        let values: [String: Any] = [
            "": "", "text": "t\u{E9}xt \u{1F511}", "ascii": "text", "small": 5, "negative": -5, "wide": Int64.min, "large": UInt64.max,
            "real": 0.5, "float": Float(0.25), "flag": true, "other": false, "date": Date(timeIntervalSinceReferenceDate: -1.5),
            "data": Data(repeating: 7, count: 300), "long": String(repeating: "x", count: 70_000), "list": [1, "two", [3]] as [Any],
            "many": Array(0..<300), "nested": ["inner": ["a": 1]], "empty": [String: Any](), "none": [Any](),
        ]
        let lists = try [PropertyListSerialization.PropertyListFormat.xml, .binary].map { format in
            try PropertyListReader.read([UInt8](PropertyListSerialization.data(fromPropertyList: values, format: format, options: 0)))
        }
        var (xml, binary) = (lists[0], lists[1])
        // XML keeps whole seconds.
        #expect(binary.removeValue(forKey: "date") == .date(-1.5))
        xml["date"] = nil
        #expect(NativeValue.dictionary(xml) == .dictionary(binary))
        #expect(binary["large"] == .unsigned(.max) && binary["wide"] == .integer(.min) && binary["float"] == .real(0.25))
    }

    @Test(arguments: [[0xC1, 2], [0xB1, 2], [0x00], [0x80, 1], [0x0F], [0x70], [0xE0]] as [[UInt8]])
    func `an object of an unsupported type is refused without a crash`(_ object: [UInt8]) {
        expect("unsupported", Self.binary([[0xD1, 1, 2], Self.name, object]))
        expect("unsupported", Self.binary([[0xD1, 1, 2], Self.name, [0xA1, 3], object]))
    }

    @Test func `a binary list with a set as a name or as an element is refused`() {
        expect("unsupported", Self.binary([[0xD1, 1, 1], [0xC1, 2], Self.name]))
        expect("unsupported", Self.binary([[0xD1, 1, 2], Self.name, [0xA2, 3, 3], [0xC0]]))
    }

    @Test func `a binary list with an object that contains itself is refused`() {
        expect("unsupported", Self.binary([[0xD1, 1, 0], Self.name]))
        expect("unsupported", Self.binary([[0xD1, 1, 2], Self.name, [0xA2, 2, 2]]))
    }

    @Test func `a small binary list whose references expand to a huge one is refused`() {
        let lists = (0..<60).map { [0xA4] + Array(repeating: UInt8($0 + 3), count: 4) as [UInt8] }
        expect("unsupported", Self.binary([[0xD1, 1, 2], Self.name] + lists + [[0x09]]))
        let data = [0x4F, 0x11, 0x40, 0x00] + [UInt8](repeating: 1, count: 0x4000)
        let references = [0xAF, 0x11, 0x40, 0x00] + [UInt8](repeating: 3, count: 0x4000)
        expect("unsupported", Self.binary([[0xD1, 1, 2], Self.name, references, data]))
    }

    @Test func `a binary list with two entries of one name is damaged`() {
        expect("damaged", Self.binary([[0xD2, 1, 1, 2, 3], Self.name, [0x08], [0x09]]))
        // Two Unicode spellings of one name: é composed, and e with a combining accent.
        expect("damaged", Self.binary([[0xD2, 1, 2, 3, 3], [0x61, 0x00, 0xE9], [0x62, 0x00, 0x65, 0x03, 0x01], [0x09]]))
    }

    @Test func `a text with half a surrogate pair is refused, not repaired`() {
        expect("unsupported", Self.binary([[0xD1, 1, 2], Self.name, [0x61, 0xD8, 0x00]]))
    }

    @Test func `a truncated or changed binary list never crashes the process`() {
        let whole = Self.binary([
            [0xD2, 1, 2, 3, 4], Self.name, [0x51, 98], [0xA1, 5], [0x23, 1, 2, 3, 4, 5, 6, 7, 8], [0x13, 0, 0, 0, 0, 0, 0, 0, 1],
        ])
        for count in whole.indices { expect("damaged", Array(whole[..<count])) }
        for index in whole.indices {
            for change in 1...255 {
                var bytes = whole
                bytes[index] ^= UInt8(change)
                _ = try? PropertyListReader.read(bytes)
            }
        }
    }

    @Test(arguments: ["<array>", "<dict><key>a</key>", "<plist><dict><key>a</key><array >", "{a=(", "(", "{a="])
    func `a list nested a million levels deep does not overflow the stack`(_ piece: String) async {
        // The serial queues of the stores run on threads with half a megabyte of stack.
        await withCheckedContinuation { done in
            DispatchQueue(label: "small").async {
                _ = try? PropertyListReader.read(Array(String(repeating: piece, count: 1_000_000 / piece.utf8.count).utf8))
                done.resume()
            }
        }
    }

    @Test func `an XML list is refused if it declares an encoding other than ASCII, UTF-8 or ISO-8859-1`() throws {
        let text = "<plist><dict><key>a</key><true/></dict></plist>"
        for name in ["UTF-16", "UTF-7", "IBM037", "shift_jis"] {
            expect("unsupported", Array("<?xml version=\"1.0\" encoding='\(name)'?>\(text)".utf8))
        }
        for name in ["UTF-8", "utf-8", "US-ASCII", "ISO-8859-1"] {
            #expect(try PropertyListReader.read(Array("<?xml version=\"1.0\" encoding=\"\(name)\"?>\(text)".utf8)) == ["a": .boolean(true)])
        }
    }

    @Test func `a list in UTF-16 is refused, because the reader cannot find duplicate entries in it`() {
        let text = "<plist><dict><key>a</key><true/><key>a</key><false/></dict></plist>"
        expect("unsupported", [0xFF, 0xFE] + text.utf16.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] })
        expect("unsupported", [0xFE, 0xFF] + text.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] })
        expect("unsupported", text.utf16.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] })
    }
}

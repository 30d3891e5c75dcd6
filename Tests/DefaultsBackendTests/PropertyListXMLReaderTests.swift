import BackendContract
import Foundation
import TestSupport
import Testing

@testable import DefaultsBackend

/// The reader in one pass returns entries only if Foundation returns the same ones.
@Suite(.slow("parses many lists")) struct PropertyListXMLReaderTests {
    private static func list(_ content: String) -> [UInt8] {
        PropertyListXML.header + Array(content.utf8) + PropertyListXML.trailer
    }

    private static func list(_ entries: [String: NativeValue]) -> [UInt8] {
        var bytes = PropertyListXML.header
        PropertyListXML.append(.dictionary(entries), indent: 0, to: &bytes)
        return bytes + PropertyListXML.trailer
    }

    private static func isForFoundation(_ value: NativeValue) -> Bool {
        switch value {
        case .date: true
        case .real(let number): !number.isFinite
        case .array(let elements): elements.contains(where: isForFoundation)
        case .dictionary(let entries): entries.values.contains(where: isForFoundation)
        default: false
        }
    }

    /// Compares the reader with Foundation. Returns whether the reader returned entries.
    private static func agrees(_ bytes: [UInt8]) -> Bool {
        guard let entries = PropertyListXMLReader.entries(bytes) else { return false }
        let theirs = try? PropertyListReader.readXML(bytes)
        #expect(theirs.map(NativeValue.dictionary) == .dictionary(entries), "\(String(decoding: bytes, as: UTF8.self))")
        return true
    }

    @Test(arguments: 0..<20) func `random lists are read like Foundation reads them`(seed: UInt64) {
        var random = SeededGenerator(seed)
        for _ in 0..<25 {
            let value = (0..<5).map { (String($0) + random.text(), random.value()) }
            let entries = Dictionary(value) { $1 }.filter { PropertyListXML.representsText($0.key, .foundation) }
                .filter { PropertyListXML.represents($0.value, .foundation) }
            let isRead = Self.agrees(Self.list(entries))
            #expect(isRead != entries.values.contains(where: Self.isForFoundation))
        }
    }

    @Test(arguments: 0..<20) func `spoilt lists are read like Foundation reads them`(seed: UInt64) {
        var random = SeededGenerator(seed)
        let pieces = [
            "<", ">", "&", "/", "&amp;", "&#13;", "&#65;", "&quot;", " ", "\n", "\r", "\u{0}", "<key>a</key>", "<string>", "</string>",
            "<dict>",
            "</dict>", "<array/>", "<true/>", "-", "0", "1", ".", "e", "=", "<!-- -->", "<![CDATA[a]]>", "\u{FEFF}", "CF$UID", "é",
            "e\u{301}",
        ]
        .map { Array($0.utf8) }
        for _ in 0..<75 {
            var bytes = Self.list(["a": random.value(), "b": random.value(depth: 2), "é": .string(random.text())])
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let start = Int.random(in: PropertyListXML.header.count...bytes.count, using: &random)
                let end = min(bytes.count, start + Int.random(in: 0...3, using: &random))
                bytes.replaceSubrange(start..<end, with: pieces.randomElement(using: &random) ?? [])
            }
            _ = Self.agrees(bytes)
        }
    }

    @Test(arguments: [
        "<dict/>", "<dict></dict>", "<dict><key>a</key><string></string></dict>", "<dict><key></key><true/></dict>",
        "<dict><key>a</key><real>1.5</real><key>b</key><data>AAAA</data></dict>",
        "<dict><key>a</key><string>&lt;&amp;&gt;&#13;x</string></dict>",
        "<dict><key>a</key><integer>18446744073709551615</integer></dict>",
    ])
    func `these lists are read in one pass`(content: String) { #expect(Self.agrees(Self.list(content + "\n"))) }

    @Test(arguments: [
        "<dict><key>a</key><true/><key>a</key><false/></dict>", "<dict><key>é</key><true/><key>e\u{301}</key><false/></dict>",
        "<dict><key>a</key><dict><key>CF$UID</key><integer>1</integer></dict></dict>",
        "<dict><key>a</key><string>\u{FEFF}b</string></dict>",
        "<dict><key>a</key><string>b\rc</string></dict>", "<dict><key>a</key><string>&quot;</string></dict>",
        "<dict><key>a</key><integer>01</integer></dict>", "<dict><key>a</key><integer>+1</integer></dict>",
        "<dict><key>a</key><integer>-0</integer></dict>", "<dict><key>a</key><integer>0x1F</integer></dict>",
        "<dict><key>a</key><integer> 1</integer></dict>", "<dict><key>a</key><real>1</real></dict>",
        "<dict><key>a</key><real>nan</real></dict>",
        "<dict><key>a</key><data>AA AA</data></dict>", "<dict><key>a</key><data>AAA</data></dict>",
        "<dict><key>a</key><date>2001-01-01T00:00:00Z</date></dict>", "<dict><key>a</key></dict>", "<dict><string>a</string></dict>",
        "<dict><!-- c --></dict>", "<dict><key>a</key><string><![CDATA[b]]></string></dict>", "<array/>", "<string>a</string>",
        "<dict/><dict/>", "<dict><key>a</key><string/></dict>", "<dict><key>a</key><string>\u{0}</string></dict>",
    ])
    func `these lists are left to Foundation`(content: String) {
        #expect(PropertyListXMLReader.entries(Self.list(content + "\n")) == nil)
    }

    @Test func `deep lists and other endings are left to Foundation`() {
        let deep = String(repeating: "<array>", count: 300) + String(repeating: "</array>", count: 300)
        #expect(PropertyListXMLReader.entries(Self.list("<dict><key>a</key>\(deep)</dict>\n")) == nil)
        let whole = Self.list("<dict/>\n")
        for end in 0..<whole.count { #expect(PropertyListXMLReader.entries(Array(whole[..<end])) == nil) }
        #expect(PropertyListXMLReader.entries(whole + [0x0A]) == nil && PropertyListXMLReader.entries(whole) == [:])
    }
}

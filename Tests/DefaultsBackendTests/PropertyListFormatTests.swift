import BackendContract
import BackendRuntime
import Foundation
import TestSupport
import Testing

@testable import DefaultsBackend

extension SeededGenerator {
    mutating func text() -> String {
        let alphabet = Array("ab <>&\"'/]\n\t\r\u{1}\u{1F}\u{7F}\u{85}é\u{E000}😀\u{2028}\u{FFFE}漢")
        return String((0..<Int.random(in: 0...12, using: &self)).compactMap { _ in alphabet.randomElement(using: &self) })
    }

    mutating func value(depth: Int = 0) -> NativeValue {
        switch Int.random(in: 0..<(depth < 3 ? 10 : 8), using: &self) {
        case 0, 1: return .string(text())
        case 2: return .integer([0, 1, -1, .min, .max, Int64(truncatingIfNeeded: next())].randomElement(using: &self) ?? 0)
        case 3: return .unsigned(UInt64(Int64.max) + 1 + UInt64.random(in: 0...UInt64(Int64.max), using: &self))
        case 4:
            let number = Double(bitPattern: next())
            return .real(number.isNaN ? .nan : number)
        case 5: return .boolean(Bool.random(using: &self))
        case 6: return .date(Double(Int64.random(in: -94_670_726_400..<252_423_993_600, using: &self)))
        case 7: return .data((0..<Int.random(in: 0...40, using: &self)).map { _ in UInt8.random(in: .min ... .max, using: &self) })
        case 8: return .array((0..<Int.random(in: 0...4, using: &self)).map { _ in value(depth: depth + 1) })
        default:
            var entries: [String: NativeValue] = [:]
            for _ in 0..<Int.random(in: 0...4, using: &self) {
                entries[text().precomposedStringWithCanonicalMapping] = value(depth: depth + 1)
            }
            return .dictionary(entries)
        }
    }
}

/// Tests of the property list format. A value that another program wrote is a foreign value.
/// A slot is a named place for one value, with metadata that only this library reads.
@Suite(.inTurn) struct PropertyListFormatTests {
    @Test(arguments: 0..<300 as Range<UInt64>)
    func `Foundation reads the encoded entries with their exact values`(seed: UInt64) throws {
        var generator = SeededGenerator(seed)
        var document = PropertyListDocument()
        var expected: [String: NativeValue] = [:]
        for _ in 0..<Int.random(in: 0...8, using: &generator) {
            let name = "k" + generator.text().precomposedStringWithCanonicalMapping
            let value = generator.value()
            document.replace(PropertyListSlot(address: StorageAddress(name), value: value, metadata: nil))
            expected[name] = value
        }
        let read = try PropertyListReader.read(try document.encoded())
        #expect(NativeValue.dictionary(read).canonicalBytes == NativeValue.dictionary(expected).canonicalBytes)
    }

    @Test(arguments: 0..<100 as Range<UInt64>)
    func `a list without some of its values has the bytes of a list that never had them`(seed: UInt64) throws {
        var generator = SeededGenerator(seed)
        let count = Int.random(in: 1...12, using: &generator)
        // Values of other programs have no metadata.
        let isForeign = Bool.random(using: &generator)
        let hasNamespace = Bool.random(using: &generator)
        let slots = (0..<count).map { number in
            let address = StorageAddress("name \(number)", in: number == 0 && hasNamespace ? StorageNamespace("n") : .values)
            // A list whose values XML represents. Every other list is encoded again.
            let value = NativeValue.string(String(repeating: "é<", count: Int.random(in: 0...9, using: &generator)))
            return isForeign && address.namespace == .values
                ? PropertyListSlot(address: address, value: value, metadata: nil)
                : PropertyListSlot(address, .native(value), StorageMetadata(typeTag: "T"), StorageRevision.random(using: &generator))
        }
        var document = PropertyListDocument()
        for slot in slots { document.replace(slot) }
        var bytes = try document.encode(over: [])
        var rest = slots
        while !rest.isEmpty {
            let removed = rest.filter { _ in Int.random(in: 0..<3, using: &generator) == 0 }
            rest.removeAll { slot in removed.contains { $0 === slot } }
            #expect(document.remove(removed.map(\.address).shuffled(using: &generator)) == !removed.isEmpty)
            bytes = try document.encode(over: bytes)
            var expected = PropertyListDocument()
            for slot in rest { expected.replace(slot) }
            #expect(try bytes == expected.encoded())
        }
    }

    @Test(arguments: 0..<100 as Range<UInt64>)
    func `a list is read back with all its slots, and is then encoded to the same bytes again`(seed: UInt64) throws {
        var generator = SeededGenerator(seed &* 7_919)
        var document = PropertyListDocument()
        for number in 0..<Int.random(in: 1...12, using: &generator) {
            let namespace = [StorageNamespace.values, StorageNamespace("n"), StorageNamespace("é <")][number % 3]
            let address = StorageAddress("name \(Int.random(in: 0...20, using: &generator))", in: namespace)
            let metadata = StorageMetadata(
                serializer: generator.text(), createdAt: Double(bitPattern: generator.next() >> 2), attributes: ["a": "b"])
            let revision = StorageRevision.random(using: &generator)
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: document.replace(PropertyListSlot(tombstoneAt: address, metadata, revision))
            case 1: document.replace(PropertyListSlot(address, .bytes([1, 2, 3]), metadata, revision))
            case 2: _ = document.remove([address])
            default: document.replace(PropertyListSlot(address, .native(generator.value()), metadata, revision))
            }
        }
        let bytes = try document.encoded()
        let read = try PropertyListDocument(try PropertyListReader.read(bytes))
        #expect(read.slots.map(\.address) == document.slots.map(\.address))
        for (left, right) in zip(read.slots, document.slots) {
            #expect(left.probe.revision == right.probe.revision)
            #expect(left.probe.record?.payload.canonicalBytes == right.probe.record?.payload.canonicalBytes)
            #expect(left.probe.record?.metadata == right.probe.record?.metadata)
        }
        #expect(try read.encoded() == bytes)
        #expect(read.differences(from: document).isEmpty)
    }

    @Test(arguments: 0..<50 as Range<UInt64>)
    func `deleting several slots leaves exactly the others, in their order`(seed: UInt64) throws {
        var generator = SeededGenerator(seed &* 7_919)
        var document = PropertyListDocument()
        let addresses = (0..<30).map { StorageAddress("name \($0)", in: $0 % 3 == 0 ? StorageNamespace("n") : .values) }
        for address in addresses where Bool.random(using: &generator) {
            document.replace(PropertyListSlot(address, .bytes([1]), StorageMetadata(), StorageRevision.random(using: &generator)))
        }
        let before = document.slots.map(\.address)
        let gone = addresses.shuffled(using: &generator).prefix(Int.random(in: 0...30, using: &generator))
        #expect(document.remove(Array(gone)) == before.contains { gone.contains($0) })
        #expect(document.slots.map(\.address) == before.filter { !gone.contains($0) })
    }

    @Test func `every type of value that Foundation wrote is read as that type`() throws {
        let entries = try PropertyListReader.read(try fixture("foundation.plist"))
        let expected: [String: NativeValue] = [
            "text": .string("Zürich <&> \"quoted\"\n2nd line"), "empty text": .string(""), "integer": .integer(42),
            "smallest": .integer(.min),
            "unsigned": .unsigned(.max), "real": .real(3.25), "whole real": .real(3), "yes": .boolean(true), "no": .boolean(false),
            "one": .integer(1), "date": .date(725_760_000), "data": .data([0, 1, 2, 0xFF]),
            "array": .array([.string("a"), .integer(1), .boolean(true), .real(1.5), .dictionary(["k": .string("v")])]),
            "dictionary": .dictionary(["inner": .dictionary(["list": .array([.integer(1), .integer(2)]), "flag": .boolean(false)])]),
        ]
        #expect(entries == expected)
    }

    @Test func `a file of format 1 stays readable in all later versions`() async throws {
        let scratch = try Scratch()
        try scratch.write(try fixture("format-1.plist"), to: scratch.path())
        let store = scratch.store()
        let revision = { (last: UInt8) in StorageRevision([UInt8](repeating: 0xA0, count: 15) + [last]) }
        let metadata = StorageMetadata(
            serializer: "json", typeTag: "Theme", schemaVersion: 2, origin: [1, 2, 3], sealing: "none", createdAt: 1_700_000_000.5,
            modifiedAt: 1_700_000_001, expiresAt: 1_900_000_000, attributes: ["by": "test"])
        let probes = try await store.read(
            ["theme", "blob", "when", "odd", "gone", "theirs", "changed"].map { StorageAddress($0) } + [
                StorageAddress("entry", in: StorageNamespace("ledger"))
            ], .validated)
        #expect(probes[0] == .value(StorageRecord(payload: .text("dark"), metadata: metadata, revision: revision(1))))
        #expect(probes[1] == .value(StorageRecord(payload: .bytes([0, 0xFF]), revision: revision(2))))
        #expect(probes[2] == .value(StorageRecord(payload: .native(.date(725_760_000.5)), revision: revision(3))))
        #expect(probes[3] == .value(StorageRecord(payload: .text("a\u{1}b"), revision: revision(4))))
        #expect(
            probes[4] == .tombstone(StorageTombstone(metadata: StorageMetadata(origin: [9]), revision: revision(5))))
        #expect(probes[5].record?.isForeign == true)
        #expect(probes[5].native == .integer(7))
        #expect(probes[6].record?.isForeign == true)
        #expect(probes[6].text == "by somebody else")
        #expect(probes[7] == .value(StorageRecord(payload: .bytes([4, 5]), revision: revision(6))))
    }

    @Test func `values that another program wrote survive writes by this store`() async throws {
        let scratch = try Scratch()
        try scratch.write(try fixture("foundation.plist"), to: scratch.path())
        let before = try PropertyListReader.read(try fileBytes(scratch.path()))
        let store = scratch.store()
        _ = try await store.apply(.put(.bytes([1]), StorageMetadata(serializer: "json"), at: StorageAddress("ours")))
        _ = try await scratch.store().apply(.put(.text("x"), at: StorageAddress("ours too")))
        var after = try PropertyListReader.read(try fileBytes(scratch.path()))
        for name in ["ours", "ours too", PropertyListDocument.reservedName] { #expect(after.removeValue(forKey: name) != nil) }
        #expect(NativeValue.dictionary(after).canonicalBytes == NativeValue.dictionary(before).canonicalBytes)
    }

    @Test func `a binary property list is read, and is rewritten as XML if that loses nothing`() async throws {
        let scratch = try Scratch()
        try scratch.write(try Scratch.propertyList(["a": 1, "b": "x"], .binary), to: scratch.path())
        let store = scratch.store()
        #expect(try await store.read(StorageAddress("a")).native == .integer(1))
        _ = try await store.apply(.put(.text("y"), at: StorageAddress("c")))
        #expect(try fileBytes(scratch.path()).starts(with: Array("<?xml".utf8)))
        #expect(try await scratch.store().read(StorageAddress("b")).text == "x")
    }

    @Test func `a binary property list stays binary while it has values that XML would change`() async throws {
        let scratch = try Scratch()
        let date = Date(timeIntervalSinceReferenceDate: 0.75)
        try scratch.write(try Scratch.propertyList(["date": date, "b": true, "u": UInt64.max], .binary), to: scratch.path())
        let store = scratch.store()
        let metadata = StorageMetadata(origin: [1])
        _ = try await store.apply(.put(.text("y"), metadata, at: StorageAddress("c")))
        _ = try await store.apply(.put(.bytes([1]), metadata, at: StorageAddress("d", in: StorageNamespace("n"))))
        #expect(try fileBytes(scratch.path()).starts(with: Array("bplist".utf8)))
        let other = scratch.store()
        #expect(try await other.read(StorageAddress("date")).native == .date(0.75))
        #expect(try await other.read(StorageAddress("b")).native == .boolean(true))
        #expect(try await other.read(StorageAddress("u")).native == .unsigned(.max))
        #expect(try await other.read(StorageAddress("c")).record?.metadata == metadata)
        #expect(try await other.read(StorageAddress("d", in: StorageNamespace("n"))).record?.payload == .bytes([1]))
        _ = try await store.apply(.delete(StorageAddress("date")))
        #expect(try fileBytes(scratch.path()).starts(with: Array("<?xml".utf8)))
    }

    @Test func `a byte order mark at the beginning of a text, a name or metadata is kept`() async throws {
        // Foundation's XML reader drops a byte order mark at the beginning of a text.
        let scratch = try Scratch()
        let metadata = StorageMetadata(serializer: "\u{FEFF}", attributes: ["\u{FEFF}a": "\u{FEFF}"])
        _ = try await scratch.store().apply(.put(.text("\u{FEFF}text"), metadata, at: StorageAddress("marked")))
        _ = try await scratch.store().apply(.put(.text("x"), at: StorageAddress("\u{FEFF}name")))
        _ = try await scratch.store().apply(.put(.text("y"), at: StorageAddress("name")))
        let store = scratch.store()
        let record = try #require(try await store.read(StorageAddress("marked")).record)
        #expect(!record.isForeign)
        #expect(record.payload.canonicalBytes == StoragePayload.text("\u{FEFF}text").canonicalBytes)
        #expect(RecordCodec.encodeMetadata(record.metadata) == RecordCodec.encodeMetadata(metadata))
        #expect(try await store.read(StorageAddress("\u{FEFF}name")).text == "x")
        #expect(try await store.read(StorageAddress("name")).text == "y")
    }

    @Test(arguments: [
        "", " ", "\n", "hello", "{ a = b; }", "a = b;", "<plist version=\"1.0\"><array/></plist>",
        "<plist version=\"1.0\"><string>a</string></plist>",
        "<plist version=\"1.0\"><dict><key>a</key></dict></plist>", "bplist00garbage", "<<<<<<< HEAD",
        "<plist version=\"1.0\"><dict><key>a</key><integer>1</integer><key>a</key><integer>2</integer></dict></plist>",
        "<plist version=\"1.0\"><dict><key>e\u{301}</key><true/><key>\u{e9}</key><true/></dict></plist>",
        "<plist version=\"1.0\"><dict><key>LocalData.metadata</key><string>mine</string></dict></plist>",
    ])
    func `a file that is not one complete dictionary with unique names is damaged`(_ text: String) throws {
        #expect {
            _ = try PropertyListDocument(try PropertyListReader.read(Array(text.utf8)))
        } throws: { error in
            if case PropertyListFault.damaged? = error as? PropertyListFault { true } else { false }
        }
    }

    @Test func `an entry name inside an XML comment is ignored`() throws {
        let text = "<plist version=\"1.0\"><dict><!-- <key>a</key> --><key>a</key><string><![CDATA[<key>]]></string></dict></plist>"
        #expect(try PropertyListReader.read(Array(text.utf8)) == ["a": .string("<key>")])
    }

    @Test func `a truncated file is never read as a list with missing entries`() throws {
        let scratch = try Scratch()
        _ = scratch
        for whole in [
            try fixture("format-1.plist"), try fixture("foundation.plist"), try Scratch.propertyList(["text": "x", "theme": 1], .binary),
        ] {
            let entries = try PropertyListReader.read(whole)
            for length in 0..<whole.count {
                do throws(PropertyListFault) {
                    let cut = try PropertyListReader.read(Array(whole[..<length]))
                    #expect(cut == entries, "cut at \(length) of \(whole.count)")
                } catch {
                    // Refusing the truncated file is correct.
                }
            }
        }
    }

    @Test func `a file of a later format is reported as unsupported and left unchanged`() async throws {
        let scratch = try Scratch()
        try scratch.writeForeign(["a": 1, "LocalData.metadata": ["format": 2]])
        let before = try fileBytes(scratch.path())
        let store = scratch.store()
        let error = try await #require(store.read(StorageAddress("a")).error, "a file of a later format was read")
        #expect(error.code == .unsupported)
        #expect(try await store.apply(.put(.text("x"), at: StorageAddress("b"))).error?.code == .unsupported)
        #expect(await store.status() == .unavailable(error))
        await #expect(throws: BackendError.self) { _ = try await store.setAsideDamagedStore() }
        #expect(try fileBytes(scratch.path()) == before)
    }

    @Test func `if metadata is unreadable, its value counts as foreign, or its slot as corrupt if there is no value`() async throws {
        let scratch = try Scratch()
        let entries: [String: Any] = ["a": ["form": "native"], "b": "nonsense", "c": ["tombstone": true, "revision": "00ff"]]
        try scratch.writeForeign(["a": 1, "LocalData.metadata": ["format": 1, "entries": entries, "later": "kept"] as [String: Any]])
        let store = scratch.store()
        #expect(try await store.read(StorageAddress("a")).record?.isForeign == true)
        #expect(try await store.read(StorageAddress("c")) == .tombstone(StorageTombstone(revision: StorageRevision([0, 0xFF]))))
        let corruption = try await #require(store.read(StorageAddress("b")).corruption, "a damaged entry was taken for an absent one")
        #expect(try await store.apply(.put(.text("x"), at: StorageAddress("b"))).isApplied == false)
        let revision = try #require(corruption.revision)
        #expect(try await store.apply(.put(.text("x"), at: StorageAddress("b"), if: .revision(revision))).isApplied)
        #expect((try scratch.foundationEntries()["LocalData.metadata"] as? [String: Any])?["later"] as? String == "kept")
    }
}

import BackendContract
import BackendRuntime
import TestSupport
import Testing

@testable import KeyringBackend

/// Tests of the text and the attributes of keyring items, without a keyring. A slot is a named place for one record.
@Suite(.inTurn) struct KeyringFormatTests {
    /// The test vectors of RFC 4648, section 10.
    @Test(
        arguments: zip(
            ["", "f", "fo", "foo", "foob", "fooba", "foobar"], ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]))
    func `base64 follows RFC 4648`(text: String, coded: String) {
        #expect(Base64.encode(Array(text.utf8)) == Array(coded.utf8))
        #expect(Base64.decode(Array(coded.utf8)[...]) == Array(text.utf8))
    }

    @Test(arguments: ["Zg", "Zg=", "Zh==", "Zm9=", "====", "Zg==Zg==", "Zm 9v", "Zm9v\n", "Z-9_", "Zm8=="])
    func `text that is not canonical base64 is refused`(text: String) {
        #expect(Base64.decode(Array(text.utf8)[...]) == nil)
    }

    @Test func `base64 preserves all bytes`() {
        let bytes = (0..<1_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 / 256) }
        for length in 0..<300 { #expect(Base64.decode(Base64.encode(Array(bytes[..<length]))[...]) == Array(bytes[..<length])) }
    }

    @Test func `a record is stored as one line that starts with the version of its format`() throws {
        let record = StorageRecord(payload: .bytes(Array("line\nbreak".utf8)), revision: StorageRevision([1]))
        let line = KeyringPayload.line(record)
        #expect(line.starts(with: Array("LD1:TERSAQ".utf8)) && !line.contains(UInt8(ascii: "\n")))
        #expect(KeyringPayload.probe(line, isInterop: false, revision: StorageRevision([2])) == .value(record))
    }

    @Test func `a later record format is unsupported, not damaged`() throws {
        let line = Array("LD1:".utf8) + Base64.encode(Array("LDR".utf8) + [9, 1, 2, 3])
        let error = try #require(KeyringPayload.probe(line, isInterop: false, revision: StorageRevision([])).error, "it was read")
        #expect(error.code == .unsupported)
    }

    @Test func `bytes of another program that are not UTF-8 are read as a foreign data value`() {
        let probe = KeyringPayload.probe([0xFF, 0x00], isInterop: false, revision: StorageRevision([5]))
        #expect(probe.record?.payload == .native(.data([0xFF, 0x00])) && probe.record?.isForeign == true)
    }

    @Test func `names that are equal in Unicode but differ in bytes are two slots`() {
        let layout = ItemLayout(service: "s", style: .localData)
        let composed = StorageAddress("caf\u{E9}")
        #expect(layout.address(of: layout.written(StorageAddress("cafe\u{301}")), in: .values) != composed)
        #expect(layout.address(of: layout.written(composed), in: .values) == composed)
        var other = layout.written(composed)
        other["service"] = "S"
        #expect(layout.address(of: other, in: .values) == nil)
    }

    /// All styles, as other programs also use them.
    private static let styles: [KeyringStyle] = [
        .localData, .secretTool(), .secretTool(attributes: ["colour": "blue"]), .pythonKeyring, .goKeyring, .keyringRS(),
        .keyringRS(target: "T"),
    ]

    @Test(arguments: styles) func `attributes that a daemon adds to an item do not hide it, and those of another program do`(
        style: KeyringStyle
    ) {
        let layout = ItemLayout(service: "s", style: style)
        let address = StorageAddress("a")
        func found(with more: [String: String], without removed: String? = nil) -> StorageAddress? {
            var attributes = layout.written(address).merging(more) { $1 }
            if let removed { attributes[removed] = nil }
            return layout.address(of: attributes, in: .values)
        }
        #expect(found(with: [:]) == address)
        #expect(found(with: ["xdg:content-type": "text/plain"]) == address)
        #expect(found(with: ["xdg:content-type": "text/plain", "xdg:later": "1"], without: "xdg:schema") == address)
        for foreign in ["further", "content-type", "xdg", ":", "user:realm"] {
            #expect(found(with: [foreign: "1"], without: "xdg:schema") == nil, "\(foreign)")
        }
        // Only LocalData writes an item with its schema, and it writes no name with a colon.
        #expect(found(with: ["daemon:addition": "1"]) == (style == .localData ? address : nil))
        #expect(found(with: ["further": "1"]) == nil)
    }

    @Test func `an attribute that the style itself fixes is not ignored, even if daemons add it too`() {
        let layout = ItemLayout(service: "s", style: .secretTool(attributes: ["xdg:content-type": "text/plain"]))
        var attributes = layout.written(StorageAddress("a"))
        #expect(layout.address(of: attributes, in: .values) == StorageAddress("a"))
        attributes["xdg:content-type"] = "application/octet-stream"
        #expect(layout.address(of: attributes, in: .values) == nil)
    }

    @Test func `a store is refused if one of its fixed attributes has the name of the attribute that identifies a slot`() {
        let layout = ItemLayout(service: "s", style: .secretTool(attributes: ["account": "x"]))
        #expect(throws: BackendError.self) { try layout.validateStore() }
    }

    #if Keyring && os(Linux)
        @Test(arguments: [
            ("/org/freedesktop/secrets/collection/login", "login.keyring"),
            ("/org/freedesktop/secrets/collection/login/12", "login.keyring"),
            ("/org/freedesktop/secrets/collection/Default_5fkeyring/1", "Default_keyring.keyring"),
            ("/org/freedesktop/secrets/collection/_2e_2e_2fx", nil), ("/org/freedesktop/secrets", nil),
        ])
        func `the file of a collection is derived from its object path`(path: String, file: String?) {
            let files = CollectionFiles(path: nil, isGnome: true, files: PosixFileSystem())
            #expect(files.fileName(ofObject: path) == file)
        }

        @Test func `the file of a collection of oo7 is the only one whose name leads to the object path`() throws {
            let folder = try TemporaryDirectory()
            for name in ["login", "Two words", "a_b", "a b"] { try writeFile([UInt8](), to: folder.folder("v1") + "/\(name).keyring") }
            let files = CollectionFiles(path: folder.path, isGnome: false, files: PosixFileSystem())
            for path in ["Login", "login/7"] { #expect(files.fileName(ofObject: "/\(path)") == nil) }
            for (path, file) in [
                ("Login", "login.keyring"), ("login/12", "login.keyring"), ("Two_words/1", "Two words.keyring"), ("a_b", nil), ("c", nil),
            ] {
                #expect(files.fileName(ofObject: "/org/freedesktop/secrets/collection/\(path)") == file, "\(path)")
            }
        }
    #endif
}

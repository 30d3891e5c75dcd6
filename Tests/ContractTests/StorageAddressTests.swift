import BackendContract
import TestSupport
import Testing

/// Tests of addresses. An address is the name of a record in a namespace of a store.
/// The values of plain keys, which are in no collection, have the namespace `values`.
@Suite(.inTurn) struct StorageAddressTests {
    @Test func `two Unicode spellings of one text are two addresses`() {
        let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
        #expect(composed == decomposed, "Swift calls the two texts equal")
        #expect(StorageAddress(composed) != StorageAddress(decomposed))
        #expect(StorageNamespace(composed) != StorageNamespace(decomposed))
        #expect(StorageAddress("x", in: StorageNamespace(composed)) != StorageAddress("x", in: StorageNamespace(decomposed)))
        let slots = [StorageAddress(composed): 1, StorageAddress(decomposed): 2]
        #expect(slots[StorageAddress(composed)] == 1 && slots[StorageAddress(decomposed)] == 2)
    }

    @Test func `names with equal bytes are one address, no matter how the two strings were created`() {
        let copy = String(decoding: Array("a name".utf8), as: UTF8.self)
        #expect(StorageAddress(copy) == StorageAddress("a name"))
        #expect(Set([StorageAddress(copy), StorageAddress("a name")]).count == 1)
    }

    @Test func `the boundary between namespace and name is part of the address`() {
        let addresses = [("ab", "c"), ("a", "bc"), ("", "abc"), ("abc", "")].map { StorageAddress($1, in: StorageNamespace($0)) }
        #expect(Set(addresses).count == 4)
    }

    @Test(arguments: [
        "a", " ", "..", "../up", "a/b", "e\u{301}", "\u{E9}", "🗝️👩‍👩‍👧‍👦", "file:x", ".hidden", "\u{FEFF}", "\u{A0}", "~",
        String(repeating: "x", count: 1_024), String(repeating: "é", count: 512),
    ])
    func `a name of up to 1024 bytes without control characters is valid`(_ name: String) throws {
        try StorageAddress(name).validate()
        try StorageAddress("x", in: StorageNamespace(name)).validate()
    }

    @Test(arguments: [
        "\u{0}", "a\u{0}b", "line\nbreak", "\r", "\t", "\u{1F}", "\u{7F}", "\u{80}", "\u{9F}", "\u{FFFE}", "\u{FFFF}", "\u{10FFFF}",
        String(repeating: "x", count: 1_025), String(repeating: "é", count: 513), String(repeating: "x", count: 10_000),
    ])
    func `an invalid name is refused, and the error does not repeat it`(_ name: String) throws {
        for address in [StorageAddress(name), StorageAddress("x", in: StorageNamespace(name))] {
            let error = try #require(throws: BackendError.self) { try address.validate() }
            #expect(error.code == .invalidName && error.outcome == .notApplied)
            #expect(!error.reason.contains(name))
        }
    }

    @Test func `an empty name is refused, and the empty namespace is the namespace of values`() throws {
        #expect(throws: BackendError.self) { try StorageAddress("").validate() }
        #expect(StorageNamespace("") == .values)
        try StorageAddress("x", in: StorageNamespace("")).validate()
    }
}

import BackendContract
import Foundation
import Testing

@testable import EtcdStore

@Suite struct SlotKeyTests {
    private static let texts = [
        "a", "A", "a/b", "a%2Fb", "%", "..", "../up", " ", "e\u{301}", "\u{E9}", "🗝️", "a~b-c_d.e",
        String(repeating: "é", count: 512),
    ]

    @Test func `no two slots have the same key, and a key names its slot`() throws {
        var seen: Set<Data> = []
        for context in ["", "a", "a/", "a/b", "e\u{301}", "\u{E9}"] {
            let keys = SlotKeys(prefix: "localdata", context: context)
            for namespace in [""] + Self.texts {
                for name in Self.texts {
                    let address = StorageAddress(name, in: StorageNamespace(namespace))
                    let key = keys.key(address)
                    #expect(seen.insert(key).inserted)
                    #expect(keys.address(key) == address)
                    let range = keys.range(of: address.namespace)
                    #expect(range.start.lexicographicallyPrecedes(key) && key.lexicographicallyPrecedes(range.end))
                    #expect(key.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).count == 5)
                }
            }
        }
    }

    @Test func `a key that the store does not write names no slot`() {
        let keys = SlotKeys(prefix: "localdata", context: "c")
        for text in [
            "localdata/s/c//", "localdata/s/c/a", "localdata/s/c/a/b/c", "localdata/s/d//a", "localdata/s/c//%", "localdata/s/c//%2f",
            "localdata/s/c//%61", "localdata/s/c//%FF", "localdata/s/c//é", "localdata/s/c//%00", "other",
        ] {
            #expect(keys.address(Data(text.utf8)) == nil, "\(text)")
        }
    }

    @Test func `a revision identifies the state of one slot`() throws {
        let (one, other) = (Data("one".utf8), Data("other".utf8))
        let number: Int64 = 0x0100_0000_0007
        let revision = SlotRevision.revision(number, of: one)
        #expect(SlotRevision.number(revision, of: one) == number)
        #expect(SlotRevision.number(revision, of: other) == nil)
        #expect(revision != SlotRevision.revision(number, of: other))
        for bytes: [UInt8] in [[], [1], [UInt8](repeating: 0, count: 16), revision.bytes + [0]] {
            #expect(SlotRevision.number(StorageRevision(bytes), of: one) == nil)
        }
    }
}

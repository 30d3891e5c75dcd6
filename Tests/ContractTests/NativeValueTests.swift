import BackendContract
import TestSupport
import Testing

/// Tests of native values, the types of a property list, and of canonical bytes, an encoding that only equal values share.
@Suite(.inTurn) struct NativeValueTests {
    /// Values that all differ, including similar ones. They are built again for each use.
    static var different: [NativeValue] {
        [
            .string(""), .string("a"), .string("e\u{301}"), .string("\u{E9}"), .string("\u{0}"), .integer(0), .integer(1), .integer(-1),
            .integer(.min), .integer(.max), .unsigned(0), .unsigned(1), .unsigned(.max), .real(0), .real(-0.0), .real(1), .real(.nan),
            .real(.infinity), .boolean(false), .boolean(true), .date(0), .date(-0.0), .date(1), .date(.nan), .data([]), .data([0]),
            .data([97]),
            .array([]), .array([.array([])]), .array([.string("a"), .string("b")]), .array([.string("ab")]),
            .array([.string("b"), .string("a")]),
            .array([.array([.integer(1)]), .integer(2)]), .array([.array([.integer(1), .integer(2)])]), .dictionary([:]),
            .dictionary(["a": .integer(1)]), .dictionary(["a": .integer(2)]), .dictionary(["b": .integer(1)]),
            .dictionary(["": .string("a")]),
            .dictionary(["e\u{301}": .integer(1)]), .dictionary(["\u{E9}": .integer(1)]),
            .dictionary(["a": .integer(1), "b": .integer(2)]),
            .dictionary(["a": .dictionary(["b": .integer(2)])]), .array([.string("a"), .integer(1)]),
        ]
    }

    @Test func `two values have the same canonical bytes exactly if they are equal`() {
        for (index, left) in Self.different.enumerated() {
            for (other, right) in Self.different.enumerated() {
                #expect((left.canonicalBytes == right.canonicalBytes) == (index == other), "\(index) and \(other)")
                #expect((left == right) == (index == other), "\(index) and \(other)")
                #expect((StoragePayload.native(left) == .native(right)) == (index == other), "\(index) and \(other)")
            }
        }
        #expect(Set(Self.different).count == Self.different.count)
        let again = Set(Self.different).union(Self.different)
        #expect(again.count == Self.different.count, "equal values have unequal hashes")
    }

    @Test func `the canonical bytes of a value are never a prefix of those of another value`() {
        for left in Self.different {
            for right in Self.different where left != right { #expect(!right.canonicalBytes.starts(with: left.canonicalBytes)) }
        }
    }

    @Test func `the insertion order of a dictionary does not change the canonical bytes`() {
        let names = (0..<50).map { "name \($0)" }
        var (forwards, backwards) = ([String: NativeValue](), [String: NativeValue]())
        for name in names { forwards[name] = .string(name) }
        for name in names.reversed() { backwards[name] = .string(name) }
        #expect(NativeValue.dictionary(forwards).canonicalBytes == NativeValue.dictionary(backwards).canonicalBytes)
    }

    @Test(arguments: different)
    func `a record preserves every bit of a native value`(_ value: NativeValue) throws {
        let record = StorageRecord(payload: .native(value), revision: StorageRevision([1]))
        guard case .record(let decoded) = RecordCodec.decode(RecordCodec.encode(record)) else {
            Issue.record("not a record")
            return
        }
        #expect(decoded.payload.canonicalBytes == record.payload.canonicalBytes)
    }

    @Test func `the canonical bytes of a sample value are those in this test`() {
        let value = NativeValue.array([
            .string("\u{E9}"), .integer(-2), .unsigned(.max), .real(0.1), .boolean(true), .date(0.25), .data([0]), .array([]),
            .dictionary(["k": .boolean(false)]),
        ])
        #expect(
            value.canonicalBytes
                == bytes(
                    inGroups: """
                        08 00000009
                        01 00000002 c3a9
                        02 fffffffffffffffe
                        03 ffffffffffffffff
                        04 3fb999999999999a
                        05 01
                        06 3fd0000000000000
                        07 00000001 00
                        08 00000000
                        09 00000001 00000001 6b 05 00
                        """))
    }
}

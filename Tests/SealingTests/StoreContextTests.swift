import BackendContract
import TestSupport
import Testing

@testable import Sealing

/// Tests of the context of sealed data, as bytes and in error texts.
@Suite(.inTurn) struct StoreContextTests {
    private let texts = Arbitrary<String>.text(.letter, 0...4)
    private var contexts: Arbitrary<StoreContext> {
        zip(texts, texts, texts).map { StoreContext(application: $0, kind: $1, scope: $2) }
    }

    @Test func `a context is read back unchanged, and two contexts never have the same bytes`() async {
        await forAll(zip(contexts, contexts), count: 300) { one, other in
            try same(StoreContext(bytes: one.bytes), one, "read back")
            try same(one.bytes == other.bytes, one == other, "the bytes")
        }
    }

    @Test func `bytes that are truncated, too long or for another purpose are no context`() throws {
        let bytes = StoreContext(application: "com.example", kind: "sqlite", scope: "bank").bytes
        for length in bytes.indices { #expect(throws: RecordDamage.self) { try StoreContext(bytes: Array(bytes[..<length])) } }
        #expect(throws: RecordDamage.self) { try StoreContext(bytes: bytes + [0]) }
        #expect(throws: RecordDamage.self) { try StoreContext(bytes: Fields("another purpose").bytes + bytes.dropFirst(28)) }
    }

    @Test func `the error for a wrong context has the expected context and the context that was found`() {
        let bank = StoreContext(application: "com.example", kind: "sqlite", scope: "bank")
        let error = bank.isNot(StoreContext(application: "com.example", kind: "vault", scope: "chat"), "The database", "Move it back.")
        #expect(error.code == .wrongContext && error.outcome == .notApplied)
        #expect(error.reason.contains("vault \"chat\" of \"com.example\"") && error.reason.contains("sqlite \"bank\" of \"com.example\""))
    }
}

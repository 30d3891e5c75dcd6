import BackendContract
import BackendRuntime
import Crypto
import Sealing
import TestSupport
import Testing

/// The header of a sealed store on a database server. It has the wrapped keys of the store. A recipient is a key that can unwrap them.
struct ServerHeaderTests {
    private static let context = StoreContext(application: "com.example.app", kind: "postgreSQL", scope: "main")
    private let random = Runtime.live.randomBytes
    private let first: SealingKey
    private let second: SealingKey
    private let header: ServerHeader

    init() throws {
        (first, second) = (.random(random), .random(random))
        header = try ServerHeader.make(Self.context, kek: first, source: "key file", random)
    }

    private func code(_ work: () throws -> some Any) -> BackendError.Code? {
        do {
            _ = try work()
            return nil
        } catch { return (error as? BackendError)?.code }
    }

    /// Returns whether keys open a row that other keys have sealed.
    private func share(_ sealing: ServerKeys, _ opening: ServerKeys) throws -> Bool {
        let content = RowContent(StorageAddress("name"), .value, StorageMetadata(), payload: Array("text".utf8))
        let row = try sealing.codec().seal(content, random(ServerRow.revisionLength), random)
        return try opening.codec().open(row).payload == Array("text".utf8)
    }

    @Test func `a recovery key that is added opens the store, and cannot once it is removed`() throws {
        let recovery = RecoveryKeyPair(random)
        let keys = try header.open(.key(first), in: Self.context)
        let both = try keys.changing(.addingRecovery(recovery), random)
        #expect(try share(keys, both.open(.recovery(recovery), in: Self.context)))
        let again = try both.open(.key(first), in: Self.context)
        #expect(try again.changing(.addingRecovery(recovery), random).keys.wraps.count == both.keys.wraps.count)
        let one = try again.changing(.removingRecovery(RecoveryRecipient(publicKey: recovery.publicKey).id), random)
        #expect(code { try one.open(.recovery(recovery), in: Self.context) } == .encryptionKeyMismatch)
        #expect(try share(keys, one.open(.key(first), in: Self.context)))
    }

    @Test func `after the key of the source is replaced, only the new key opens the store`() throws {
        let keys = try header.open(.key(first), in: Self.context)
        for change in [
            KeyTables.Change.replacingSources(with: second, source: "other file"),
            .rotating(to: second, from: [first.id], source: "key file"),
        ] {
            let changed = try keys.changing(change, random)
            #expect(code { try changed.open(.key(first), in: Self.context) } == .encryptionKeyMismatch)
            #expect(try share(keys, changed.open(.key(second), in: Self.context)))
        }
    }

    @Test func `a new data key opens rows of the former one until older keys are dropped`() throws {
        let keys = try header.open(.key(first), in: Self.context)
        let renewed = try keys.activatingNewKey(for: [first], random).open(.key(first), in: Self.context)
        #expect(try share(keys, renewed))
        let dropped = try renewed.droppingOlderKeys(random).open(.key(first), in: Self.context)
        #expect(try share(renewed, dropped))
        #expect(code { try share(keys, dropped) } == .corrupted)
        #expect(code { try keys.activatingNewKey(for: [], random) } != nil)
    }

    @Test func `a header of another store, application or scope is refused`() throws {
        for other in [
            StoreContext(application: "com.example.other", kind: "postgreSQL", scope: "main"),
            StoreContext(application: "com.example.app", kind: "postgreSQL", scope: "other"),
        ] {
            #expect(code { try header.open(.key(first), in: other) } == .wrongContext)
        }
    }

    /// Returns the header with other parts.
    private func header(
        database: [UInt8]? = nil, keys: KeyTables? = nil, index: [UInt8]? = nil, counter: Int64? = nil, tag: [UInt8]? = nil,
        proof: [UInt8]? = nil
    ) -> ServerHeader {
        ServerHeader(
            database: database ?? header.database, context: Self.context, keys: keys ?? header.keys, index: index ?? header.index,
            counter: counter ?? header.counter, tag: tag ?? header.tag, proof: proof ?? header.proof)
    }

    @Test func `a header that the server changed is refused`() throws {
        let other = try ServerHeader.make(Self.context, kek: first, source: "key file", random)
        func changed(_ bytes: [UInt8]) -> [UInt8] { [bytes[0] ^ 1] + bytes.dropFirst() }
        let headers = [
            header(index: changed(header.index)), header(tag: changed(header.tag)), header(index: Array(header.index.dropLast())),
            header(index: other.index, tag: other.tag), header(counter: 2), header(counter: 0), header(counter: -1),
            header(proof: changed(header.proof)), header(proof: []), header(proof: other.proof),
        ]
        for changed in headers { #expect(code { try changed.open(.key(first), in: Self.context) } == .corrupted) }
        let moved = header(database: other.database)
        #expect(code { try moved.open(.key(first), in: Self.context) } != nil)
    }

    @Test func `each change of a header increases its counter`() throws {
        let recovery = RecoveryKeyPair(random)
        #expect(header.counter == 1 && header.mark.commits == 1)
        let added = try header.open(.key(first), in: Self.context).changing(.addingRecovery(recovery), random)
        let rotated = try added.open(.key(first), in: Self.context).activatingNewKey(for: [first], random)
        let dropped = try rotated.open(.key(first), in: Self.context).droppingOlderKeys(random)
        let moved = try dropped.open(.recovery(recovery), in: Self.context).changing(
            .replacingSources(with: second, source: "other file"), above: 9, random)
        #expect([added, rotated, dropped, moved].map(\.counter) == [2, 3, 4, 10])
        #expect(Set([header, added, rotated, dropped, moved].map(\.mark.digest)).count == 5)
        _ = try moved.open(.key(second), in: Self.context)
    }
}

import BackendContract
import BackendRuntime
import Crypto
import Foundation
import Sealing
import TestSupport
import Testing

/// Tests of rows on a server that several machines share, and of attacks by that server.
/// A slot is a keyed hash of a name, by which the server finds the row of the name.
struct ServerRowTests {
    private static let context = StoreContext(application: "com.example.app", kind: "postgreSQL", scope: "main")
    private let random = Runtime.live.randomBytes
    private let keys = [SymmetricKey(size: .bits256), SymmetricKey(size: .bits256)]

    /// The data of the server: a table whose primary key is the slot.
    private struct Server {
        var rows: [[UInt8]: ServerRow] = [:]

        /// Returns the row at the first of these slots at which there is a row.
        func row(_ slots: [[UInt8]]) -> ServerRow? { slots.lazy.compactMap { rows[$0] }.first }

        mutating func put(_ row: ServerRow) { rows[row.slot] = row }
    }

    private func codec(_ context: StoreContext = Self.context, active: Int = 0, decryptOnly: [Int] = []) throws -> ServerRowCodec {
        try ServerRowCodec(context, active: keys[active], decryptOnly: decryptOnly.map { keys[$0] })
    }

    private func content(_ name: String, _ text: String, in namespace: StorageNamespace = .values) -> RowContent {
        RowContent(
            StorageAddress(name, in: namespace), .value, StorageMetadata(typeTag: "T", attributes: ["a": "b"]), payload: Array(text.utf8))
    }

    /// Reads a value as one of the machines would. Returns nil if the server has no row.
    private func read(_ name: String, _ server: Server, _ codec: ServerRowCodec, in namespace: StorageNamespace = .values) throws -> String?
    {
        let address = StorageAddress(name, in: namespace)
        guard let row = server.row(codec.slots(of: address)) else { return nil }
        return String(decoding: try codec.open(row, at: address).0.payload, as: UTF8.self)
    }

    private func isRefused(_ work: () throws -> some Any) -> Bool {
        do {
            _ = try work()
            return false
        } catch { return (error as? BackendError)?.code == .corrupted }
    }

    @Test func `a row is read back under its name and has a unique revision`() throws {
        let codec = try codec()
        var server = Server()
        server.put(try codec.seal(content("name", "one"), random))
        server.put(try codec.seal(content("admin/root", "two", in: StorageNamespace("users")), random))
        server.put(try codec.seal(RowContent(StorageAddress("gone"), .tombstone, StorageMetadata(modifiedAt: 5)), random))
        #expect(try read("name", server, codec) == "one")
        #expect(try read("admin/root", server, codec, in: StorageNamespace("users")) == "two")
        #expect(try read("root", server, codec, in: StorageNamespace("users/admin")) == nil)
        let row = try #require(server.row(codec.slots(of: StorageAddress("name"))))
        let (opened, revision) = try codec.open(row)
        #expect(opened.metadata == content("name", "one").metadata && revision.bytes == Array(row.sealed[9..<33]))
        #expect(try codec.open(try #require(server.row(codec.slots(of: StorageAddress("gone"))))).0.kind == .tombstone)
        #expect(try codec.seal(content("name", "one"), random) != codec.seal(content("name", "one"), random))
        // Both rows have the length of their size class, so the length reveals no name.
        #expect(try codec.seal(content("a", ""), random).sealed.count == codec.seal(content("another", "word"), random).sealed.count)
    }

    @Test func `rows that are moved to another name, application, kind or scope do not open`() throws {
        let mine = try codec()
        var server = Server()
        for name in ["one", "other"] { server.put(try mine.seal(content(name, name), random)) }
        let slots = ["one", "other"].map { mine.slots(of: StorageAddress($0))[0] }
        var swapped = server
        for (slot, from) in [(slots[0], slots[1]), (slots[1], slots[0])] {
            swapped.rows[slot] = server.rows[from]
            // The server can return the row with its original slot, or with the slot of the other name.
            #expect(isRefused { try mine.open(try #require(server.rows[from]), at: StorageAddress(slot == slots[0] ? "one" : "other")) })
            swapped.rows[slot]?.slot = slot
        }
        for name in ["one", "other"] {
            #expect(isRefused { try read(name, swapped, mine) })
            #expect(try read(name, server, mine) == name)
        }
        for place in [
            StoreContext(application: "com.example.other", kind: "postgreSQL", scope: "main"),
            StoreContext(application: "com.example.app", kind: "sqlite", scope: "main"),
            StoreContext(application: "com.example.app", kind: "postgreSQL", scope: "tenant 2"),
        ] {
            let other = try codec(place)
            #expect(other.slots(of: StorageAddress("one")) != mine.slots(of: StorageAddress("one")))
            var row = try #require(server.rows[slots[0]])
            #expect(isRefused { try other.open(row) })
            row.slot = other.slots(of: StorageAddress("one"))[0]
            #expect(isRefused { try other.open(row, at: StorageAddress("one")) })
        }
        #expect(isRefused { try codec(active: 1).open(try #require(server.rows[slots[0]])) })
    }

    @Test func `a row with a changed byte, a wrong length or another key id is refused`() throws {
        let codec = try codec(decryptOnly: [1])
        let row = try codec.seal(content("name", "value"), random)
        let address = StorageAddress("name")
        #expect(try codec.open(row, at: address).0.payload == Array("value".utf8))
        var refused = 0
        for (count, path) in [
            (row.slot.count, \ServerRow.slot), (row.key.count, \ServerRow.key), (row.sealed.count, \ServerRow.sealed),
        ] {
            for place in 0..<count {
                var changed = row
                changed[keyPath: path][place] ^= 1
                #expect(isRefused { try codec.open(changed) }, "byte \(place)")
                refused += 1
            }
            for length in 0..<count {
                var short = row
                short[keyPath: path].removeLast(count - length)
                #expect(isRefused { try codec.open(short) }, "length \(length)")
            }
            var long = row
            long[keyPath: path].append(0)
            #expect(isRefused { try codec.open(long) })
        }
        #expect(refused == 16 + 8 + row.sealed.count)
        // The row claims to be sealed with the other key of the store:
        // its column and its sealed bytes have the id of that key.
        var claimed = row
        claimed.key = try self.codec(active: 1).seal(content("name", "value"), random).key
        claimed.sealed.replaceSubrange(1..<9, with: claimed.key)
        #expect(isRefused { try codec.open(claimed) })
    }

    @Test func `as documented, a row that the server replaces by an older one or hides is not detected`() throws {
        let codec = try codec()
        var server = Server()
        let older = try codec.seal(content("name", "older"), random)
        server.put(older)
        server.put(try codec.seal(content("name", "latest"), random))
        #expect(try read("name", server, codec) == "latest")
        // A machine cannot detect that a row is outdated or hidden.
        // Several machines write at the same time, so there is no common record of all rows to compare with.
        server.put(older)
        #expect(try read("name", server, codec) == "older")
        server.rows = [:]
        #expect(try read("name", server, codec) == nil)
    }

    @Test func `rows of an older data key are read, and keep their revisions when they are sealed again`() throws {
        let (before, during, after) = (try codec(), try codec(active: 1, decryptOnly: [0]), try codec(active: 1))
        var server = Server()
        for name in ["one", "two"] { server.put(try before.seal(content(name, name), random)) }
        let revisions = try server.rows.mapValues { try before.open($0).1 }
        #expect(try read("one", server, during) == "one")
        for (slot, row) in server.rows {
            let again = try #require(try during.sealAgain(row, random))
            server.rows[slot] = nil
            server.put(again)
            #expect(try during.sealAgain(again, random) == nil)
            #expect(try after.open(again).1 == revisions[slot])
        }
        for name in ["one", "two"] { #expect(try read(name, server, after) == name) }
        #expect(try read("one", server, before) == nil)
        #expect(server.rows.values.allSatisfy { row in isRefused { try before.open(row) } })
    }

    // MARK: Vectors

    private struct Vectors: Decodable {
        struct Row: Decodable {
            let data, key, sealingKey, namespace, name, payload, revision, slot, nonce, associated, sealed: String
            let metadata: [String: String]
        }
        struct Server: Decodable {
            let context: [String]
            let contextBytes: String
            let rows: [Row]
        }
        let server: Server
    }

    private func hex(_ text: String) throws -> [UInt8] { try #require(bytes(ofHexadecimal: text)) }

    @Test func `rows of a server match the vectors of the independent reader`() throws {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let folder = tests.appending(path: "Fixtures/sealed-sqlite")
        let vectors = try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: folder.appending(path: "vectors.json"))).server
        let context = StoreContext(application: vectors.context[0], kind: vectors.context[1], scope: vectors.context[2])
        #expect(hexadecimalText(of: context.bytes) == vectors.contextBytes)
        #expect(vectors.rows.count == 2)
        for vector in vectors.rows {
            let codec = try ServerRowCodec(context, active: SymmetricKey(data: try hex(vector.data)))
            let address = StorageAddress(vector.name, in: StorageNamespace(vector.namespace))
            var content = RowContent(
                address, .value, StorageMetadata(serializer: vector.metadata["serializer"]),
                payload: Array(try #require(Data(base64Encoded: vector.payload))))
            if vector.revision != vector.nonce { content.keptRevision = StorageRevision(try hex(vector.revision)) }
            let nonce = try hex(vector.nonce)
            let row = try codec.seal(content) { _ in nonce }
            #expect(try row == ServerRow(slot: hex(vector.slot), key: hex(vector.key), sealed: hex(vector.sealed)))
            #expect(try codec.slots(of: address) == [hex(vector.slot)])
            let byHand = try XAES256GCM(key: SymmetricKey(data: try hex(vector.sealingKey)))
            #expect(try byHand.seal(content.padded(), nonce: nonce, authenticating: hex(vector.associated)) == Array(row.sealed[33...]))
            let (opened, revision) = try codec.open(row, at: address)
            #expect(opened.payload == content.payload && hexadecimalText(of: revision.bytes) == vector.revision)
        }
    }
}

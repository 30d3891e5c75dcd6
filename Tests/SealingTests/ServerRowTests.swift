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
    private let index = SymmetricKey(size: .bits256)
    private let database = [UInt8](repeating: 7, count: 16)

    /// The data of the server: a table whose primary key is the slot.
    private struct Server {
        var rows: [[UInt8]: ServerRow] = [:]

        mutating func put(_ row: ServerRow) { rows[row.slot] = row }
    }

    private func codec(
        _ context: StoreContext = Self.context, active: Int = 0, decryptOnly: [Int] = [], database: [UInt8]? = nil
    ) throws -> ServerRowCodec {
        try ServerRowCodec(
            context, database: database ?? self.database, active: keys[active], decryptOnly: decryptOnly.map { keys[$0] }, index: index)
    }

    private func content(_ name: String, _ text: String, in namespace: StorageNamespace = .values) -> RowContent {
        RowContent(
            StorageAddress(name, in: namespace), .value, StorageMetadata(typeTag: "T", attributes: ["a": "b"]), payload: Array(text.utf8))
    }

    private func seal(_ content: RowContent, _ codec: ServerRowCodec) throws -> ServerRow {
        try codec.seal(content, random(ServerRow.revisionLength), random)
    }

    /// Reads a value as one of the machines would. Returns nil if the server has no row.
    private func read(_ name: String, _ server: Server, _ codec: ServerRowCodec, in namespace: StorageNamespace = .values) throws -> String?
    {
        guard let row = server.rows[codec.slot(of: StorageAddress(name, in: namespace))] else { return nil }
        return String(decoding: try codec.open(row).payload, as: UTF8.self)
    }

    private func isRefused(_ work: () throws -> some Any) -> Bool {
        do {
            _ = try work()
            return false
        } catch { return (error as? BackendError)?.code == .corrupted }
    }

    @Test func `a row is read back under its name, and has the length of its size class`() throws {
        let codec = try codec()
        var server = Server()
        server.put(try seal(content("name", "one"), codec))
        server.put(try seal(content("admin/root", "two", in: StorageNamespace("users")), codec))
        server.put(try seal(RowContent(StorageAddress("gone"), .tombstone, StorageMetadata(modifiedAt: 5)), codec))
        #expect(try read("name", server, codec) == "one")
        #expect(try read("admin/root", server, codec, in: StorageNamespace("users")) == "two")
        #expect(try read("root", server, codec, in: StorageNamespace("users/admin")) == nil)
        let row = try #require(server.rows[codec.slot(of: StorageAddress("name"))])
        #expect(try codec.open(row).metadata == content("name", "one").metadata)
        #expect(try codec.open(try #require(server.rows[codec.slot(of: StorageAddress("gone"))])).kind == .tombstone)
        #expect(try seal(content("name", "one"), codec) != seal(content("name", "one"), codec))
        // Both rows have the length of their size class, so the length reveals no name.
        #expect(try seal(content("a", ""), codec).sealed.count == seal(content("another", "word"), codec).sealed.count)
    }

    @Test func `rows that are moved to another name, application, kind, scope or store do not open`() throws {
        let mine = try codec()
        var server = Server()
        for name in ["one", "other"] { server.put(try seal(content(name, name), mine)) }
        let slots = ["one", "other"].map { mine.slot(of: StorageAddress($0)) }
        for (slot, from) in [(slots[0], slots[1]), (slots[1], slots[0])] {
            var moved = try #require(server.rows[from])
            moved.slot = slot
            #expect(isRefused { try mine.open(moved) })
        }
        for (place, id) in [
            (StoreContext(application: "com.example.other", kind: "postgreSQL", scope: "main"), database),
            (StoreContext(application: "com.example.app", kind: "sqlite", scope: "main"), database),
            (StoreContext(application: "com.example.app", kind: "postgreSQL", scope: "tenant 2"), database),
            (Self.context, [UInt8](repeating: 8, count: 16)),
        ] {
            let other = try codec(place, database: id)
            #expect(other.slot(of: StorageAddress("one")) != mine.slot(of: StorageAddress("one")))
            var row = try #require(server.rows[slots[0]])
            #expect(isRefused { try other.open(row) })
            row.slot = other.slot(of: StorageAddress("one"))
            row.namespace = other.namespace(.values)
            #expect(isRefused { try other.open(row) })
        }
        #expect(isRefused { try codec(active: 1).open(try #require(server.rows[slots[0]])) })
    }

    @Test func `a row with a changed byte, a wrong length or another key id is refused`() throws {
        let codec = try codec(decryptOnly: [1])
        let row = try seal(content("name", "value"), codec)
        #expect(try codec.open(row).payload == Array("value".utf8))
        var refused = 0
        for (count, path) in [
            (row.namespace.count, \ServerRow.namespace), (row.slot.count, \ServerRow.slot), (row.revision.count, \ServerRow.revision),
            (row.key.count, \ServerRow.key), (row.sealed.count, \ServerRow.sealed),
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
        #expect(refused == 16 + 16 + 16 + 8 + row.sealed.count)
        // The row claims to be sealed with the other key of the store:
        // its column and its sealed bytes have the id of that key.
        var claimed = row
        claimed.key = try seal(content("name", "value"), self.codec(active: 1)).key
        claimed.sealed.replaceSubrange(1..<9, with: claimed.key)
        #expect(isRefused { try codec.open(claimed) })
    }

    @Test func `as documented, a row that the server replaces by an older one or hides is not detected`() throws {
        let codec = try codec()
        var server = Server()
        let older = try seal(content("name", "older"), codec)
        server.put(older)
        server.put(try seal(content("name", "latest"), codec))
        #expect(try read("name", server, codec) == "latest")
        // A machine cannot detect that a row is outdated or hidden.
        // Several machines write at the same time, so there is no common record of all rows to compare with.
        server.put(older)
        #expect(try read("name", server, codec) == "older")
        server.rows = [:]
        #expect(try read("name", server, codec) == nil)
    }

    @Test func `rows of an older data key are read, and keep slot and revision when they are sealed again`() throws {
        let (before, during, after) = (try codec(), try codec(active: 1, decryptOnly: [0]), try codec(active: 1))
        var server = Server()
        for name in ["one", "two"] { server.put(try seal(content(name, name), before)) }
        let older = server
        #expect(try read("one", server, during) == "one")
        for (slot, row) in older.rows {
            let again = try #require(try during.sealAgain(row, random))
            #expect(again.slot == slot && again.revision == row.revision && again.namespace == row.namespace)
            server.put(again)
            #expect(try during.sealAgain(again, random) == nil)
        }
        for name in ["one", "two"] { #expect(try read(name, server, after) == name) }
        #expect(server.rows.values.allSatisfy { row in isRefused { try before.open(row) } })
    }

    // MARK: Vectors

    private struct Vectors: Decodable {
        struct Row: Decodable {
            let data, key, sealingKey, namespace, name, payload, revision, namespaceIndex, slot, nonce, associated, sealed: String
            let metadata: [String: String]
        }
        struct Server: Decodable {
            let context: [String]
            let contextBytes, database, index, label: String
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
            let codec = try ServerRowCodec(
                context, database: try hex(vectors.database), active: SymmetricKey(data: try hex(vector.data)),
                index: SymmetricKey(data: try hex(vectors.index)))
            let address = StorageAddress(vector.name, in: StorageNamespace(vector.namespace))
            let content = RowContent(
                address, .value, StorageMetadata(serializer: vector.metadata["serializer"]),
                payload: Array(try #require(Data(base64Encoded: vector.payload))))
            let nonce = try hex(vector.nonce)
            let row = try codec.seal(content, hex(vector.revision)) { _ in nonce }
            let expected = try ServerRow(
                namespace: hex(vector.namespaceIndex), slot: hex(vector.slot), revision: hex(vector.revision), key: hex(vector.key),
                sealed: hex(vector.sealed))
            #expect(row == expected)
            #expect(try codec.slot(of: address) == hex(vector.slot))
            #expect(try codec.label(StorageNamespace("users"), ["attribute", "tag", "work"]) == hex(vectors.label))
            let byHand = try XAES256GCM(key: SymmetricKey(data: try hex(vector.sealingKey)))
            #expect(try byHand.seal(content.padded(), nonce: nonce, authenticating: hex(vector.associated)) == Array(row.sealed[33...]))
            #expect(try codec.open(row).payload == content.payload)
        }
    }
}

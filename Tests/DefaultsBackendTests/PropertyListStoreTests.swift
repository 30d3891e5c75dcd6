import BackendContract
import BackendRuntime
import DefaultsBackend
import Foundation
import TestSupport
import Testing

/// Tests of a property list store. A slot is a named place for one value. A tombstone is the record of a removal.
/// A value that another program wrote is a foreign value.
@Suite(.inTurn) struct PropertyListStoreTests {
    let scratch: Scratch
    let store: PropertyListStore

    init() throws {
        scratch = try Scratch()
        store = scratch.store()
    }

    @Test func `a closed store has no open file, and its observers are notified of later changes`() async throws {
        let store = scratch.store()
        _ = try await store.apply([.put(.text("1"), at: StorageAddress("a"))])
        _ = try await store.apply([.put(.text("2"), at: StorageAddress("a"))])
        await store.close()
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
            .compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
        #expect(!open.contains { $0.hasPrefix(scratch.root) })
        var changes = store.foreignChanges().makeAsyncIterator()
        await store.close()
        _ = try await scratch.store().apply([.put(.text("theirs"), at: StorageAddress("b"))])
        #expect(await changes.next() == [StorageAddress("b")])
    }

    @Test func `constructing a store creates no file`() throws {
        #expect(try scratch.names(in: scratch.root).isEmpty)
    }

    @Test func `a store without a file is ready and empty, and deleting a value creates no file`() async throws {
        #expect(await store.status() == .ready)
        #expect(try await store.read(StorageAddress("a")) == .absent)
        #expect(try await store.read(StorageAddress("a"), .fresh) == .absent)
        #expect(try await store.addresses(in: .values).isEmpty)
        #expect(try await store.apply(.delete(StorageAddress("a"))) == .applied(nil, .durable))
        #expect(!FileManager.default.fileExists(atPath: scratch.path()))
    }

    @Test func `a value is read back with its metadata by this store and by a second store on the file`() async throws {
        let metadata = StorageMetadata(
            serializer: "json", typeTag: "Token", schemaVersion: 3, origin: [0, 1, 0xFF], sealing: "none", createdAt: 1_700_000_000.125,
            modifiedAt: 1_700_000_001.5, expiresAt: -0.0, attributes: ["owner": "me <&>", "": "empty"])
        let payloads: [StoragePayload] = [
            .bytes([]), .bytes([0, 0xFF]), .text("visible"), .native(.integer(-5)), .native(.boolean(true)), .native(.data([1])),
        ]
        for (number, payload) in payloads.enumerated() {
            let address = StorageAddress("slot \(number)")
            let revision = try await store.apply(.put(payload, metadata, at: address)).revision
            let expected = StorageProbe.value(StorageRecord(payload: payload, metadata: metadata, revision: try #require(revision)))
            #expect(try await store.read(address) == expected)
            #expect(try await store.read(address, .fresh) == expected)
            #expect(try await scratch.store().read(address) == expected)
        }
    }

    @Test func `other programs of the owner can read a text, and other users cannot access the file`() async throws {
        _ = try await store.apply(.put(.text("dark"), StorageMetadata(serializer: "json"), at: StorageAddress("theme")))
        let entries = try scratch.foundationEntries()
        #expect(entries["theme"] as? String == "dark")
        let reserved = try #require(entries["LocalData.metadata"] as? [String: Any])
        let known = try #require((reserved["entries"] as? [String: [String: Any]])?["theme"])
        #expect(known["serializer"] as? String == "json")
        #expect(known["digest"] is String)
        #expect(try filePermissions(scratch.path()) == 0o600)
        #expect(try filePermissions(scratch.root + "/config") == 0o700)
    }

    @Test(arguments: [
        NativeValue.string("a\u{1}b"), .string("\r\n\t \r"), .string("\u{FFFF}\0"), .date(0.75), .date(-0.0), .date(1e15), .date(.infinity),
        .real(.nan), .real(-.infinity), .real(-0.0), .real(.leastNonzeroMagnitude), .unsigned(.max), .unsigned(3), .integer(.min),
        .array([.date(1.5), .string("x")]), .dictionary(["a\u{2}": .boolean(true)]), .array([]), .dictionary([:]),
    ])
    func `a native value that XML cannot represent is read back exactly`(_ value: NativeValue) async throws {
        let address = StorageAddress("slot")
        _ = try await store.apply(.put(.native(value), at: address))
        let probe = try await scratch.store().read(address)
        #expect(probe.native?.canonicalBytes == value.canonicalBytes)
        #expect(probe.record?.isForeign == false)
    }

    @Test func `other programs see a date with a fraction in whole seconds`() async throws {
        _ = try await store.apply(.put(.native(.date(725_760_000.75)), at: StorageAddress("date")))
        #expect(try scratch.foundationEntries()["date"] as? Date == Date(timeIntervalSinceReferenceDate: 725_760_000))
        #expect(try await store.read(StorageAddress("date"), .fresh).native == .date(725_760_000.75))
    }

    @Test func `metadata that XML cannot represent is read back exactly`() async throws {
        let metadata = StorageMetadata(serializer: "a\u{0}b", modifiedAt: -.infinity, attributes: ["k\u{1}": "v\r"])
        let revision = try await store.apply(.put(.bytes([1]), metadata, at: StorageAddress("a"))).revision
        let expected = StorageRecord(payload: .bytes([1]), metadata: metadata, revision: try #require(revision))
        #expect(try await scratch.store().read(StorageAddress("a")).record == expected)
    }

    @Test func `a change applies only if its precondition holds, and a revision is never reused`() async throws {
        let address = StorageAddress("slot")
        let first = try #require(try await store.apply(.put(.text("1"), at: address, if: .absent)).revision)
        let seen = try await #require(
            store.apply(.put(.text("2"), at: address, if: .absent)).conflict, "an occupied slot counted as absent")
        #expect(seen.revision == first)
        let second = try #require(try await store.apply(.put(.text("1"), at: address, if: .revision(first))).revision)
        #expect(second != first)
        #expect(try await store.apply(.delete(address, if: .revision(first))).isApplied == false)
        let removal = try await store.apply(.delete(address, if: .revision(second)))
        #expect(removal == .applied(nil, .durable))
        let third = try #require(try await store.apply(.put(.text("1"), at: address)).revision)
        #expect(third != first && third != second)
    }

    @Test func `a batch is applied as a whole or not at all`() async throws {
        _ = try await store.apply(.put(.text("old"), at: StorageAddress("b")))
        let before = try fileBytes(scratch.path())
        let results = try await store.apply([
            .put(.text("1"), at: StorageAddress("a")), .put(.text("2"), at: StorageAddress("b"), if: .absent),
            .delete(StorageAddress("c")),
        ])
        #expect(results[0] == .notAttempted)
        #expect(results[2] == .notAttempted)
        let probe = try #require(results[1].conflict, "the failed mutation did not say why")
        #expect(probe.text == "old")
        #expect(try fileBytes(scratch.path()) == before)
        let good = try await store.apply([.put(.text("1"), at: StorageAddress("a")), .delete(StorageAddress("b"))])
        #expect(good.map(\.isApplied) == [true, true])
        #expect(try await store.addresses(in: .values) == [StorageAddress("a")])
    }

    @Test func `a tombstone keeps its metadata until the slot is written`() async throws {
        let address = StorageAddress("slot")
        let metadata = StorageMetadata(origin: [1, 2])
        _ = try await store.apply(.put(.text("x"), at: address))
        let revision = try #require(try await store.apply(.tombstone(metadata, at: address)).revision)
        #expect(try await scratch.store().read(address) == .tombstone(StorageTombstone(metadata: metadata, revision: revision)))
        #expect(try scratch.foundationEntries()["slot"] == nil)
        #expect(try await store.addresses(in: .values) == [address])
        #expect(try await store.apply(.put(.text("y"), at: address, if: .absent)).isApplied == false)
        #expect(try await store.apply(.put(.text("y"), at: address, if: .revision(revision))).isApplied)
        _ = try await store.apply(.delete(address))
        #expect(try await store.read(address) == .absent)
    }

    @Test func `a foreign value over a tombstone is read, and the tombstone reappears when that value is removed`() async throws {
        let address = StorageAddress("slot")
        _ = try await store.apply(.tombstone(StorageMetadata(origin: [9]), at: address))
        let tombstone = try await store.read(address)
        let written = try scratch.foundationEntries()
        try scratch.writeForeign(written.merging(["slot": "ghost"]) { $1 })
        let probe = try await store.read(address)
        #expect(probe.text == "ghost")
        #expect(probe.record?.isForeign == true)
        #expect(probe.record?.metadata == StorageMetadata())
        _ = try await store.apply(.put(.text("other"), at: StorageAddress("other")))
        #expect(try await store.read(address) == probe)
        try scratch.writeForeign(try scratch.foundationEntries().filter { $0.key != "slot" })
        #expect(try await store.read(address) == tombstone)
    }

    @Test func `metadata is ignored after another program changes the value, and applies again if the value is restored`() async throws {
        let address = StorageAddress("slot")
        _ = try await store.apply(.put(.text("mine"), StorageMetadata(serializer: "json"), at: address))
        let mine = try await store.read(address)
        let written = try scratch.foundationEntries()
        try scratch.writeForeign(written.merging(["slot": "theirs"]) { $1 })
        let theirs = try await store.read(address)
        #expect(theirs.text == "theirs")
        #expect(theirs.record?.isForeign == true)
        #expect(theirs.record?.metadata == StorageMetadata())
        #expect(theirs.revision != mine.revision)
        #expect(try await scratch.store().read(address) == theirs)
        try scratch.writeForeign(written)
        #expect(try await store.read(address) == mine)
        try scratch.writeForeign(written.filter { $0.key != "slot" })
        #expect(try await store.read(address) == .absent)
        #expect(try await store.addresses(in: .values).isEmpty)
        _ = try await store.apply(.put(.text("x"), at: StorageAddress("other")))
        let reserved = try scratch.foundationEntries()["LocalData.metadata"] as? [String: Any]
        #expect((reserved?["entries"] as? [String: Any])?.keys.sorted() == ["other"])
    }

    @Test func `a foreign value that changed since it was read is not removed`() async throws {
        try scratch.writeForeign(["a": 1])
        let seen = try await store.read(StorageAddress("a"))
        #expect(seen.native == .integer(1))
        try scratch.writeForeign(["a": 2])
        let revision = try #require(seen.revision)
        #expect(try await store.apply(.delete(StorageAddress("a"), if: .revision(revision))).isApplied == false)
        let now = try #require(try await store.read(StorageAddress("a")).revision)
        #expect(try await store.apply(.delete(StorageAddress("a"), if: .revision(now))).isApplied)
    }

    @Test func `an address in another namespace never collides with a plain value of the same name`() async throws {
        let ledger = StorageNamespace("ledger <1>")
        let (value, entry) = (StorageAddress("a"), StorageAddress("a", in: ledger))
        _ = try await store.apply([.put(.text("value"), at: value), .put(.bytes([7]), StorageMetadata(typeTag: "t"), at: entry)])
        _ = try await store.apply(.tombstone(at: StorageAddress("gone", in: ledger)))
        let other = scratch.store()
        #expect(try await other.read(value).text == "value")
        #expect(try await other.read(entry).record?.payload == .bytes([7]))
        #expect(try await other.read(entry).record?.metadata.typeTag == "t")
        #expect(try await other.addresses(in: .values) == [value])
        #expect(Set(try await other.addresses(in: ledger)) == [entry, StorageAddress("gone", in: ledger)])
        #expect(try scratch.foundationEntries().keys.sorted() == ["LocalData.metadata", "a"])
        _ = try await store.apply(.delete(value))
        #expect(try await other.read(value) == .absent)
        #expect(try await other.read(entry).record != nil)
    }

    @Test(arguments: ["", "a\nb", "a\0b", "LocalData.metadata", "e\u{301}", String(repeating: "x", count: 10_000)])
    func `a read or write of an invalid name fails with the error invalidName, and the name is never reported as absent`(
        _ name: String
    ) async throws {
        let address = StorageAddress(name)
        let results = try await store.apply([.put(.text("fine"), at: StorageAddress("fine")), .put(.text("x"), at: address)])
        #expect(results[0] == .notAttempted)
        #expect(results[1].error?.code == .invalidName)
        let error = try await #require(store.read(address).error, "an unusable name was looked up")
        #expect(error.code == .invalidName)
        #expect(!FileManager.default.fileExists(atPath: scratch.path()))
    }

    @Test(arguments: ["../../etc/passwd", "a/b", "é", "😀", "a<b>&\"'c", " ", "key with spaces", "\u{2028}", "<key>", "]]>", "file:x"])
    func `an unusual but valid name works`(_ name: String) async throws {
        let address = StorageAddress(name)
        #expect(try await store.apply(.put(.text("x"), at: address)).isApplied)
        #expect(try await scratch.store().read(address).text == "x")
        #expect(try await scratch.store().addresses(in: .values) == [address])
        #expect(try scratch.foundationEntries()[name] as? String == "x")
    }

    @Test func `a foreign value under a name that is not normalized Unicode can be read and deleted, but not written`() async throws {
        try scratch.writeForeign(["e\u{301}": "decomposed"])
        let address = StorageAddress("e\u{301}")
        #expect(try await store.read(address).text == "decomposed")
        #expect(try await store.read(StorageAddress("\u{e9}")) == .absent)
        #expect(try await store.apply(.put(.text("x"), at: address)).error?.code == .invalidName)
        #expect(try await store.apply(.delete(address)).isApplied)
        #expect(try await store.addresses(in: .values).isEmpty)
        #expect(try await store.apply(.delete(address)).error?.code == .invalidName, "now it is a name that cannot be used")
    }

    @Test func `a value that is too large is refused before anything is written`() async throws {
        let limit = PropertyListStore.maximumValueSize
        #expect(store.capabilities.maximumValueSize == limit)
        let result = try await store.apply(.put(.bytes([UInt8](repeating: 1, count: limit + 1)), at: StorageAddress("big")))
        #expect(result.error?.code == .tooLarge)
        #expect(!FileManager.default.fileExists(atPath: scratch.root + "/config"))
        let whole = [UInt8](repeating: 0xAB, count: 1 << 20)
        #expect(try await store.apply(.put(.bytes(whole), at: StorageAddress("1 MiB"))).isApplied)
        #expect(try await scratch.store().read(StorageAddress("1 MiB")).record?.payload == .bytes(whole))
    }

    @Test func `a value that is nested too deeply is refused`() async throws {
        let deep = (0..<40).reduce(NativeValue.integer(1)) { value, _ in .array([value]) }
        #expect(try await store.apply(.put(.native(deep), at: StorageAddress("deep"))).error?.code == .unsupported)
    }

    @Test func `an address that occurs twice in one call is refused`() async throws {
        await #expect(throws: BackendError.self) {
            _ = try await store.apply([.put(.text("1"), at: StorageAddress("a")), .delete(StorageAddress("a"))])
        }
    }

    @Test(arguments: ["", ".", "..", "a/b", "/etc/passwd", "../x", "a\0", "a\nb", "file:x", "~root", String(repeating: "x", count: 201)])
    func `a suite name that could leave the directory is refused`(_ name: String) throws {
        let error = #expect(throws: BackendError.self) { try PropertyListStore.validateSuiteName(name) }
        #expect(error?.code == .invalidName)
    }

    @Test func `a suite has the path that Foundation uses`() throws {
        #expect(try PropertyListStore.path(ofSuite: "com.example.app", in: "/c") == "/c/com.example.app.plist")
    }

    @Test func `a write through a symbolic link keeps the link, and both paths lead to one store with one lock`() async throws {
        let real = scratch.root + "/elsewhere/real.plist"
        try scratch.write(try Scratch.propertyList(["old": 1]), to: real)
        try FileManager.default.createDirectory(atPath: scratch.root + "/config", withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(atPath: scratch.path(), withDestinationPath: real)
        let linked = scratch.store()
        #expect(linked.identity.store == real)
        _ = try await linked.apply(.put(.text("x"), at: StorageAddress("new")))
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: scratch.path()) == real)
        let entries = try PropertyListSerialization.propertyList(from: Data(fileBytes(real)), format: nil) as? [String: Any]
        #expect(entries?["new"] as? String == "x")
        #expect(entries?["old"] as? Int == 1)
        let files = PosixFileSystem()
        let locks = [scratch.path(), real].map { PropertyListStore.lockPath(forPropertyListAt: $0, in: "/s", files: files) }
        #expect(locks[0] == locks[1])
    }

    @Test func `synchronize flushes the file and its directory`() async throws {
        try scratch.writeForeign(["a": 1])
        let files = HookedFiles()
        #expect(try await scratch.store(.live(files: files)).synchronize() == .durable)
        #expect(files.operations.suffix(2) == ["synchronizeFile", "synchronizeDirectory"])
    }

    @Test func `a removal of an absent value is durable when it is acknowledged`() async throws {
        try scratch.writeForeign(["a": 1])
        let files = HookedFiles()
        let store = scratch.store(.live(files: files))
        #expect(try await store.apply(.delete(StorageAddress("b"))) == .applied(nil, .durable))
        #expect(files.count("rename") == 0)
        #expect(files.count("synchronizeFile") == 1)
        _ = try await store.apply(.delete(StorageAddress("b")))
        #expect(files.count("synchronizeFile") == 1, "what is known to be durable is not flushed again")
    }
}

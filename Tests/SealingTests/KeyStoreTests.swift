import BackendContract
import BackendRuntime
import LocalDataTesting
import MemoryBackend
import TestSupport
import Testing

@testable import Sealing

/// Keys and freshness anchors that are items of another store, such as a keyring, while that store fails or has other content.
@Suite(.inTurn) struct KeyStoreTests {
    private let bench: KeySourceBench
    private let medium = MemoryMedium()
    private let address = StorageAddress("item")
    private let store: FaultingBackend
    private let source: BackendKeySource
    private let anchor: BackendAnchor
    private let mark = FreshnessMark(database: [UInt8](repeating: 1, count: 16), commits: 7, digest: [UInt8](repeating: 2, count: 32))
    private var later: FreshnessMark { FreshnessMark(database: mark.database, commits: 8, digest: mark.digest) }

    init() throws {
        bench = try KeySourceBench()
        store = FaultingBackend(InMemoryStore(medium: medium))
        source = BackendKeySource(store, address: address)
        anchor = BackendAnchor(store, address: address)
    }

    /// Returns the code of the error of a write, and checks that the item is unchanged.
    private func refusal(_ work: () async throws(BackendError) -> some Any) async throws -> BackendError.Code? {
        let before = try await InMemoryStore(medium: medium).read(address, .validated)
        let code = await code(work)
        let after = try await InMemoryStore(medium: medium).read(address, .validated)
        #expect(before.record == after.record && before.revision == after.revision)
        return code
    }

    // MARK: Keys

    @Test func `a key that another program stored as text is read`() async throws {
        medium.writeForeign(.native(.string(String(decoding: SourceKeys(only: bench.key).textBytes(), as: UTF8.self))), at: address)
        #expect(try await bench.key.isSame(as: source.load()?.current))
    }

    @Test(arguments: [NativeValue.integer(7), .boolean(true), .string("no key")])
    func `content that is not a key is refused and unchanged`(_ content: NativeValue) async throws {
        medium.writeForeign(.native(content), at: address)
        let keys = SourceKeys(only: bench.key)
        #expect(try await refusal { () throws(BackendError) in try await source.load() } == .encryptionKeyMismatch)
        #expect(try await refusal { () throws(BackendError) in try await source.create(keys) } == .encryptionKeyMismatch)
        #expect(try await refusal { () throws(BackendError) in try await source.replace(keys, with: keys) } == .encryptionKeyMismatch)
    }

    @Test func `a key that was removed is reported as missing, and no other key is created`() async throws {
        _ = try await source.create(SourceKeys(only: bench.key))
        _ = try await store.apply(.tombstone(StorageMetadata(), at: address))
        #expect(await code { () throws(BackendError) in try await source.load() } == .encryptionKeyMissing)
        #expect(await code { () throws(BackendError) in try await source.create(SourceKeys(only: bench.otherKey)) } != nil)
    }

    @Test(arguments: [(StorageFault.locked, BackendError.Code.locked), (.unavailable, .unavailable)])
    func `while the store of a key fails, a change of the key fails and changes nothing`(
        _ fault: StorageFault, _ expected: BackendError.Code
    ) async throws {
        let (keys, others) = (SourceKeys(only: bench.key), SourceKeys(only: bench.otherKey))
        store.inject(fault, of: .apply)
        #expect(try await refusal { () throws(BackendError) in try await source.create(keys) } == expected)
        _ = try await source.create(keys)
        store.inject(fault, of: .apply)
        #expect(try await refusal { () throws(BackendError) in try await source.replace(keys, with: others) } == expected)
        store.inject(fault, of: .read)
        #expect(try await refusal { () throws(BackendError) in try await source.load() } == expected)
        try await source.replace(keys, with: others)
        #expect(try await refusal { () throws(BackendError) in try await source.replace(keys, with: others) } == .conflict)
        #expect(try await bench.otherKey.isSame(as: source.load()?.current))
    }

    // MARK: Anchors

    @Test func `an anchor is replaced only if it has the expected mark`() async throws {
        #expect(try await anchor.load() == nil)
        #expect(try await anchor.store(mark, replacing: nil))
        #expect(try await anchor.load() == mark)
        #expect(try await !anchor.store(later, replacing: nil))
        #expect(try await !anchor.store(mark, replacing: later))
        #expect(try await anchor.store(later, replacing: mark))
        #expect(try await anchor.load() == later)
    }

    @Test func `the folders of an anchor file and of its lock are created`() async throws {
        let (path, lockPath) = (bench.folder.file("marks/mark"), bench.folder.file("state/locks/anchor.lock"))
        let anchor = FileAnchor(path: path, lockPath: lockPath, deadline: bench.deadline, runtime: .live)
        #expect(try await anchor.store(mark, replacing: nil))
        #expect(try await anchor.load() == mark)
        #expect(try await !anchor.store(later, replacing: nil))
    }

    @Test func `an anchor that was removed has no mark and can be stored again`() async throws {
        #expect(try await anchor.store(mark, replacing: nil))
        _ = try await store.apply(.tombstone(StorageMetadata(), at: address))
        #expect(try await anchor.load() == nil)
        #expect(try await anchor.store(later, replacing: nil))
        #expect(try await anchor.load() == later)
    }

    @Test func `an anchor that another program stored as text is read`() async throws {
        medium.writeForeign(.native(.string(mark.text)), at: address)
        #expect(try await anchor.load() == mark)
    }

    @Test(arguments: [NativeValue.integer(7), .string("no mark")])
    func `an item that is no mark is refused and unchanged`(_ content: NativeValue) async throws {
        medium.writeForeign(.native(content), at: address)
        #expect(try await refusal { () throws(BackendError) in try await anchor.load() } == .corrupted)
        #expect(try await refusal { () throws(BackendError) in try await anchor.store(mark, replacing: nil) } == .corrupted)
        medium.corrupt(address, bytes: [1])
        #expect(await code { () throws(BackendError) in try await anchor.load() } == .corrupted)
    }

    @Test(arguments: [(StorageFault.locked, BackendError.Code.locked), (.unavailable, .unavailable)])
    func `while the store of an anchor fails, the mark is unchanged`(_ fault: StorageFault, _ expected: BackendError.Code) async throws {
        #expect(try await anchor.store(mark, replacing: nil))
        for kind in [LoggedOperation.Kind.read, .apply] {
            store.inject(fault, of: kind)
            #expect(try await refusal { () throws(BackendError) in try await anchor.store(later, replacing: mark) } == expected)
        }
        store.lock()
        try await anchor.unlock()
        #expect(try await anchor.load() == mark)
    }
}

import BackendContract
import Synchronization
import TestSupport
import Testing

/// A byte store on a dictionary. A test can fill it and make it fail.
private final class DictionaryStore: ByteStore {
    let files = Mutex<[String: [UInt8]]>([:])
    let failure = Mutex<BackendError?>(nil)
    let identity = BackendIdentity(kind: "dictionary", store: "test")
    let capabilities: BackendCapabilities

    init(capabilities: BackendCapabilities) { self.capabilities = capabilities }

    private func failIfAsked() throws(BackendError) { if let failure = failure.withLock({ $0 }) { throw failure } }

    func read(_ name: String) async throws(BackendError) -> [UInt8]? {
        try failIfAsked()
        return files.withLock { $0[name] }
    }

    func write(_ bytes: [UInt8], _ name: String) async throws(BackendError) {
        try failIfAsked()
        files.withLock { $0[name] = bytes }
    }

    func delete(_ name: String) async throws(BackendError) {
        try failIfAsked()
        files.withLock { $0[name] = nil }
    }

    func list() async throws(BackendError) -> [String] {
        try failIfAsked()
        return files.withLock { Array($0.keys) }
    }
}

/// Tests of the adapter that makes a backend of a byte store. A byte store keeps bytes under text names.
/// A slot is a place for one record, with a name in a namespace. A native value has a type of property lists.
@Suite(.inTurn) struct ByteStoreBackendTests {
    private let store = DictionaryStore(
        capabilities: BackendCapabilities(
            durability: .durable, atomicBatch: true, crossProcess: true, protection: .sealed, maximumValueSize: 10))
    private var backend: ByteStoreBackend<DictionaryStore> { ByteStoreBackend(store) }
    private let address = StorageAddress("a key")

    @Test func `the adapter claims native values, and only those capabilities of its byte store that it can keep`() {
        #expect(
            backend.capabilities
                == BackendCapabilities(durability: .durable, protection: .sealed, maximumValueSize: 10, storesNativeValues: true))
        #expect(backend.identity == store.identity)
    }

    @Test func `a slot is stored under its namespace and name in hexadecimal`() async throws {
        _ = try await backend.apply(.put(.bytes([1]), at: StorageAddress("e\u{301}/", in: StorageNamespace("ns"))))
        _ = try await backend.apply(.put(.bytes([1]), at: StorageAddress("x")))
        #expect(store.files.withLock { Set($0.keys) } == ["n.6e73.65cc812f", "n..78"])
    }

    @Test func `names that the adapter did not write are not listed as slots`() async throws {
        _ = try await backend.apply(.put(.bytes([1]), at: StorageAddress("\u{AB}")))
        store.files.withLock { files in
            for name in [
                "", "n", "n.", "n..", "n..6", "n..6G", "n..C2AB", "n..\u{FF16}\u{FF11}", "n..ff", "m..61", "n.61", "n..61.62", "N..61",
                "n..61 ", "n..0a",
            ] { files[name] = [0] }
        }
        #expect(try await backend.addresses(in: .values) == [StorageAddress("\u{AB}")])
    }

    @Test func `if the byte store fails, its slots are locked or unavailable, never absent, and changes fail`() async throws {
        _ = try await backend.apply(.put(.bytes([1]), at: address))
        for (error, probe, result) in [
            (BackendError(.locked, "Locked."), StorageProbe.locked, MutationResult.locked),
            (
                BackendError(.unavailable, "Gone."), .unavailable(BackendError(.unavailable, "Gone.")),
                .failed(BackendError(.unavailable, "Gone."))
            ),
        ] {
            store.failure.withLock { $0 = error }
            #expect(try await backend.read(address) == probe)
            #expect(try await backend.apply(.put(.bytes([2]), at: address)) == result)
            #expect(try await backend.apply(.delete(address)) == result)
            await #expect(throws: error) { try await backend.addresses(in: .values) }
        }
        store.failure.withLock { $0 = nil }
        #expect(try await backend.read(address).record?.payload == .bytes([1]))
    }

    @Test func `bytes of a later record format are reported as unsupported and left unchanged`() async throws {
        let later: [UInt8] = Array("LDR".utf8) + [2, 0, 0, 0, 0, 0]
        store.files.withLock { $0["n..78"] = later }
        let error = try await #require(backend.read(StorageAddress("x")).error, "not unavailable")
        #expect(error.code == .unsupported)
        for mutation in [StorageMutation.put(.bytes([1]), at: StorageAddress("x")), .delete(StorageAddress("x"))] {
            #expect(try await backend.apply(mutation) == .failed(error))
        }
        #expect(store.files.withLock { $0["n..78"] } == later)
    }

    @Test func `a value that is too large is refused before anything is written`() async throws {
        let error = try await #require(backend.apply(.put(.bytes([UInt8](repeating: 0, count: 11)), at: address)).error, "not refused")
        #expect(error.code == .tooLarge && error.outcome == .notApplied)
        #expect(store.files.withLock { $0.isEmpty })
    }

    @Test func `a value is refused exactly if it has more than the 64 nested levels that a reader accepts`() async throws {
        for levels in 60...70 {
            let value = (1..<levels).reduce(NativeValue.array([])) { inner, _ in .array([inner]) }
            let roomy = ByteStoreBackend(DictionaryStore(capabilities: BackendCapabilities()))
            let result = try await roomy.apply(.put(.native(value), at: address))
            #expect(result.isApplied == (levels <= 64), "\(levels) levels")
            let probe = try await roomy.read(address)
            #expect(probe.record?.payload == (result.isApplied ? .native(value) : nil), "\(levels) levels")
        }
    }
}

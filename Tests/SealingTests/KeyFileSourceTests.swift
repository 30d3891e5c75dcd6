import BackendContract
import BackendRuntime
import Foundation
import LocalDataTesting
import MemoryBackend
import Sealing
import TestSupport
import Testing

/// Keys in files and in slots of other stores.
@Suite(.inTurn) struct KeyFileSourceTests {
    private let bench: KeySourceBench
    private let path: String

    init() throws {
        bench = try KeySourceBench()
        path = bench.folder.file("keys/vault.key")
    }

    private var source: KeyFileSource { KeyFileSource(path: path, deadline: bench.deadline, runtime: .live) }

    @Test func `a key is made once, in a private file`() async throws {
        #expect(try await source.load() == nil)
        #expect(try await bench.key.isSame(as: source.create(bench.key)))
        #expect(try await bench.key.isSame(as: source.create(bench.otherKey)))
        #expect(try await bench.key.isSame(as: source.load()))
        #expect(try filePermissions(path) == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: bench.folder.file("keys")) == ["vault.key"])
        #expect(source.pin == "key file vault.key")
    }

    @Test func `two who create at once hold one key`() async throws {
        for _ in 0..<20 {
            try? FileManager.default.removeItem(atPath: path)
            let (left, right) = (source, source)
            async let one = left.create(bench.key)
            async let two = right.create(bench.otherKey)
            let (first, second) = try await (one, two)
            #expect(first.isSame(as: second))
            #expect(try await first.isSame(as: source.load()))
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: bench.folder.file("keys")) == ["vault.key"])
    }

    @Test(arguments: foreignTexts)
    func `what is not a key is a mismatch, and stays`(text: String) async throws {
        _ = try bench.folder.folder("keys")
        try writeFile(text.utf8, to: path)
        #expect(await code { () throws(BackendError) in try await source.load() } == .encryptionKeyMismatch)
        #expect(await code { () throws(BackendError) in try await source.create(bench.key) } == .encryptionKeyMismatch)
        #expect(try fileBytes(path) == Array(text.utf8))
    }

    @Test(arguments: [0o640, 0o604, 0o660, 0o602, 0o610])
    func `a file that others can use is refused`(permissions: Int) async throws {
        _ = try await source.create(bench.key)
        try setPermissions(permissions, of: path)
        #expect(await code { () throws(BackendError) in try await source.load() } == .accessDenied)
    }

    @Test func `a source in a store that can be locked unlocks it, and its name holds no folder`() async throws {
        let store = FaultingBackend(InMemoryStore(identity: BackendIdentity(kind: "memory", store: "/some/folder")))
        let source = BackendKeySource(store, address: StorageAddress("vault"))
        #expect(source.pin == "keyring item vault")
        store.lock()
        #expect(await code { () throws(BackendError) in try await source.load() } == .locked)
        try await source.unlock()
        #expect(try await bench.key.isSame(as: source.create(bench.key)))
        store.lock()
        store.refuseUnlock(with: BackendError(.promptDismissed, "The person declined."))
        #expect(await code { () throws(BackendError) in try await source.unlock() } == .promptDismissed)
    }

    @Test func `a source without a lock has nothing to unlock`() async throws {
        try await BackendKeySource(InMemoryStore(), address: StorageAddress("vault")).unlock()
        try await source.unlock()
        #expect(!FileManager.default.fileExists(atPath: path))
    }
}

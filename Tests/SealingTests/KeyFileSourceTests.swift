import BackendContract
import BackendRuntime
import Foundation
import LocalDataTesting
import MemoryBackend
import Sealing
import TestSupport
import Testing

/// Tests of keys in files and in slots of other stores. A draft is the temporary file of a key that is being created.
/// A pin is the short name by which sealed data refers to its key source.
@Suite(.inTurn) struct KeyFileSourceTests {
    private let bench: KeySourceBench
    private let path: String

    init() throws {
        bench = try KeySourceBench()
        path = bench.folder.file("keys/vault.key")
    }

    private var source: KeyFileSource { KeyFileSource(path: path, deadline: bench.deadline, runtime: .live) }

    @Test func `a key is created once, in a private file`() async throws {
        #expect(try await source.load() == nil)
        #expect(try await bench.key.isSame(as: source.create(SourceKeys(only: bench.key)).current))
        #expect(try await bench.key.isSame(as: source.create(SourceKeys(only: bench.otherKey)).current))
        #expect(try await bench.key.isSame(as: source.load()?.current))
        #expect(try filePermissions(path) == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: bench.folder.file("keys")) == ["vault.key"])
        #expect(source.pin == "key file vault.key")
    }

    @Test func `two concurrent creations result in one key`() async throws {
        for _ in 0..<20 {
            try? FileManager.default.removeItem(atPath: path)
            let (left, right) = (source, source)
            async let one = left.create(SourceKeys(only: bench.key)).current
            async let two = right.create(SourceKeys(only: bench.otherKey)).current
            let (first, second) = try await (one, two)
            #expect(first.isSame(as: second))
            #expect(try await first.isSame(as: source.load()?.current))
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: bench.folder.file("keys")) == ["vault.key"])
    }

    @Test(arguments: foreignTexts)
    func `a file with content other than a key is reported as a key mismatch and stays unchanged`(text: String) async throws {
        _ = try bench.folder.folder("keys")
        try writeFile(text.utf8, to: path)
        #expect(await code { () throws(BackendError) in try await source.load() } == .encryptionKeyMismatch)
        #expect(await code { () throws(BackendError) in try await source.create(SourceKeys(only: bench.key)) } == .encryptionKeyMismatch)
        #expect(try fileBytes(path) == Array(text.utf8))
    }

    @Test(arguments: [0o640, 0o604, 0o660, 0o602, 0o610])
    func `a key file that other users can access is refused`(permissions: Int) async throws {
        _ = try await source.create(SourceKeys(only: bench.key))
        try setPermissions(permissions, of: path)
        #expect(await code { () throws(BackendError) in try await source.load() } == .accessDenied)
    }

    @Test(arguments: [0o702, 0o707])
    func `a key file in a folder that others can write is refused, and none is created there`(permissions: Int) async throws {
        _ = try await source.create(SourceKeys(only: bench.key))
        let folder = bench.folder.file("keys")
        try setPermissions(permissions, of: folder)
        let error = try await #require(throws: BackendError.self) { try await source.load() }
        #expect(error.code == .untrusted && error.reason.contains("folder \(folder),") && error.reason.contains("chmod"))
        try FileManager.default.removeItem(atPath: path)
        #expect(await code { () throws(BackendError) in try await source.create(SourceKeys(only: bench.key)) } == .untrusted)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
        try setPermissions(0o700, of: folder)
        #expect(try await bench.key.isSame(as: source.create(SourceKeys(only: bench.key)).current))
    }

    @Test(.enabled(if: geteuid() == 0, "changes owners")) func `a key file of another user is refused`() async throws {
        _ = try await source.create(SourceKeys(only: bench.key))
        #expect(chown(path, 65_534, 65_534) == 0)
        #expect(await code { () throws(BackendError) in try await source.load() } == .untrusted)
    }

    /// Creating a key file takes these operations: create, synchronizeFile, link, remove, synchronizeDirectory.
    /// The process is killed before each of them.
    @Test(arguments: 1...8) func `no draft of a key remains after a kill and the next start`(step: Int) async throws {
        _ = try bench.folder.folder("keys")
        let files = HookedFiles()
        files.arm(.stops, at: step)
        var runtime = Runtime.live
        runtime.files = files
        let killed = KeyFileSource(path: path, deadline: bench.deadline, runtime: runtime)
        _ = await code { () throws(BackendError) in try await killed.create(SourceKeys(only: bench.key)) }
        if try await source.load() == nil { _ = try await source.create(SourceKeys(only: bench.otherKey)) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: bench.folder.file("keys")) == ["vault.key"])
        #expect(try await source.load() != nil)
    }

    @Test func `only files with exactly the name pattern of a draft of this key are removed`() async throws {
        _ = try await source.create(SourceKeys(only: bench.key))
        let keys = bench.folder.file("keys")
        let kept = [
            ".vault.key.0123.tmp", ".other.key.0123456789abcdef.tmp", ".vault.key.0123456789abcdef", ".vault.key.0123456789abcdeg.tmp",
        ]
        for name in kept + [".vault.key.0123456789abcdef.tmp"] { try writeFile([1], to: "\(keys)/\(name)") }
        #expect(try await bench.key.isSame(as: source.load()?.current))
        #expect(try Set(FileManager.default.contentsOfDirectory(atPath: keys)) == Set(kept + ["vault.key"]))
    }

    @Test(arguments: ["link", "synchronizeFile"]) func `a process that loses the race to create a key uses the existing key`(
        moment: String
    ) async throws {
        let (other, path) = (source, path)
        _ = try await other.create(SourceKeys(only: bench.otherKey))
        let bytes = try fileBytes(path)
        try FileManager.default.removeItem(atPath: path)
        // Just before the draft is linked, another process creates the key.
        // A third process starts and removes the draft.
        let files = HookedFiles { operation, _ in
            guard operation == moment, !FileManager.default.fileExists(atPath: path) else { return }
            try? writeFile(bytes, to: path)
            let folder = (path as NSString).deletingLastPathComponent
            for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] where name.hasSuffix(".tmp") {
                try? FileManager.default.removeItem(atPath: "\(folder)/\(name)")
            }
        }
        var runtime = Runtime.live
        runtime.files = files
        let late = KeyFileSource(path: path, deadline: bench.deadline, runtime: runtime)
        #expect(try await bench.otherKey.isSame(as: late.create(SourceKeys(only: bench.key)).current))
    }

    @Test func `unlocking a source unlocks the store that holds its key, and the pin names the item but not the folder of the store`()
        async throws
    {
        let store = FaultingBackend(InMemoryStore(identity: BackendIdentity(kind: "memory", store: "/some/folder")))
        let source = BackendKeySource(store, address: StorageAddress("vault"))
        #expect(source.pin == "keyring item vault")
        store.lock()
        #expect(await code { () throws(BackendError) in try await source.load() } == .locked)
        try await source.unlock()
        #expect(try await bench.key.isSame(as: source.create(SourceKeys(only: bench.key)).current))
        store.lock()
        store.refuseUnlock(with: BackendError(.promptDismissed, "The person declined."))
        #expect(await code { () throws(BackendError) in try await source.unlock() } == .promptDismissed)
    }

    @Test func `unlocking a source that cannot be locked succeeds and creates nothing`() async throws {
        try await BackendKeySource(InMemoryStore(), address: StorageAddress("vault")).unlock()
        try await source.unlock()
        #expect(!FileManager.default.fileExists(atPath: path))
    }
}

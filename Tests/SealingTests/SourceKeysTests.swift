import BackendContract
import BackendRuntime
import Crypto
import Foundation
import MemoryBackend
import Synchronization
import TestSupport
import Testing

@testable import Sealing

/// Tests of key sources with several keys, and of replacing these keys.
/// While a process uses a key, it holds the lock of a use file, so that no other process removes the key.
@Suite struct SourceKeysTests {
    private let bench: KeySourceBench
    private let keys: [SealingKey]

    init() throws {
        bench = try KeySourceBench()
        keys = (0..<9).map { _ in SealingKey.random(Runtime.live.randomBytes) }
    }

    /// Makes a source of each kind whose keys a program can change.
    private func sources() -> [any KeySource] {
        let cost = PassphraseCost.tooCheapForAnythingButTests(logN: 1, blockSize: 1, parallelism: 1)
        return [
            KeyFileSource(path: bench.folder.file("file.key"), deadline: bench.deadline, runtime: .live),
            PassphraseSource(path: bench.folder.file("file.passphrase"), cost: cost, deadline: bench.deadline, runtime: .live) { "word" },
            BackendKeySource(InMemoryStore(), address: StorageAddress("key")),
        ]
    }

    @Test func `each line in the text of a source is a key, and the first key is the current one`() throws {
        let held = try SourceKeys(keys[0], others: Array(keys[1..<8]))
        let text = String(decoding: held.textBytes(ending: "\n"), as: UTF8.self)
        #expect(text == keys.prefix(8).map { $0.text + "\n" }.joined())
        for spelling in [
            text, text.replacingOccurrences(of: "\n", with: "\r\n"), "\n" + text.replacingOccurrences(of: "\n", with: "\n \n"),
        ] {
            #expect(try SourceKeys(textBytes: Array(spelling.utf8)).holdsSame(as: held))
        }
        for wrong in ["", "\n", text + keys[8].text, keys[0].text + "\n" + keys[0].text, keys[0].text + "\nx", "x\n" + keys[0].text] {
            let error = #expect(throws: BackendError.self) { try SourceKeys(textBytes: Array(wrong.utf8)) }
            #expect(error?.code == .encryptionKeyMismatch, "\(wrong.prefix(20))")
        }
    }

    @Test func `the keys of a source are replaced in one step, and only if it still has the expected keys`() async throws {
        for source in sources() {
            let first = SourceKeys(only: keys[0])
            #expect(try await source.create(first).holdsSame(as: first))
            let second = try first.adding(keys[1])
            try await source.replace(first, with: second)
            #expect(try await source.load()?.holdsSame(as: second) == true, "\(source.identifier)")
            let failure = await code { () throws(BackendError) in try await source.replace(first, with: SourceKeys(only: keys[2])) }
            #expect(failure == .conflict, "\(source.identifier)")
            #expect(try await source.load()?.holdsSame(as: second) == true)
            try await source.replace(second, with: second.withoutOthers)
            #expect(try await source.load()?.holdsSame(as: SourceKeys(only: keys[1])) == true)
            // Creating a first key returns the existing keys.
            #expect(try await source.create(SourceKeys(only: keys[3])).current.id == keys[1].id)
        }
    }

    @Test func `a change of the passphrase keeps all keys in the file`() async throws {
        let path = bench.folder.file("keys.passphrase")
        let cost = PassphraseCost.tooCheapForAnythingButTests(logN: 1, blockSize: 1, parallelism: 1)
        func source(_ passphrase: String) -> PassphraseSource {
            PassphraseSource(path: path, cost: cost, deadline: bench.deadline, runtime: .live) { passphrase }
        }
        let held = try SourceKeys(keys[0], others: [keys[1], keys[2]])
        _ = try await source("old").create(held)
        #expect(FileManager.default.contents(atPath: path)?.count == PassphraseFile.length + 2 * SealingKey.keyLength)
        try await source("old").changePassphrase(to: "new")
        #expect(try await source("new").load()?.holdsSame(as: held) == true)
        // Without the passphrase no key can be removed or added.
        let bytes = Array(try #require(FileManager.default.contents(atPath: path)))
        for changed in [Array(bytes.dropLast(8 + 32)), Array(bytes.dropLast(8)) + [UInt8](repeating: 1, count: 32)] {
            let sealed = changed + SHA256.hash(data: changed).prefix(8)
            let file = try PassphraseFile(sealed, of: path, allowsCheap: true)
            let error = #expect(throws: BackendError.self) { try file.open(with: SecretBytes(Array("new".utf8)), of: path) }
            #expect(error?.code == .encryptionKeyMismatch)
        }
    }

    @Test func `a key counts as in use while a process holds the lock of its use file`() async throws {
        let folder = bench.folder.file("uses")
        func uses() -> KeyUseFiles { KeyUseFiles(directory: folder, deadline: bench.deadline, runtime: .live) }
        #expect(try await !uses().isUsed(keys[0].id))
        var use: (any Sendable)? = try await uses().begin(keys[0].id)
        _ = use
        #expect(try await uses().isUsed(keys[0].id))
        #expect(try await !uses().isUsed(keys[1].id))
        use = nil
        #expect(try await !uses().isUsed(keys[0].id))
        // The use file of a killed process is not locked. The key counts as unused, and the file is removed.
        try writeFile("", to: "\(folder)/\(hexadecimalText(of: keys[0].id))-0102030405060708")
        #expect(try await !uses().isUsed(keys[0].id))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
    }

    @Test func `use files of killed processes are removed when the next process begins to use any key`() async throws {
        let folder = bench.folder.file("uses")
        let id = hexadecimalText(of: keys[0].id)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for number in 0..<5 { try writeFile("", to: "\(folder)/\(id)-000000000000000\(number)") }
        // A key that no program uses any more.
        try writeFile("", to: "\(folder)/\(hexadecimalText(of: keys[1].id))-0000000000000000")
        let uses = KeyUseFiles(directory: folder, deadline: bench.deadline, runtime: .live)
        let use = try await uses.begin(keys[0].id)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 1)
        #expect(try await KeyUseFiles(directory: folder, deadline: bench.deadline, runtime: .live).isUsed(keys[0].id))
        withExtendedLifetime(use) {}
    }

    @Test func `a use file that another process removes before it is locked is created again`() async throws {
        let folder = bench.folder.file("uses")
        let removals = Mutex(3)
        let files = HookedFiles { operation, path in
            guard operation == "status", path.hasPrefix(folder + "/") else { return }
            removals.withLock { left in
                if left > 0, (try? FileManager.default.removeItem(atPath: path)) != nil { left -= 1 }
            }
        }
        var runtime = Runtime.live
        runtime.files = files
        let use = try await KeyUseFiles(directory: folder, deadline: bench.deadline, runtime: runtime).begin(keys[0].id)
        #expect(removals.withLock { $0 } == 0)
        #expect(try await KeyUseFiles(directory: folder, deadline: bench.deadline, runtime: .live).isUsed(keys[0].id))
        withExtendedLifetime(use) {}
    }
}

import BackendContract
import BackendRuntime
import Foundation
import Sealing
import Synchronization
import TestSupport
import Testing

/// Tests of changing the passphrase or the cost of a passphrase file.
@Suite(.inTurn) struct PassphraseChangeTests {
    private let bench: KeySourceBench
    private let path: String
    private static let cheap = PassphraseCost.tooCheapForAnythingButTests(logN: 2, blockSize: 1, parallelism: 1)

    init() throws {
        bench = try KeySourceBench()
        path = bench.folder.file("vault.passphrase")
    }

    private func source(_ passphrase: String, _ files: (any FileSystem)? = nil) -> PassphraseSource {
        var runtime = Runtime.live
        if let files { runtime.files = files }
        return PassphraseSource(path: path, cost: Self.cheap, deadline: bench.deadline, runtime: runtime) { passphrase }
    }

    /// Returns which of two passphrases opens the file. One of them must open it, and the key must be the same.
    private func opening(_ first: String, _ second: String) async throws -> String {
        for passphrase in [first, second] {
            let failure = await code { () throws(BackendError) in try await source(passphrase).load() }
            #expect(failure == nil || failure == .encryptionKeyMismatch)
            guard failure == nil else { continue }
            #expect(try await bench.key.isSame(as: source(passphrase).load()?.current))
            return passphrase
        }
        Issue.record("no passphrase opens the file")
        return ""
    }

    @Test func `the new passphrase opens the same key at the requested cost, and the old one opens nothing`() async throws {
        _ = try await source("old").create(SourceKeys(only: bench.key))
        let before = try fileBytes(path)
        try await source("old").changePassphrase(to: "Zoe\u{308}")
        #expect(try await opening("old", "Zo\u{eb}") == "Zo\u{eb}")
        #expect(await code { () throws(BackendError) in try await source("old").load() } == .encryptionKeyMismatch)
        let after = try fileBytes(path)
        // Salt and nonce are new.
        #expect(after[13..<45] != before[13..<45] && after[45..<69] != before[45..<69])
        try await source("ignored").changePassphrase(
            from: "Zo\u{eb}", to: "Zo\u{eb}", cost: PassphraseCost.tooCheapForAnythingButTests(logN: 3, blockSize: 2, parallelism: 2))
        #expect(Array(try fileBytes(path)[4..<13]) == [3, 0, 0, 0, 2, 0, 0, 0, 2])
        #expect(try await opening("Zo\u{eb}", "") == "Zo\u{eb}")
        #expect(try filePermissions(path) == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: bench.folder.path) == ["vault.passphrase"])
    }

    @Test func `a wrong or empty passphrase, a cost beyond the limits or a missing file changes nothing`() async throws {
        #expect(await code { () throws(BackendError) in try await source("old").changePassphrase(to: "new") } == .encryptionKeyMissing)
        _ = try await source("old").create(SourceKeys(only: bench.key))
        let before = try fileBytes(path)
        #expect(await code { () throws(BackendError) in try await source("wrong").changePassphrase(to: "new") } == .encryptionKeyMismatch)
        #expect(
            await code { () throws(BackendError) in try await source("old").changePassphrase(from: "wrong", to: "new") }
                == .encryptionKeyMismatch)
        #expect(await code { () throws(BackendError) in try await source("old").changePassphrase(to: "") } == .weakerProtection)
        #expect(await code { () throws(BackendError) in try await source("").changePassphrase(to: "new") } == .locked)
        let cost = PassphraseCost(logN: 24, blockSize: 1, parallelism: 1)
        #expect(await code { () throws(BackendError) in try await source("old").changePassphrase(to: "new", cost: cost) } == .unsupported)
        #expect(try fileBytes(path) == before)
        #expect(try FileManager.default.contentsOfDirectory(atPath: bench.folder.path) == ["vault.passphrase"])
    }

    @Test func `after a fault at any operation either the old or the new passphrase opens the file, and the next change works`()
        async throws
    {
        _ = try await source("start").create(SourceKeys(only: bench.key))
        let files = HookedFiles()
        try await source("start", files).changePassphrase(to: "0")
        let count = files.operations.count
        #expect(count >= 4, "\(files.operations)")
        var (present, old, new) = ("0", 0, 0)
        for fault in [HookedFiles.Fault.stops, .stopsAfter, .fails(EIO), .fails(ENOSPC), .failsAfter(EIO)] {
            for number in 1...count {
                let next = "\(fault) \(number)"
                files.arm(fault, at: number)
                var failure: BackendError?
                do throws(BackendError) { try await source(present, files).changePassphrase(to: next) } catch { failure = error }
                files.arm(nil)
                let opens = try await opening(present, next)
                if failure == nil { #expect(opens == next, "\(next): it was said to be changed") }
                if failure?.outcome == .notApplied { #expect(opens == present, "\(next)") }
                if opens == present { old += 1 } else { new += 1 }
                present = opens
                // Reading the file has removed the temporary file of the killed change.
                #expect(try FileManager.default.contentsOfDirectory(atPath: bench.folder.path) == ["vault.passphrase"], "\(next)")
            }
        }
        #expect(old > 0 && new > 0)
        print("passphrase changes: \(old + new) faults, \(old) with the old passphrase, \(new) with the new one")
    }

    @Test func `a change of the passphrase does not overwrite a concurrent change`() async throws {
        _ = try await source("theirs").create(SourceKeys(only: bench.key))
        let theirs = try fileBytes(path)
        try await source("theirs").changePassphrase(to: "old")
        // Another process changes the passphrase while the new file is written.
        let files = HookedFiles { [path] operation, _ in
            if operation == "synchronizeFile" { try? writeFile(theirs, to: path) }
        }
        let failure = await code { () throws(BackendError) in try await source("old", files).changePassphrase(to: "mine") }
        #expect(failure?.name == "conflict")
        #expect(try await opening("theirs", "mine") == "theirs")
    }

    @Test func `a change of the passphrase continues if another process removes its temporary file`() async throws {
        _ = try await source("old").create(SourceKeys(only: bench.key))
        let removals = Mutex(0)
        let files = HookedFiles { operation, path in
            guard operation == "synchronizeFile",
                removals.withLock({
                    $0 += 1; return $0
                }) <= 3
            else { return }
            try? FileManager.default.removeItem(atPath: path)
        }
        try await source("old", files).changePassphrase(to: "new")
        #expect(removals.withLock(\.self) == 4)
        #expect(try await opening("old", "new") == "new")
    }
}

#if SQLite && Keyring && os(Linux)
    import Foundation
    import LocalData
    import TestSupport
    import Testing

    /// A search for keys in a core dump of a process whose router was shut down and released.
    @Suite(.alone, .slow("dumps the memory of processes"), .tags(.process, .keyring)) struct RouterLeakTests {
        @Test func `after a shutdown no key of a router is in memory`() async throws {
            let place = "database:main"
            let stage = try Stage(keyring: true)
            let keyring = try #require(stage.keyring)
            let worker = try stage.worker(keyring.environment)
            #expect(try await worker.run("put", place, "a", "some-value") == "done")
            await worker.kill()
            let text = try String(contentsOfFile: stage.root.path + "/data/sealing-key", encoding: .utf8)
            let digits = text.split { " \n".contains($0) }.last.map(String.init) ?? ""
            let key = Array(try #require(Data(base64Encoded: digits)))
            let line = Array(digits.utf8)
            #expect(key.count == 32)

            let control = String(UInt64.random(in: .min ... .max), radix: 36)
            let core = stage.directory.file("core")
            let result = try await dumpMemory(
                of: Program.worker(
                    "migration",
                    [stage.root.path, stage.service, keyring.environment["XDG_DATA_HOME"] ?? "-", "leak", place, control]),
                environment: keyring.environment, to: core)
            #expect(result.stdout.contains("read\n") && result.stdout.contains("released\n"), "\(result.stdout)\n\(result.stderr)")
            let memory = try CoreDump(path: core)
            #expect(!memory.hits("control-\(control)".utf8).isEmpty, "the core does not show the program's memory")
            // Search for each half separately. When memory is freed, the allocator overwrites its first bytes with the
            // pointers of its free list. So the first half of a leaked key may be gone.
            for (what, bytes) in [
                ("the key", key[..<16]), ("the key's second half", key[16...]), ("the key's line", line[..<22]),
                ("the second half of the key's line", line[22...]),
            ] {
                let hits = memory.hits(bytes)
                print("core after shutdown, \(place): \(what) \(hits.count) \(hits)")
                #expect(hits.isEmpty, "\(what) is in memory: \(hits)")
            }
        }
    }
#endif

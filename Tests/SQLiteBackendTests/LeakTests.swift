#if SQLite
    import BackendContract
    import BackendRuntime
    import Crypto
    import Foundation
    import SQLiteBackend
    import TestSupport
    import Testing

    @testable import Sealing

    /// Tests of the memory of a process after a store was closed, read from a core dump.
    @Suite(.alone, .slow("dumps the memory of processes"), .tags(.process)) struct LeakTests {
        @Test(.timeLimit(.minutes(5))) func `a store that was closed and released is deallocated with its keys`() async throws {
            let folder = try TemporaryDirectory()
            let keyFile = folder.file("key")
            try writeFile(SealingKey.random(Runtime.live.randomBytes).text + "\n", to: keyFile)
            weak var store: SQLiteStore?
            weak var keys: SealingKeys?
            func use() async throws {
                let held = SealingKeys(pins: .none, randomBytes: Runtime.live.randomBytes)
                let made = SQLiteStore(
                    path: folder.file("store.sqlite"), lockPath: folder.file("store.lock"), context: .test, keys: held,
                    source: KeyFileSource(path: keyFile, deadline: .seconds(60), runtime: .live), deadline: .seconds(60), runtime: .live)
                (store, keys) = (made, held)
                #expect(try await made.apply(.put(.bytes([1]), at: StorageAddress("name"))).isApplied)
                #expect(try await made.read(StorageAddress("name")).record != nil)
                #expect(try await made.addresses(in: .values).count == 1)
                await made.close()
            }
            try await use()
            // Threads of the store may hold references for a moment longer.
            while store != nil || keys != nil { try await Task.sleep(for: .milliseconds(10)) }
        }

        @Test func `after the store is closed, neither the key of its source nor the data key is in memory`() async throws {
            let place = try Place()
            let secret = (0..<64).map { _ in UInt8.random(in: .min ... .max) }
            let kek = SealingKey.random(Runtime.live.randomBytes)
            try FileManager.default.createDirectory(
                atPath: place.folder + "/keys", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            try writeFile(kek.text + "\n", to: place.keyPath)
            let store = place.store()
            #expect(try await store.apply(.put(.bytes(secret), at: StorageAddress("secret"))).isApplied)
            await store.close()
            let (database, keys) = try SealedDatabase(path: place.path, key: kek).tables()
            let dataKey = try KeyEncryptionKey(kek, database: database).unwrap(keys.wraps[0]).withUnsafeBytes { Array($0) }

            let control = String(UInt64.random(in: .min ... .max), radix: 36)
            let core = place.folder + "/core"
            let result = try await dumpMemory(of: Program.worker("database", ["leak", place.folder, control]), to: core)
            #expect(result.stdout.contains("read 64"), "\(result.stdout)\n\(result.stderr)")
            let memory = try CoreDump(path: core)
            #expect(!memory.hits("control-\(control)".utf8).isEmpty, "the core does not show the program's memory")
            let raw = kek.key.withUnsafeBytes { Array($0) }
            let text = Data(raw).base64EncodedString()
            // Search for each half, because the allocator overwrites the first bytes of freed memory with its list.
            let found = [
                ("the key", raw[..<16]), ("the key's second half", raw[16...]), ("the key's text", Array(text.utf8)[..<22]),
                ("the second half of the key's text", Array(text.utf8)[22...]), ("the data key", dataKey[..<16]),
                ("the data key's second half", dataKey[16...]),
            ].map { (what: $0.0, hits: memory.hits($0.1)) }
            print("core after close: \(found.map { "\($0.what) \($0.hits.count)" }.joined(separator: ", "))")
            // The value is not searched for, because the caller that read it decides when it is released.
            for (what, hits) in found { #expect(hits.isEmpty, "\(what) is in memory: \(hits)") }
        }
    }
#endif

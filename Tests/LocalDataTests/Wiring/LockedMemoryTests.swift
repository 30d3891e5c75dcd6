#if SQLite && os(Linux)
    import BackendContract
    import Foundation
    import TestSupport
    import Testing

    @testable import LocalData

    /// A search for keys in the memory of a process whose router is locked.
    @Suite(.alone) struct LockedMemoryTests {
        private let row = textKey("a", .encryptedSQLite(database: "main"))
        private let sealed = textKey("b", .userDefaults(suite: "list"), .encrypted)

        /// Returns the two halves of the data key of a database, the key that encrypts its rows. Another process
        /// decrypts and masks them, so that the memory of this process contains no plain copy.
        private func dataKey(_ path: String, _ keyFile: String) async throws -> [ProcessMemory.Needle] {
            let script = """
                import importlib.util, sqlite3, sys
                spec = importlib.util.spec_from_file_location("reader", sys.argv[1])
                reader = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(reader)
                connection = sqlite3.connect("file:%s?mode=ro" % sys.argv[2], uri=True)
                header = dict(connection.execute("SELECT name, value FROM header"))
                kek = reader.Kek.read(sys.argv[3])
                for key, source, wrapped in connection.execute("SELECT key, source, wrapped FROM wraps"):
                    wrapping = reader.hkdf(kek.key, header["database"], b"LocalData SQLite 1 wrap", 32)
                    bound = reader.fields("LocalData SQLite 1 wrap", header["database"], key, kek.id, source)
                    print(bytes(byte ^ 0xA7 for byte in reader.unseal(wrapping, wrapped, bound)).hex())
                """
            let reader = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
                .appending(path: "Fixtures/sealed-sqlite/reader.py").path
            let result = try await run("/usr/bin/python3", ["-c", script, reader, path, keyFile])
            let masked = try #require(
                bytes(ofHexadecimal: result.stdout.trimmingCharacters(in: .whitespacesAndNewlines)), "\(result.stderr)")
            #expect(masked.count == 32)
            return [ProcessMemory.Needle(masked: masked[..<16]), ProcessMemory.Needle(masked: masked[16...])]
        }

        /// Runs in a separate process, because the threads of other tests keep old register contents on their stacks.
        @Test(.timeLimit(.minutes(10))) func `no key of a source or a database is in memory while a router is locked`() async throws {
            await #expect(processExitsWith: .success) { try await LockedMemoryTests().lockAndSearch() }
        }

        private func lockAndSearch() async throws {
            let stage = try Stage()
            let router = stage.launch()
            try await router.set("row", for: row)
            try await router.set("sealed", for: sealed)
            let keyFile = stage.root.path + "/data/sealing-key"
            let needles = try ProcessMemory.Needle.halves(ofKeyFile: keyFile)
            let ofData = try await dataKey(stage.root.path + "/data/databases/main.sqlite", keyFile)
            #expect(needles.count == 2)
            #expect(try ProcessMemory.occurrences(of: needles) > 0, "the search does not find a key that is in use")
            for lock in 0..<3 {
                if lock == 1 { try await router.lock(row.domain) } else { try await router.lock() }
                let clock = ContinuousClock()
                let limit = clock.now.advanced(by: .seconds(180))
                var found = 1
                // Threads keep old register contents on their stacks for a while.
                while found > 0, clock.now < limit {
                    await ProcessMemory.useStacks()
                    found = try ProcessMemory.occurrences(of: needles + ofData)
                }
                #expect(found == 0, "a key is still in memory after lock \(lock)")
                if lock == 1 { try await router.unlock(row.domain) } else { try await router.unlock() }
                #expect(try await router.get(row) == "row")
                #expect(try await router.get(sealed) == "sealed")
            }
        }
    }
#endif

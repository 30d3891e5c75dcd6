#if SQLite
    import BackendContract
    import BackendRuntime
    import SQLiteBackend
    import Sealing
    import TestSupport
    import Testing

    /// Tests of adopting databases that have a freshness anchor, which records the latest state of a database outside
    /// its file. Adopting gives a database a new context (the application and the name of the store) and a new id.
    extension FreshnessTests {
        private static let elsewhere = StoreContext(application: "test", kind: "sqlite", scope: "elsewhere")

        private func adopting(_ anchor: (any FreshnessAnchor)?) -> SQLiteStore {
            SQLiteStore(
                path: place.path, lockPath: place.lockPath, context: Self.elsewhere,
                keys: SealingKeys(pins: .none, randomBytes: Runtime.live.randomBytes), source: place.keyFile(), anchor: anchor,
                deadline: .seconds(60), runtime: .live)
        }

        @Test func `adopting a database records its new id in its anchor`() async throws {
            try await write(["1", "2"], anchor)
            let former = try #require(anchor.mark)
            let store = adopting(anchor)
            try await store.adopt(from: .test)
            let mark = try #require(anchor.mark)
            #expect(mark.database != former.database && mark.commits > former.commits)
            #expect(try await store.text("name") == "2")
            try await store.put("3", at: "name")
            _ = try await store.synchronize()
            await store.close()
            let again = adopting(anchor)
            #expect(try await again.text("name") == "3")
            await again.close()
        }

        @Test func `adopting an older file is refused with the error rolledBack`() async throws {
            try await write(["1"], anchor)
            try save("older")
            try await write(["2", "3"], anchor)
            try restore("older")
            let mark = anchor.mark
            let store = adopting(anchor)
            let error = await failure { () throws(BackendError) in try await store.adopt(from: .test) }
            #expect(error?.code == .rolledBack)
            #expect(anchor.mark == mark)
            await store.close()
            let former = self.store(nil)
            #expect(try await former.text("name") == "1")
            await former.close()
        }

        @Test
        func `a database that was adopted without an anchor can be opened with a new anchor, which then records its state`() async throws {
            try await write(["1"], anchor)
            let store = adopting(nil)
            try await store.adopt(from: .test)
            #expect(try await store.text("name") == "1")
            await store.close()
            let other = MemoryAnchor()
            let anchored = adopting(other)
            #expect(try await anchored.text("name") == "1")
            _ = try await anchored.synchronize()
            #expect(other.mark != nil)
            await anchored.close()
        }
    }
#endif

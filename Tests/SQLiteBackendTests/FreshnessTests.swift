#if SQLite
    import BackendContract
    import BackendRuntime
    import Foundation
    import SQLiteBackend
    import Sealing
    import Synchronization
    import TestSupport
    import Testing

    /// A freshness anchor in memory. It records the latest state of a database as a mark.
    /// A test can remove the mark, make the anchor fail, or delay its writes.
    final class MemoryAnchor: FreshnessAnchor {
        struct State {
            var mark: FreshnessMark?
            var error: BackendError?
            var stores = 0
            var commits: [Int64] = []
        }

        let state = Mutex(State())
        let gate: Gate?
        let name = "the test's anchor"

        init(gate: Gate? = nil) { self.gate = gate }

        var mark: FreshnessMark? {
            get { state.withLock(\.mark) }
            set { state.withLock { $0.mark = newValue } }
        }

        func fail(_ error: BackendError?) { state.withLock { $0.error = error } }

        func load() async throws(BackendError) -> FreshnessMark? {
            if let error = state.withLock(\.error) { throw error }
            return mark
        }

        func store(_ mark: FreshnessMark, replacing known: FreshnessMark?) async throws(BackendError) -> Bool {
            await gate?.pass()
            if let error = state.withLock(\.error) { throw error }
            return state.withLock { state in
                state.stores += 1
                guard state.mark == known else { return false }
                state.mark = mark
                state.commits.append(mark.commits)
                return true
            }
        }
    }

    /// Tests that an older file of a database with a freshness anchor is refused until a person accepts it.
    /// The anchor records the latest state of the database and its number of commits, outside of the file.
    @Suite(.inTurn) struct FreshnessTests {
        let place: Place
        let anchor = MemoryAnchor()

        init() throws { place = try Place() }

        func store(_ anchor: (any FreshnessAnchor)?, runtime: Runtime = .live) -> SQLiteStore {
            SQLiteStore(
                path: place.path, lockPath: place.lockPath, context: .test,
                keys: SealingKeys(pins: .none, randomBytes: Runtime.live.randomBytes), source: place.keyFile(), anchor: anchor,
                deadline: .seconds(60), runtime: runtime)
        }

        /// Stores texts, each in a separate commit, and closes the store.
        func write(_ texts: [String], _ anchor: (any FreshnessAnchor)?) async throws {
            let store = store(anchor)
            for text in texts { try await store.put(text, at: "name") }
            _ = try await store.synchronize()
            await store.close()
        }

        func save(_ name: String) throws {
            for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: place.path + suffix) {
                try writeFile(try Data(contentsOf: URL(filePath: place.path + suffix)), to: place.folder + "/\(name)\(suffix)")
            }
        }

        func restore(_ name: String) throws {
            for suffix in ["", "-wal", "-shm"] {
                try? FileManager.default.removeItem(atPath: place.path + suffix)
                let saved = place.folder + "/\(name)\(suffix)"
                if FileManager.default.fileExists(atPath: saved) {
                    try FileManager.default.copyItem(atPath: saved, toPath: place.path + suffix)
                }
            }
        }

        private func expect(
            _ code: BackendError.Code, at location: SourceLocation = #_sourceLocation, _ work: () async throws -> Void
        ) async {
            do {
                try await work()
                Issue.record("nothing was thrown", sourceLocation: location)
            } catch {
                #expect((error as? BackendError)?.code == code, "\(error)", sourceLocation: location)
            }
        }

        /// Expects that a refused database refuses every operation, and that its file does not change.
        private func expectRefused(
            _ store: SQLiteStore, _ code: BackendError.Code = .init("rolledBack"), _ words: [String] = []
        ) async throws {
            let file = try? Data(contentsOf: URL(filePath: place.path))
            let probe = try await store.read(StorageAddress("name"))
            guard case .unavailable(let error) = probe else { return #expect(probe == .locked && code == .locked) }
            #expect(error.code == code, "\(error)")
            for word in words { #expect(error.reason.contains(word), "\(error)") }
            #expect(try await store.apply(.text("lost", at: "name")).error?.code == code)
            #expect(try await store.apply(.delete(StorageAddress("name"))).error?.code == code)
            await expect(code) { _ = try await store.addresses(in: .values) }
            await expect(code) { _ = try await store.page(StorageQuery(.values), after: nil, limit: 5) }
            await expect(code) { _ = try await store.verifyIntegrity { _ in } }
            #expect((try? Data(contentsOf: URL(filePath: place.path))) == file)
        }

        @Test(arguments: [false, true])
        func `an older file is refused until it is accepted, and the error has the commit counts of the file and the anchor`(
            withLog: Bool
        ) async throws {
            try await write(["1", "2"], anchor)
            if withLog {
                let open = store(anchor)
                try await open.put("3", at: "name")
                #expect(place.logLength > 0)
                // Another process copies the files: closing a descriptor in this process would drop SQLite's locks.
                #expect(try await run("cp", [place.path, place.folder + "/old"]).status == 0)
                #expect(try await run("cp", [place.path + "-wal", place.folder + "/old-wal"]).status == 0)
                await open.close()
            } else {
                try save("old")
            }
            try await write(["4", "5", "6"], anchor)
            let latest = withLog ? 6 : 5
            #expect(anchor.mark?.commits == Int64(latest))
            try save("latest")

            try restore("old")
            let store = store(anchor)
            try await expectRefused(store, .init("rolledBack"), ["\(latest - 3) commits", "records \(latest)"])
            #expect(anchor.mark?.commits == Int64(latest))
            // The latest file opens without being accepted.
            try restore("latest")
            #expect(try await store.text("name") == "6")
            await store.close()

            try restore("old")
            let again = self.store(anchor)
            try await expectRefused(again)
            try await again.acceptOlderFile()
            #expect(try await again.text("name") == (withLog ? "3" : "2"))
            #expect(anchor.mark?.commits == Int64(latest + 1))
            try await again.put("after", at: "name")
            #expect(try await again.verifyIntegrity { _ in }?.isSound == true)
            await again.close()
            #expect(anchor.mark?.commits == Int64(latest + 2))
            try await place.check("accepted")
            // After the acceptance, neither the older nor the latest file is accepted without a further call.
            for name in ["old", "latest"] {
                try restore(name)
                let store = self.store(anchor)
                try await expectRefused(store)
                await store.close()
            }
        }

        @Test func `as documented, an older file is not detected without an anchor`() async throws {
            try await write(["1"], nil)
            try save("old")
            try await write(["2"], nil)
            try restore("old")
            let store = store(nil)
            #expect(try await store.text("name") == "1")
            #expect(try await store.verifyIntegrity { _ in }?.isSound == true)
            await expect(.unsupported) { _ = try await store.acceptOlderFile() }
            await store.close()
        }

        @Test func `an older file that replaces the file of an open database is refused`() async throws {
            try await write(["1"], anchor)
            try save("old")
            let store = store(anchor)
            try await store.put("2", at: "name")
            _ = try await store.synchronize()
            // `restore` removes the files first.
            // Otherwise the log of the open database would stay next to the older file.
            try restore("old")
            #expect(try await store.read([StorageAddress("name")], .fresh).first != .absent)
            try await expectRefused(store)
            await store.close()
        }

        @Test func `after older rows and an older state were written into an open database, the next change is refused`() async throws {
            let store = store(anchor)
            try await store.put("1", at: "name")
            let database = try PlainDatabase(path: place.path)
            let rows = try RawRecord.all(database)
            let state = try #require(try database.value("SELECT sealed FROM state")?.blob)
            try await store.put("2", at: "name")
            try database.transaction { database in
                try database.execute("DELETE FROM records")
                for row in rows { try row.insert(database) }
                try database.execute("UPDATE state SET sealed = ?", [state])
            }
            let result = try await store.apply(.text("3", at: "other"))
            #expect(result.error?.code.name == "rolledBack", "\(result)")
            await store.close()
        }

        @Test func `a missing file, another database, a damaged state, or a file with other commits is refused`() async throws {
            try await write(["1", "2"], anchor)
            try save("whole")
            try restore("none")
            var store = store(anchor)
            try await expectRefused(store)
            #expect(!place.exists)
            await expect(.unavailable) { _ = try await store.acceptOlderFile() }
            await store.close()
            // The file is another database of the same program, with the same key.
            let mark = anchor.mark
            anchor.mark = nil
            try await write(["another", "another", "another", "another"], anchor)
            anchor.mark = mark
            store = self.store(anchor)
            try await expectRefused(store, .init("rolledBack"), ["but this one is"])
            await store.close()
            // The state in the file cannot be decrypted.
            try restore("whole")
            try PlainDatabase(path: place.path).execute("UPDATE state SET sealed = zeroblob(89)")
            store = self.store(anchor)
            try await expectRefused(store, .init("rolledBack"), ["damaged or missing"])
            try await store.acceptOlderFile()
            #expect(try await store.text("name") == "2")
            #expect(try await store.verifyIntegrity { _ in }?.isSound == true)
            #expect(anchor.mark?.commits == 3)
            await store.close()
            // The file has as many commits as the anchor recorded.
            // But its third commit is another one, which was made without the anchor.
            try restore("whole")
            anchor.mark = mark
            try await write(["3"], anchor)
            let third = anchor.mark
            try restore("whole")
            try await write(["another 3"], nil)
            store = self.store(anchor)
            try await expectRefused(store, .init("rolledBack"), ["not the same ones"])
            #expect(anchor.mark == third)
            await store.close()
        }

        @Test func `a lost, locked or unreachable anchor makes the database unavailable`() async throws {
            try await write(["1"], anchor)
            let mark = anchor.mark
            anchor.mark = nil
            let lost = store(anchor)
            try await expectRefused(lost, .init("rolledBack"), ["is empty"])
            anchor.mark = mark
            #expect(try await lost.text("name") == "1")
            await lost.close()
            for code in [BackendError.Code.locked, .unavailable, .corrupted] {
                anchor.fail(BackendError(code, "The anchor cannot be read."))
                let store = store(anchor)
                try await expectRefused(store, code)
                anchor.fail(nil)
                #expect(try await store.text("name") == "1")
                await store.close()
            }
            anchor.mark = nil
            let accepted = store(anchor)
            try await accepted.acceptOlderFile()
            #expect(try await accepted.text("name") == "1")
            #expect(anchor.mark?.commits == 2)
            await accepted.close()
        }

        @Test func `changes do not wait for the anchor, which is written at most once a second even if the clock jumps`() async throws {
            let (gate, clock) = (Gate(), ManualClock())
            let anchor = MemoryAnchor(gate: gate)
            var runtime = Runtime.live
            runtime.clock = clock
            let store = store(anchor, runtime: runtime)
            // The gate blocks every write to the anchor.
            for number in 1...20 { try await store.put("\(number)", at: "name") }
            await gate.arrived()
            #expect(anchor.mark == nil)
            gate.open()
            _ = try await store.synchronize()
            #expect(anchor.mark?.commits == 20)
            let before = anchor.state.withLock(\.stores)
            for number in 1...20 { try await store.put("\(number)", at: "name") }
            // The clock does not advance. The store makes at most the write that was under way, and one more.
            #expect(anchor.state.withLock(\.stores) <= before + 2)
            clock.advance(by: .seconds(1_000_000))
            try await store.put("after the jump", at: "name")
            _ = try await store.synchronize()
            #expect(anchor.mark?.commits == 41)
            await store.close()
            let commits = anchor.state.withLock(\.commits)
            #expect(commits == commits.sorted(), "\(commits)")
        }

        @Test func `an anchor that missed commits of a killed process is updated by the next process`() async throws {
            try await write(["1"], anchor)
            let mark = anchor.mark
            try await write(["2", "3"], anchor)
            anchor.mark = mark
            let store = store(anchor)
            #expect(try await store.text("name") == "3")
            _ = try await store.synchronize()
            #expect(anchor.mark?.commits == 3)
            await store.close()
            // A failed write of the anchor does not fail the change.
            let other = self.store(anchor)
            #expect(try await other.text("name") == "3")
            anchor.fail(BackendError(.unavailable, "away"))
            try await other.put("4", at: "name")
            await expect(.unavailable) { _ = try await other.synchronize() }
            anchor.fail(nil)
            #expect(try await other.text("name") == "4")
            await other.close()
            #expect(anchor.mark?.commits == 4)
        }

        /// An anchor that is empty at its first read. Another program writes it right after that read.
        private final class LateAnchor: FreshnessAnchor {
            private let anchor: MemoryAnchor
            private let isFirst = Mutex(true)
            let name = "the late anchor"

            init(_ anchor: MemoryAnchor) { self.anchor = anchor }

            func load() async throws(BackendError) -> FreshnessMark? {
                let isFirst = isFirst.withLock { first in
                    defer { first = false }
                    return first
                }
                return isFirst ? nil : try await anchor.load()
            }

            func store(_ mark: FreshnessMark, replacing known: FreshnessMark?) async throws(BackendError) -> Bool {
                try await anchor.store(mark, replacing: known)
            }
        }

        @Test func `a database that another program creates while the anchor is read can be opened`() async throws {
            try await write(["1"], anchor)
            let store = store(LateAnchor(anchor))
            #expect(try await store.text("name") == "1")
            await store.close()
        }

        @Test func `two stores share an anchor file, and its commit count never decreases`() async throws {
            let path = place.folder + "/elsewhere/mark"
            func anchor() -> FileAnchor {
                FileAnchor(path: path, lockPath: place.folder + "/state/anchor.lock", deadline: .seconds(60), runtime: .live)
            }
            let stores = [store(anchor()), store(anchor())]
            try await withThrowingTaskGroup { group in
                for (number, store) in stores.enumerated() {
                    group.addTask {
                        for turn in 0..<25 {
                            try await store.put("\(turn)", at: "name \(number)")
                            if turn % 5 == 0 { _ = try await store.synchronize() }
                        }
                    }
                }
                group.addTask {
                    var last: Int64 = 0
                    for _ in 0..<40 {
                        let commits = try await anchor().load()?.commits ?? 0
                        #expect(commits >= last)
                        last = commits
                    }
                }
                try await group.waitForAll()
            }
            for store in stores { await store.close() }
            #expect(try await anchor().load()?.commits == 50)
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            #expect(try FileManager.default.contentsOfDirectory(atPath: place.folder + "/elsewhere") == ["mark"])
            // Other users could replace the anchor in a folder that they can write.
            try setPermissions(0o777, of: place.folder + "/elsewhere")
            try await expectRefused(store(anchor()), .untrusted)
            try setPermissions(0o700, of: place.folder + "/elsewhere")
            try writeFile("LocalData-freshness-1 something else\n", to: path)
            try await expectRefused(store(anchor()), .corrupted)
        }
    }
#endif

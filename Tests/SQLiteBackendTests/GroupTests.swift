#if SQLite
    import BackendContract
    import BackendRuntime
    import Foundation
    import SQLiteBackend
    import Synchronization
    import TestSupport
    import Testing

    /// Tests of calls that share one transaction. A call that fails must not affect the other calls of its group.
    /// A label is a keyed hash of an attribute, by which a query finds rows without decrypting them.
    @Suite(.inTurn) struct GroupTests {
        let place: Place
        let clock = ManualClock()
        let lanes = TestLane()

        init() throws { place = try Place() }

        private func store() -> SQLiteStore { place.store(runtime: .live(clock: clock, lane: lanes)) }

        /// Makes a file system in which taking the store's lock waits at a gate, as if another process held the lock.
        /// It waits only while `isArmed` is true.
        private func gatedFiles(_ gate: Gate) -> (HookedFiles, isArmed: Shared<Bool>) {
            let (isArmed, lockPath) = (Shared(false), place.lockPath)
            let files = HookedFiles { operation, path in
                if operation == "lock", path == lockPath, isArmed.value.withLock(\.self) { gate.block() }
            }
            return (files, isArmed)
        }

        /// Applies calls as one group, and returns their results in order.
        private func applyTogether(_ calls: [[StorageMutation]], on store: SQLiteStore) async throws -> [[MutationResult]] {
            lanes.hold()
            var scheduled = clock.scheduled
            var tasks: [Task<[MutationResult], any Error>] = []
            for call in calls {
                tasks.append(Task { try await store.apply(call) })
                scheduled += 1
                await clock.untilScheduled(scheduled)
            }
            #expect(lanes.held == 1, "one piece of work for all of them")
            lanes.release()
            var results: [[MutationResult]] = []
            for task in tasks { results.append(try await task.value) }
            return results
        }

        @Test func `a value with too large attributes is refused, and large allowed attributes fail no other call of the group`()
            async throws
        {
            let store = store()
            try await store.put("0", at: "known")
            let heavy = StorageMetadata(attributes: ["heavy": String(repeating: "x", count: 12 << 20)])
            let payload = StoragePayload.bytes([UInt8](repeating: 7, count: 12 << 20))
            let refused = try await store.apply(.put(payload, heavy, at: StorageAddress("large")))
            guard case .failed(let error) = refused else {
                Issue.record("\(refused)")
                return
            }
            #expect(error.code == .tooLarge && error.outcome == .notApplied)
            #expect(error.reason.contains("\(SQLiteStore.maximumValueSize)"))
            // Attributes within the limit are accepted in a group.
            let most = StorageMetadata(attributes: ["heavy": String(repeating: "x", count: 2 << 20)])
            let results = try await applyTogether(
                [
                    [.text("1", at: "known")], [.put(.bytes([1]), most, at: StorageAddress("heavy", in: StorageNamespace("records")))],
                    [.text("2", at: "other")],
                ], on: store)
            for result in results { #expect(result[0].isApplied, "\(result)") }
            let record = try await store.read(StorageAddress("heavy", in: StorageNamespace("records"))).record
            #expect(record?.metadata.attributes == most.attributes)
        }

        @Test func `a call that fails in SQLite is rolled back alone, and the other calls of its group are committed`() async throws {
            let records = StorageNamespace("records")
            func record(_ name: String) -> StorageMutation {
                .put(.bytes([1]), StorageMetadata(typeTag: "T"), at: StorageAddress(name, in: records))
            }
            let before = place.store()
            _ = try await before.apply([record("first"), .text("0", at: "known")])
            await before.close()
            try damagePage(of: "labels")
            let store = store()
            #expect(try await store.text("known") == "0")
            let results = try await applyTogether(
                [
                    [.text("1", at: "known")], [.text("x", at: "beside"), record("second")], [.text("2", at: "other")],
                    [.text("3", at: "last", if: .absent)],
                ], on: store)
            #expect(results[0][0].isApplied && results[2][0].isApplied && results[3][0].isApplied, "\(results)")
            guard results[1][0] == .notAttempted, case .failed(let error) = results[1][1] else {
                Issue.record("\(results[1])")
                return
            }
            #expect(error.code == .corrupted && error.outcome == .notApplied)
            let texts = try await place.store().read(["known", "beside", "other", "last"].map { StorageAddress($0) }, .fresh).map(\.text)
            #expect(texts == ["1", nil, "2", "3"])
        }

        @Test func `a damaged row does not prevent a group of calls that creates the first labels of the database`() async throws {
            let records = StorageNamespace("records")
            let store = store()
            try await store.put("0", at: "known")
            try await store.put("1", at: "torn")
            try SealedDatabase(path: place.path, keyFile: place.keyPath).tamper(StorageAddress("torn")) { $0[$0.count / 2] ^= 0x10 }
            let record = StorageMutation.put(.bytes([1]), StorageMetadata(typeTag: "T"), at: StorageAddress("a", in: records))
            let results = try await applyTogether(
                [[record], [.delete(StorageAddress("torn"), if: .revision(try await revision(of: "torn", store)))], [record]], on: store)
            #expect(results.allSatisfy { $0[0].isApplied }, "\(results)")
            let page = try await store.page(StorageQuery(records, [.typeTag("T")]), after: nil, limit: 10)
            #expect(page.entries.map(\.address.name) == ["a"])
            await store.close()
            #expect(try await place.check() == 2)
        }

        @Test func `a batch that takes longer than the deadline continues and succeeds`() async throws {
            // Each random word advances the clock by 20 ms, and each nonce needs three words. 1,000 rows take a minute.
            var runtime = Runtime.live(clock: clock)
            runtime.randomness = Randomness(words: { [clock] in
                clock.advance(by: .milliseconds(20))
                return UInt64.random(in: .min ... .max)
            })
            let store = place.store(deadline: .seconds(10), runtime: runtime)
            let results = try await store.apply((0..<1_000).map { .text("\($0)", at: "name \($0)") })
            #expect(clock.now > .seconds(40))
            #expect(results.filter { $0.isApplied }.count == 1_000)
        }

        @Test func `changes that arrive while the store waits for the lock share one transaction`() async throws {
            try await place.store().put("0", at: "known")
            let gate = Gate()
            let (files, isArmed) = gatedFiles(gate)
            let store = place.store(runtime: .live(files: files, clock: clock))
            #expect(try await store.text("known") == "0")
            let (before, scheduled) = (files.locks("state/lock"), clock.scheduled)
            isArmed.value.withLock { $0 = true }
            var tasks: [Task<MutationResult, any Error>] = []
            for number in 0..<10 {
                tasks.append(Task { try await store.apply(.text("\(number)", at: "name \(number)")) })
                await clock.untilScheduled(scheduled + number + 1)
                // The first change waits on the lane (the serial queue of the store), as if another process held the lock.
                if number == 0 { await gate.arrived() }
            }
            gate.open()
            for task in tasks { #expect(try await task.value.isApplied) }
            #expect(files.locks("state/lock") - before == 1)
        }

        @Test func `a change that times out behind a transaction of another program was not applied`() async throws {
            // Instead of waiting, the store advances this clock. So the deadline of the call passes while SQLite waits.
            let store = place.store(deadline: .seconds(2), runtime: .live(clock: ManualClock()))
            try await store.put("0", at: "known")
            let holder = try place.probe("hold-transaction")
            #expect(try await holder.line().hasPrefix("holding"))
            let error = await failure { () async throws(BackendError) in try await store.apply([.text("1", at: "known")]) }
            #expect(error?.code == .timedOut && error?.outcome == .notApplied, "\(String(describing: error))")
            #expect(try await holder.ask("go").hasPrefix("released"))
            _ = await holder.end()
            #expect(try await store.text("known") == "0")
        }

        @Test func `a group whose callers were all cancelled leaves no transaction open`() async throws {
            try await place.store().put("0", at: "known")
            let gate = Gate()
            let (files, isArmed) = gatedFiles(gate)
            let store = place.store(runtime: .live(files: files, clock: clock))
            #expect(try await store.text("known") == "0")
            isArmed.value.withLock { $0 = true }
            let leaving = Task { try await store.apply(.text("1", at: "known")) }
            await gate.arrived()
            leaving.cancel()
            await #expect(throws: BackendError.self) { _ = try await leaving.value }
            isArmed.value.withLock { $0 = false }
            gate.open()
            // The cancelled call is a group of one call. This group may still run on the lane, the serial queue of the
            // store. `synchronize` uses the same lane, so the group has ended when `synchronize` returns.
            #expect(try await store.synchronize() == .durable)
            let other = place.store(deadline: .seconds(60))
            #expect(try await other.apply(.text("2", at: "known")).isApplied)
            #expect(try await store.text("known") == "2")
            await other.close()
        }

        @Test func `the first change of a process, and the first one after a failed flush, write the log again`() async throws {
            let other = place.store()
            try await other.put("0", at: "known")
            let files = HookedFiles()
            let store = place.store(runtime: .live(files: files))
            try await store.put("1", at: "known")
            try await store.put("2", at: "known")
            #expect(files.count("rewrite") == 1)
            files.fail("synchronizeFile", with: EIO)
            await #expect(throws: BackendError.self) { try await store.synchronize() }
            files.fail("synchronizeFile", with: nil)
            #expect(try await store.synchronize() == .durable)
            #expect(files.count("rewrite") == 2)
            try await store.put("3", at: "known")
            #expect(files.count("rewrite") == 2)
            await other.close()
        }

        @Test func `concurrent calls of synchronize share one flush`() async throws {
            try await place.store().put("0", at: "known")
            let files = HookedFiles()
            let store = place.store(runtime: .live(files: files, clock: clock, lane: lanes))
            #expect(try await store.text("known") == "0")
            let (before, scheduled) = (files.locks("state/lock"), clock.scheduled)
            lanes.hold()
            var tasks: [Task<StorageDurability, any Error>] = []
            for number in 0..<10 {
                tasks.append(Task { try await store.synchronize() })
                await clock.untilScheduled(scheduled + number + 1)
            }
            lanes.release()
            for task in tasks { #expect(try await task.value == .durable) }
            #expect(files.locks("state/lock") - before == 1)
            // Opening the writing connection flushes the folder too. It is opened once.
            #expect(files.count("synchronizeDirectory") <= 2)
        }

        private func revision(of name: String, _ store: SQLiteStore) async throws -> StorageRevision {
            try #require(try await store.read(StorageAddress(name), .fresh).revision)
        }

        /// Overwrites the first page of a table.
        private func damagePage(of table: String) throws {
            let database = try PlainDatabase(path: place.path)
            let root = try #require(try database.value("SELECT rootpage FROM sqlite_schema WHERE name = ?", [table])?.integer)
            let file = try FileHandle(forUpdating: URL(filePath: place.path))
            defer { try? file.close() }
            try file.seek(toOffset: UInt64(root - 1) * 4_096)
            try file.write(contentsOf: Data(repeating: 0xFF, count: 4_096))
        }
    }
#endif

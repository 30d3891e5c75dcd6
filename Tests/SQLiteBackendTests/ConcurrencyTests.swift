#if SQLite
    import BackendContract
    import BackendRuntime
    import Foundation
    import SQLiteBackend
    import Sealing
    import Synchronization
    import TestSupport
    import Testing

    /// Tests of many concurrent callers in one process.
    @Suite(.inTurn) struct ConcurrencyTests {
        // MARK: Linearizability

        @Test(.slow("a search for an order of many calls"), .timeLimit(.minutes(10)))
        func `one order explains the results of concurrent calls through two stores of one file`() async throws {
            var calls = 0
            for seed in 0..<UInt64(6) { calls += try await race(seed) }
            print("linearizable: 6 seeds, \(calls) calls")
        }

        private func race(_ seed: UInt64) async throws -> Int {
            let place = try Place()
            let stores = [place.store(), place.store()]
            let recorder = HistoryRecorder()
            var generator = SeededGenerator(seed)
            // The checker accepts at most 64 calls per name.
            let tasks = (0..<300).map { (name: "name \($0 % 6)", kind: Int.random(in: 0..<8, using: &generator)) }.shuffled(
                using: &generator)
            let queue = Shared(Array(tasks.enumerated()))
            await withTaskGroup { group in
                for caller in 0..<16 {
                    group.addTask {
                        while let (number, task) = queue.value.withLock({ $0.popLast() }) {
                            await call(task.kind, stores[(caller + number) % 2], task.name, "\(number)", recorder)
                        }
                    }
                }
            }
            for store in stores {
                for number in 0..<6 {
                    let begin = recorder.tick()
                    recorder.add("name \(number)", .read(try await store.text("name \(number)")), begin, recorder.tick())
                }
            }
            var count = 0
            for (name, history) in recorder.histories {
                count += history.calls.count
                #expect(history.isLinearizable(from: nil), "seed \(seed), \(name): \(history.calls)")
            }
            for store in stores { await store.close() }
            try await place.check("seed \(seed)")
            return count
        }

        private func call(_ kind: Int, _ store: SQLiteStore, _ name: String, _ text: String, _ recorder: HistoryRecorder) async {
            let address = StorageAddress(name)
            do throws(BackendError) {
                var begin = recorder.tick()
                switch kind {
                case 0, 1:
                    let result = try await store.apply(.text(text, at: name))
                    if result.isApplied { recorder.add(name, .write(text), begin, recorder.tick()) } else { Issue.record("\(result)") }
                case 2:
                    let result = try await store.apply(.delete(address))
                    if result.isApplied { recorder.add(name, .write(nil), begin, recorder.tick()) } else { Issue.record("\(result)") }
                case 3, 4, 5:
                    let seen = try await store.read(address)
                    let condition = seen.revision.map(StorageMutation.Precondition.revision) ?? .absent
                    begin = recorder.tick()
                    switch try await store.apply(.text(text, at: name, if: condition)) {
                    case .applied: recorder.add(name, .swap(seen.text, text), begin, recorder.tick())
                    case .conflict(let probe): recorder.add(name, .read(probe.text), begin, recorder.tick())
                    case let other: Issue.record("\(other)")
                    }
                default:
                    let probe = try await store.read(address)
                    if probe == .absent || probe.text != nil {
                        recorder.add(name, .read(probe.text), begin, recorder.tick())
                    } else {
                        Issue.record("\(probe)")
                    }
                }
            } catch { Issue.record("\(error)") }
        }

        // MARK: Closing

        @Test(.timeLimit(.minutes(10))) func `closing during reads, changes and lists loses no change and makes no value absent`()
            async throws
        {
            let place = try Place()
            let store = place.store()
            try await store.put("stays", at: "fixed")
            let rounds = 60
            let isOver = Shared(false)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    defer { isOver.value.withLock { $0 = true } }
                    for _ in 0..<rounds {
                        async let one: Void = store.close()
                        async let other: Void = store.close()
                        _ = await (one, other)
                        for _ in 0..<20 { await Task.yield() }
                    }
                }
                for caller in 0..<4 {
                    group.addTask {
                        var number = 0
                        while !isOver.value.withLock(\.self) {
                            try await store.put("\(number)", at: "caller \(caller)")
                            #expect(try await store.text("caller \(caller)") == "\(number)")
                            number += 1
                        }
                        #expect(number > 0)
                    }
                }
                for _ in 0..<2 {
                    group.addTask {
                        while !isOver.value.withLock(\.self) {
                            let probe = try await store.read(StorageAddress("fixed"))
                            #expect(probe.text == "stays", "\(probe)")
                            // A read does not suspend.
                            // Without this yield, the two readers would keep the threads of the pool.
                            await Task.yield()
                        }
                    }
                }
                group.addTask {
                    while !isOver.value.withLock(\.self) {
                        let names = try await store.addresses(in: .values)
                        #expect(Set(names).isSuperset(of: [StorageAddress("fixed")]))
                    }
                }
                try await group.waitForAll()
            }
            await store.close()
            #expect(try await place.check() == 5)
        }

        // MARK: Cancellation

        @Test(.timeLimit(.minutes(10))) func `a cancelled change reports correctly whether it may have been applied`() async throws {
            let place = try Place()
            let store = place.store()
            try await store.put("v", at: "name")
            var counts: [String: Int] = [:]
            for number in 0..<300 {
                let task = Task {
                    do throws(BackendError) {
                        return try await store.apply([.text("x", at: "a\(number)"), .text("x", at: "b\(number)")]).allSatisfy(\.isApplied)
                            ? "applied" : "refused"
                    } catch { return "\(error.code) \(error.outcome.rawValue)" }
                }
                for _ in 0..<(number % 40) { await Task.yield() }
                task.cancel()
                let outcome = await task.value
                counts[outcome, default: 0] += 1
                // A change that is still running has ended when a later change ends.
                try await store.put("v\(number)", at: "name")
                let texts = try await store.read([StorageAddress("a\(number)"), StorageAddress("b\(number)")], .fresh).map(\.text)
                #expect(texts[0] == texts[1])
                switch outcome {
                case "applied": #expect(texts[0] == "x")
                case "cancelled notApplied": #expect(texts[0] == nil)
                case "cancelled unknown": break
                default: Issue.record("\(outcome)")
                }
            }
            #expect(counts["cancelled notApplied"] ?? 0 > 0)
            print("cancelled changes: \(counts)")
            await store.close()
            try await place.check()
        }

        // MARK: Groups

        @Test(.timeLimit(.minutes(10))) func `calls of one group see earlier calls, and a refused call does not fail the others`()
            async throws
        {
            let place = try Place()
            let clock = ManualClock()
            let lanes = TestLane()
            let store = place.store(runtime: .live(clock: clock, lane: lanes))
            try await store.put("0", at: "known")
            let known = try await store.read(StorageAddress("known"))
            let revision = try #require(known.revision)

            lanes.hold()
            var scheduled = clock.scheduled
            func submit(_ mutations: [StorageMutation]) async -> Task<[MutationResult], any Error> {
                let task = Task { try await store.apply(mutations) }
                scheduled += 1
                await clock.untilScheduled(scheduled)
                return task
            }
            let calls = [
                await submit([.text("first", at: "new", if: .absent)]),
                await submit([.text("second", at: "new", if: .absent)]),
                await submit([.text("1", at: "known", if: .revision(revision)), .text("x", at: "beside")]),
                // A batch with a second change whose precondition no longer holds,
                // because the previous call changed "known".
                await submit([.text("never", at: "batch"), .text("2", at: "known", if: .revision(revision))]),
                await submit([.delete(StorageAddress("beside"))]),
                await submit([.text("y", at: "beside", if: .absent)]),
            ]
            let held = lanes.held
            lanes.release()
            var results: [[MutationResult]] = []
            for call in calls { results.append(try await call.value) }
            // The lane ran all calls as one piece of work.
            #expect(held == 1)
            #expect(results[0][0].isApplied)
            guard case .conflict(.value(let record)) = results[1][0], record.payload == .bytes(Array("first".utf8)) else {
                Issue.record("\(results[1])")
                return
            }
            #expect(results[2].map { $0.isApplied } == [true, true])
            guard case .conflict(.value) = results[3][1], results[3][0] == .notAttempted else {
                Issue.record("\(results[3])")
                return
            }
            #expect(results[4][0].isApplied && results[5][0].isApplied)
            let texts = try await place.store().read(["new", "known", "batch", "beside"].map { StorageAddress($0) }, .fresh).map(\.text)
            #expect(texts == ["first", "1", nil, "y"])
        }

        @Test(.timeLimit(.minutes(10)))
        func `programs with different lock folders write one database without failures or lost writes`()
            async throws
        {
            let place = try Place()
            let stores = ["one", "two"].map { place.store(lockPath: "\(place.folder)/\($0)/lock") }
            try await withThrowingTaskGroup { group in
                for (number, store) in stores.enumerated() {
                    group.addTask {
                        for write in 0..<100 {
                            let result = try await store.apply([.text("x", at: "\(number).\(write)")])[0]
                            #expect(result.isApplied, "\(number).\(write): \(result)")
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await place.store().addresses(in: .values).count == 200)
        }

        @Test(.timeLimit(.minutes(10))) func `the lock file next to the database excludes programs with another lock folder`() async throws
        {
            let place = try Place()
            _ = try await place.store().apply([.text("1", at: "a")])
            let lock = try PosixFileSystem().lock(place.path + "-lock") { true }
            let impatient = place.store(lockPath: place.folder + "/other/lock", deadline: .seconds(1))
            let error = await #expect(throws: BackendError.self) { try await impatient.apply([.text("2", at: "a")]) }
            #expect(error?.code == .timedOut && error?.outcome == .notApplied)
            lock.release()
            let other = place.store(lockPath: place.folder + "/other/lock")
            #expect(try await other.apply([.text("2", at: "a")])[0].isApplied)
        }

        @Test(.timeLimit(.minutes(10))) func `a batch is visible as a whole or not at all`() async throws {
            let place = try Place()
            let (store, other) = (place.store(), place.store())
            let names = (0..<8).map { "part \($0)" }
            _ = try await store.apply(names.map { .text("0", at: $0) })
            try await withThrowingTaskGroup(of: Void.self) { group in
                for writer in 0..<3 {
                    group.addTask {
                        for number in 0..<40 {
                            let results = try await (writer == 0 ? other : store).apply(names.map { .text("\(writer).\(number)", at: $0) })
                            #expect(results.map { $0.isApplied } == names.map { _ in true })
                        }
                    }
                }
                group.addTask {
                    for _ in 0..<60 {
                        // One transaction reads the list, so all names belong to one state.
                        let listed = try await other.addresses(in: .values)
                        #expect(listed.count == names.count)
                        await Task.yield()
                    }
                }
                try await group.waitForAll()
            }
            let texts = Set(try await store.read(names.map { StorageAddress($0) }, .fresh).map(\.text))
            #expect(texts.count == 1)
            await store.close()
            await other.close()
            #expect(try await place.check() == names.count)
        }
    }
#endif

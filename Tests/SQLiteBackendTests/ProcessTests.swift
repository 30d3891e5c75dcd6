#if SQLite
    import BackendContract
    import BackendRuntime
    import Foundation
    import SQLiteBackend
    import TestSupport
    import Testing

    /// Tests of two processes that use one database.
    @Suite(.inTurn, .serialized, .slow("several processes write for seconds"), .tags(.process)) struct ProcessTests {
        // MARK: Reads do not wait

        /// Returns the durations of single reads in microseconds, in ascending order.
        private func gets(_ store: SQLiteStore, _ count: Int) async throws -> [Double] {
            var times: [Double] = []
            for number in 0..<count {
                let begin = ContinuousClock.now
                let text = try await store.text("name \(number % 20)")
                times.append((ContinuousClock.now - begin) / .microseconds(1))
                #expect(text == "value \(number % 20)")
            }
            return times.sorted()
        }

        private func percentile(_ times: [Double], _ part: Double) -> Double {
            times[min(times.count - 1, Int(Double(times.count) * part))]
        }

        private func describe(_ times: [Double]) -> String {
            "p50 \(Int(percentile(times, 0.5))) µs, p99 \(Int(percentile(times, 0.99))) µs, worst \(Int(times.last ?? 0)) µs"
        }

        @Test(.timeLimit(.minutes(10))) func `reads never wait for a process that writes all the time or holds a transaction`()
            async throws
        {
            let place = try Place()
            // A read that waited for the held transaction would fail at the deadline, because the transaction ends only after
            // the reads.
            let store = place.store()
            for number in 0..<20 { try await store.put("value \(number)", at: "name \(number)") }
            let alone = try await gets(store, 2_000)

            let writer = try place.probe("churn")
            #expect(try await writer.line() == "writing")
            // Read until the writer has stored a number of values, however fast the reads are.
            var during: [Double] = []
            repeat { during += try await gets(store, 500) } while try await store.text("churn 0 20") == nil
            during.sort()
            let wrote = await writer.end().lines.last ?? ""

            let holder = try place.probe("hold-transaction")
            #expect(try await holder.line().hasPrefix("holding"))
            let held = try await gets(store, 2_000)
            #expect(try await holder.ask("go").hasPrefix("released"))
            _ = await holder.end()
            print(
                "gets alone: \(describe(alone)); beside a writer (\(wrote)): \(describe(during)); in a held transaction: \(describe(held))")
            await store.close()
        }

        // MARK: Writes have an order

        @Test(.timeLimit(.minutes(10))) func `no increment of three processes is lost`() async throws {
            let place = try Place()
            let rounds = 150
            let probes = [try place.probe("count", ["counter", "\(rounds)"]), try place.probe("count", ["counter", "\(rounds)"])]
            let store = place.store()
            var (done, conflicts) = (0, 0)
            while done < rounds {
                let probe = try await store.read(StorageAddress("counter"))
                let number = probe.text.flatMap { Int($0) } ?? 0
                let condition = probe.revision.map(StorageMutation.Precondition.revision) ?? .absent
                switch try await store.apply(.text("\(number + 1)", at: "counter", if: condition)) {
                case .applied: done += 1
                case .conflict: conflicts += 1
                case let other: Issue.record("\(other)")
                }
            }
            for probe in probes {
                let ended = await probe.end()
                #expect(ended.status == 0 && ended.lines.last?.hasPrefix("won=\(rounds) ") == true, "\(ended)")
            }
            #expect(try await store.text("counter") == "\(3 * rounds)")
            print("three writers, \(3 * rounds) increments, \(conflicts) conflicts seen by one of them")
            await store.close()
            #expect(try await place.check() == 1)
        }

        @Test(.timeLimit(.minutes(10))) func `the next read sees a change that another process reported as applied`() async throws {
            let place = try Place()
            let store = place.store()
            let probe = try place.probe("echo")
            #expect(try await probe.line() == "ready")
            for number in 0..<300 {
                try await store.put("\(number)", at: "ball")
                #expect(try await probe.ask("get ball") == "\(number)")
                #expect(try await probe.ask("put ball back\(number)") == "applied")
                #expect(try await store.text("ball") == "back\(number)")
                if number % 3 == 0 {
                    #expect(try await probe.ask("delete ball") == "applied")
                    #expect(try await store.read(StorageAddress("ball")) == .absent)
                    #expect(try await store.addresses(in: .values) == [])
                }
                // Closing the database in either process makes no difference. The next call opens it again.
                if number % 50 == 7 { await store.close() }
                if number % 50 == 9 { #expect(try await probe.ask("close") == "closed") }
            }
            await store.close()
            _ = await probe.end()
            #expect(try await place.check() == 1)
        }

        // MARK: Notifications

        @Test(.timeLimit(.minutes(10)))
        func `observers of a store are notified of commits of other processes, and not of commits of that store`() async throws {
            let place = try Place()
            let store = place.store()
            try await store.put("v", at: "name")
            let changes = store.foreignChanges()
            let noticed = Gate(isOpen: true)
            let listening = Task { for await _ in changes { await noticed.pass() } }
            let probe = try place.probe("echo")
            #expect(try await probe.line() == "ready")
            // The watch is running once it has reported a change.
            let first = Task {
                for number in 0... {
                    if Task.isCancelled { return }
                    let answer = try await probe.ask("put name begin\(number)")
                    #expect(answer == "applied")
                }
            }
            await noticed.arrived(1)
            first.cancel()
            try await first.value

            for number in 0..<60 { try await store.put("own \(number)", at: "name") }
            #expect(try await store.apply(.delete(StorageAddress("name"))).isApplied)
            // Changes are reported in order: after the report of this one, no earlier report is pending.
            let before = noticed.arrivals
            #expect(try await probe.ask("put name foreign") == "applied")
            await noticed.arrived(before + 1)
            // A few of the first changes may be reported late.
            #expect(noticed.arrivals <= before + 2 && before <= 10, "\(before), \(noticed.arrivals)")
            listening.cancel()
            _ = await probe.end()
            await store.close()
        }

        // MARK: A lock that is not released

        @Test(.timeLimit(.minutes(10)), arguments: ["hold-transaction", "hold-lock"])
        func `changes time out and are not applied while another process holds the lock or a transaction`(command: String) async throws {
            let place = try Place()
            let before = place.store()
            try await before.put("v", at: "name")
            let holder = try place.probe(command)
            #expect(try await holder.line().hasPrefix("holding"))
            let impatient = place.store(deadline: .milliseconds(700))
            let begin = ContinuousClock.now
            var failures: [BackendError?] = []
            await withTaskGroup(of: BackendError?.self) { group in
                for number in 0..<4 {
                    group.addTask {
                        do throws(BackendError) {
                            return try await impatient.apply(.text("w", at: number == 0 ? "name" : "new \(number)")).error
                        } catch { return error }
                    }
                }
                for await failure in group { failures.append(failure) }
            }
            let waited = ContinuousClock.now - begin
            #expect(failures.map(\.?.code) == Array(repeating: .timedOut, count: 4), "\(failures)")
            #expect(failures.allSatisfy { $0?.outcome == .notApplied }, "\(failures)")
            // The other process still holds the lock or transaction. The callers return because of their deadline.
            #expect(waited >= .milliseconds(600), "\(waited)")
            await impatient.close()
            // Reads still work.
            let store = place.store()
            #expect(try await store.text("name") == "v")
            #expect(try await store.addresses(in: .values) == [StorageAddress("name")])
            #expect(try await holder.ask("go").hasPrefix("released"))
            _ = await holder.end()
            #expect(try await store.text("name") == "v")
            #expect(try await before.addresses(in: .values) == [StorageAddress("name")])
            try await store.put("w", at: "name")
            #expect(try await before.text("name") == "w")
            await store.close()
            await before.close()
            #expect(try await place.check() == 1)
        }

        // MARK: The log

        @Test(.timeLimit(.minutes(10)))
        func `a long read in another process makes no removal fail and delays no change, and the log is emptied after the read ends`()
            async throws
        {
            let place = try Place()
            // Only waiting advances this clock.
            let clock = ManualClock(.inRealTime)
            var runtime = Runtime.live
            runtime.clock = clock
            let store = place.store(runtime: runtime)
            for number in 0..<10 { try await store.put("value \(number)", at: "name \(number)") }
            let reader = try place.probe("hold-reader")
            #expect(try await reader.line() == "holding 10")
            #expect(try await store.apply(.delete(StorageAddress("name 0"))).isApplied)
            #expect(try await store.read(StorageAddress("name 0")) == .absent)
            #expect(place.logLength > 0)
            // The removal has already waited for the reader, for a quarter of a second at most.
            // The changes do not wait again.
            let begin = clock.now
            for number in 0..<20 { try await store.put("later", at: "later \(number)") }
            #expect(clock.now == begin)
            #expect(try await reader.ask("go") == "released 10")
            // The next change empties the log.
            try await store.put("last", at: "name 1")
            #expect(place.logLength == 0)
            _ = await reader.end()
            await store.close()
            #expect(try await place.check() == 29)
        }

        @Test(.timeLimit(.minutes(10))) func `the log does not grow without limit`() async throws {
            let place = try Place()
            let store = place.store()
            let (tasks, each) = (100, 200)
            let longest = try await withThrowingTaskGroup(of: Int.self) { group in
                for task in 0..<tasks {
                    group.addTask {
                        var longest = 0
                        for number in 0..<each {
                            try await store.put(
                                "value \(number) \(String(repeating: ".", count: task * 5))",
                                at: "name \((task * each + number * 7) % 5_000)")
                            if task % 10 == 0 { longest = max(longest, place.logLength) }
                        }
                        return longest
                    }
                }
                return try await group.reduce(0) { max($0, $1) }
            }
            print("\(tasks * each) puts: the log was \(longest / 1024) KiB long at most")
            #expect(longest > 1 << 20 && longest < 16 << 20)
            await store.close()
            #expect(place.logLength == 0)
            try await place.check()
        }
    }
#endif

#if SQLite
    import BackendContract
    import BackendRuntime
    import Foundation
    import Glibc
    import LocalData
    import Synchronization
    import TestSupport
    import Testing

    /// Sweeps, which move the legacy values of all keys of a catalog, from a property list into a database.
    ///
    /// The sweeps run in one process, in two processes, and in processes that are killed.
    @Suite(.inTurn, .serialized, .slow("sweeps thousands of keys and kills processes"), .tags(.process)) struct DatabaseSweepTests {
        static let many = StorageDomain.encryptedSQLite(database: "many")

        func legacy(_ index: Int) -> StorageKey<String> { textKey("old-\(index)", .userDefaults(suite: "legacy"), .none) }

        func key(_ index: Int) -> StorageKey<String> { textKey("key-\(index)", Self.many).moved(from: legacy(index)) }

        func seed(_ stage: Stage, _ count: Int) throws {
            try stage.writePropertyList(Dictionary(uniqueKeysWithValues: (0..<count).map { ("old-\($0)", "value \($0)") }), suite: "legacy")
        }

        /// Reads the legacy property list, and the database with a new router. Checks each value.
        /// - Returns: The numbers of the values in the list and in the database.
        func inventory(_ stage: Stage) async throws -> (old: Set<Int>, new: Set<Int>) {
            var old: Set<Int> = []
            for (name, value) in try stage.propertyList(suite: "legacy") {
                let number = try #require(Int(name.dropFirst(4)))
                #expect(value as? String == "value \(number)")
                old.insert(number)
            }
            let router = stage.launch()
            var new: Set<Int> = []
            for name in try await router.names(of: Self.many) {
                let number = try #require(Int(name.dropFirst(4)))
                #expect(try await router.get(textKey(name, Self.many)) == "value \(number)")
                #expect(new.insert(number).inserted)
            }
            try await router.shutdown()
            return (old, new)
        }

        @Test
        func `a sweep of 2,000 keys into a database loses no value, reports progress, and commits several keys together`() async throws {
            let count = 2_000
            let stage = try Stage()
            try seed(stage, count)
            let files = HookedFiles()
            let router = stage.launch { $0.runtime.files = files }
            try await router.registerCatalog(TestCatalog((0..<count).map { .key(key($0)) }))
            let progress = Mutex<[Int]>([])
            let report = await router.sweep { step in progress.withLock { $0.append(step.finished) } }
            try report.requireComplete()
            #expect(report.rows.count == count && report.rows.allSatisfy { $0.state == .moved })
            #expect(progress.withLock(\.self) == Array(1...count))
            // Each commit takes the lock of the database at least once, so there are at most as many commits as locks.
            // Fewer locks than keys mean that some commits contain several keys.
            // How many keys a commit contains depends on the load of the machine.
            let (locks, rewrites) = (files.locks("/sqlite-"), files.count("rename", "legacy.plist"))
            #expect(locks > 0 && locks < count, "\(locks) locks for \(count) keys")
            #expect(rewrites > 0 && rewrites < count, "\(rewrites) rewrites of the property list for \(count) keys")

            let again = await router.sweep()
            #expect(again.rows.count == count && again.rows.allSatisfy { $0.state == .unchanged })
            #expect(files.count("rename", "legacy.plist") == rewrites)
            try await router.shutdown()
            let (old, new) = try await inventory(stage)
            #expect(old.isEmpty)
            #expect(new == Set(0..<count))
            print(
                "swept into a database: \(count) keys, \(Int(Double(count) / (report.duration / .seconds(1)))) keys/s, \(locks) locks of the database, \(rewrites) rewrites of the property list"
            )
        }

        @Test func `two processes that sweep one catalog into one database move every value once`() async throws {
            // More than one page: each process begins at another end.
            let count = 3_100
            var shares: [[Int]] = []
            // On a busy machine, one process may finish before the other begins.
            // Repeat until there are two rounds in which each process moved values, at most 12 times.
            for round in 0..<12 where shares.count(where: { !$0.contains(0) }) < 2 {
                let stage = try Stage()
                try seed(stage, count)
                let workers = [try stage.worker(), try stage.worker()]
                #expect(try await workers[0].run("register", "\(count)", "database") == "done")
                #expect(try await workers[1].run("register", "\(count)", "database", "reversed") == "done")
                async let first = workers[0].ask(untilAnswer: "sweep")
                async let second = workers[1].ask(untilAnswer: "sweep")
                let answers = try await [first, second]
                #expect(answers.allSatisfy { $0.hasPrefix("moved") }, "round \(round): \(answers)")
                let moved = answers.map { Int($0.split(separator: " ").last ?? "") ?? 0 }
                #expect(moved.reduce(0, +) == count, "round \(round): \(answers)")
                let (old, new) = try await inventory(stage)
                #expect(old.isEmpty, "round \(round)")
                #expect(new == Set(0..<count), "round \(round)")
                shares.append(moved)
            }
            #expect(shares.contains { !$0.contains(0) }, "\(shares)")
            print("two processes swept \(count) values into one database: \(shares)")
        }

        @Test func `killing a process during a sweep loses no value, and the next sweep moves the rest`() async throws {
            let (rounds, count) = (2, 3_100)
            var landed = 0
            for round in 0..<rounds {
                let stage = try Stage()
                try seed(stage, count)
                let worker = try stage.worker()
                #expect(try await worker.run("register", "\(count)", "database") == "done")
                try await worker.kill(during: "sweep", after: 1 + (round * 97) % 500)
                let (old, new) = try await inventory(stage)
                #expect(old.union(new) == Set(0..<count), "round \(round): lost \(Set(0..<count).subtracting(old).subtracting(new).count)")
                if !old.isEmpty && !new.isEmpty { landed += 1 }
                let next = try stage.worker()
                #expect(try await next.run("register", "\(count)", "database") == "done")
                let answer = try await next.ask(untilAnswer: "sweep")
                #expect(answer.hasPrefix("moved"), "\(answer)")
                let (rest, all) = try await inventory(stage)
                #expect(rest.isEmpty, "round \(round)")
                #expect(all == Set(0..<count), "round \(round)")
            }
            #expect(landed == rounds)
            print(
                "kill -9 during a sweep into a database, \(rounds) rounds of \(count) keys; \(landed) landed with a key moved and a key pending"
            )
        }

        @Test func `killing a process that writes batches leaves each batch complete or absent`() async throws {
            let (rounds, count) = (6, 40)
            let stage = try Stage()
            var seen: [String] = []
            for round in 0..<rounds {
                let worker = try stage.worker()
                try await worker.kill(during: "batches \(count)", after: 3 + round * 7)
                let router = stage.launch()
                var values: Set<String> = []
                for index in 0..<count { values.insert(try await router.get(textKey("\(index)", .encryptedSQLite(database: "batches")))) }
                try await router.shutdown()
                #expect(values.count == 1, "round \(round): \(values)")
                // The batches that were acknowledged before the kill are in the database.
                #expect(try #require(Int(values.first ?? "")) >= 3 + round * 7)
                seen += values
            }
            print("kill -9 during batches of \(count) keys, \(rounds) rounds: at the batches \(seen)")
        }

        @Test func `a value that is removed during a sweep never returns`() async throws {
            let (stage, count) = (try Stage(), 300)
            try seed(stage, count)
            let (router, other) = (stage.launch(), stage.launch())
            let catalog = TestCatalog((0..<count).map { .key(key($0)) })
            let begun = Gate()
            async let report = router.sweep(catalog) { _ in begun.open() }
            await begun.pass()
            var removed: Set<Int> = []
            for index in stride(from: count - 1, through: 0, by: -3) {
                // The router that sweeps makes every second removal. Another router on the same files makes the other removals.
                do {
                    try await (index.isMultiple(of: 2) ? router : other).remove(key(index))
                    removed.insert(index)
                } catch let error as StorageError where error.outcome == .applied {
                    removed.insert(index)
                }
            }
            #expect(await report.failed.isEmpty)
            #expect(removed.count == count / 3)
            for router in [router, stage.launch()] {
                for index in 0..<count {
                    #expect(try await router.value(for: key(index)) == (removed.contains(index) ? nil : "value \(index)"))
                }
            }
            try await router.sweep(catalog).requireComplete()
            #expect(await router.sweep(catalog).moved.isEmpty)
            try await router.shutdown()
            try await other.shutdown()
            let (old, new) = try await inventory(stage)
            #expect(old.isEmpty)
            #expect(new == Set(0..<count).subtracting(removed))
        }
    }
#endif

#if SQLite && os(Linux)
    import BackendContract
    import BackendRuntime
    import Foundation
    import TestSupport
    import Testing

    @testable import LocalData

    /// Routers that are shut down, or released without `shutdown`: they leave no open file, no thread and no key.
    @Suite(.slow("goes through real files many times"), .alone) struct ReleaseTests {
        /// A weak reference to an object of a router, which the test must not keep alive.
        private struct Part {
            let name: String
            weak var object: AnyObject?
        }

        private let list = textKey("a", .userDefaults(suite: "list"))
        private let row = textKey("a", .encryptedSQLite(database: "main"))
        private let sealed = textKey("b", .userDefaults(suite: "list"), .encrypted)

        /// Uses a property list, a database with a key file, a sealed value, and a sequence of values that is dropped.
        private func use(_ router: StorageRouter, _ number: Int) async throws {
            try await router.registerCatalog(TestCatalog(.key(list), .key(row), .key(sealed)))
            try await router.set("list \(number)", for: list)
            try await router.set("row \(number)", for: row)
            try await router.set("sealed \(number)", for: sealed)
            #expect(try await router.get(row) == "row \(number)")
            var values = router.values(for: list).makeAsyncIterator()
            #expect(try await values.next() == "list \(number)")
        }

        @Test func `a shutdown reports a store that does not close, and succeeds after it has closed`() async throws {
            let stage = try Stage()
            let (lane, clock) = (TestLane(), ManualClock())
            let router = stage.launch {
                $0.runtime.makeLane = { label in label.hasPrefix("sqlite") ? lane.named(label) : Runtime.live.makeLane(label) }
                $0.runtime.clock = clock
            }
            try await router.set("row", for: row)
            lane.hold()
            let error = await #expect(throws: StorageError.self) { try await clock.passing { try await router.shutdown() } }
            #expect(error?.code == StorageError.timedOut)
            #expect(error?.outcome == .applied)
            lane.release()
            try await router.shutdown()
            #expect(try await stage.launch().get(row) == "row")
        }

        @Test func `a shutdown completes the running calls, and later calls are refused`() async throws {
            for round in 0..<20 {
                let stage = try Stage()
                let router = stage.launch()
                let key = row
                let writers = (0..<4).map { writer in
                    Task {
                        var last = -1
                        do {
                            for number in 0... {
                                try await router.set("\(number)", for: textKey("writer \(writer)", key.domain))
                                last = number
                                _ = try await router.value(for: textKey("writer \(writer)", key.domain))
                            }
                        } catch { return (last, error) }
                        return (last, CancellationError() as any Error)
                    }
                }
                try await router.set("row", for: row)
                try await Task.sleep(for: .milliseconds(round))
                try await router.shutdown()
                let next = stage.launch()
                for (writer, task) in writers.enumerated() {
                    let (last, error) = await task.value
                    #expect((error as? StorageError)?.code == .shutDown, "\(error)")
                    let found = try await next.value(for: textKey("writer \(writer)", key.domain)).flatMap { Int($0) } ?? -1
                    #expect(found == last, "round \(round)")
                }
                await expectRefusal(.shutDown) { _ = try await router.get(key) }
                await expectRefusal(.shutDown) { try await router.set("later", for: key) }
                #expect(!router.slots.routes.opened.contains { ($0 as? any ReluctantBackend)?.hasOpenFiles == true })
                try await router.shutdown()
                try await next.shutdown()
            }
        }

        private func parts(of router: StorageRouter) -> [Part] {
            let stores = router.slots.routes.opened.map { Part(name: "\($0.identity)", object: $0 as AnyObject) }
            return stores + [
                Part(name: "router", object: router), Part(name: "slots", object: router.slots),
                Part(name: "history", object: router.history), Part(name: "wiring", object: router.stores),
                Part(name: "routes", object: router.slots.routes), Part(name: "ledger", object: router.history.ledger),
                Part(name: "quarantine", object: router.history.quarantine), Part(name: "registry", object: router.history.registry),
                Part(name: "sealing keys", object: router.coder.seals.keys),
            ]
        }

        private func useAndRelease(_ stage: Stage, _ number: Int) async throws -> [Part] {
            let router = stage.launch()
            try await use(router, number)
            return parts(of: router)
        }

        /// Waits up to four minutes until a condition holds, because the system ends threads some seconds after their work.
        private func wait(_ isReached: () async throws -> Bool) async throws {
            let clock = ContinuousClock()
            let limit = clock.now.advanced(by: .seconds(240))
            while try await !isReached(), clock.now < limit { try await Task.sleep(for: .milliseconds(50)) }
        }

        /// Runs in a separate process, because other tests keep files open and old register contents on the stacks of
        /// their threads.
        @Test(.timeLimit(.minutes(10)))
        func `50 routers released without shutdown close their files, end their threads and wipe their keys`() async throws {
            await #expect(processExitsWith: .success) { try await ReleaseTests().useAndReleaseAll() }
        }

        private func useAndReleaseAll() async throws {
            let stage = try Stage()
            _ = try await useAndRelease(stage, 0)
            let needles = try ProcessMemory.Needle.halves(ofKeyFile: stage.root.path + "/data/sealing-key")
            #expect(needles.count == 2)

            // The baseline: everything was used at least once, and a router still holds the key.
            var last: StorageRouter? = stage.launch()
            try await use(try #require(last), 1)
            #expect(try ProcessMemory.occurrences(of: needles) > 0, "the search does not find a key that is in use")
            try await last?.shutdown()
            last = nil
            let (descriptors, threads) = (ProcessMemory.descriptors, ProcessMemory.threads)

            var released: [Part] = []
            for number in 2..<52 { released += try await useAndRelease(stage, number) }
            func alive() -> [String] { released.compactMap { $0.object == nil ? nil : $0.name } }
            try await wait { alive().isEmpty && ProcessMemory.descriptors <= descriptors && ProcessMemory.threads <= threads }
            #expect(alive().isEmpty, "still there: \(Set(alive()))")
            if ProcessMemory.descriptors > descriptors {
                // An exit test does not show the messages of its expectations, so print the files.
                print("still open: \(ProcessMemory.openFiles)")
            }
            #expect(ProcessMemory.descriptors <= descriptors)
            #expect(ProcessMemory.threads <= threads)
            try await wait {
                await ProcessMemory.useStacks()
                return try ProcessMemory.occurrences(of: needles) == 0
            }
            #expect(try ProcessMemory.occurrences(of: needles) == 0, "the key is still in memory")
            #expect(try await stage.launch().get(row) == "row 51")
        }
    }
#endif

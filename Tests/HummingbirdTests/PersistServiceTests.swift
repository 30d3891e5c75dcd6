#if Hummingbird && ServiceLifecycle
    import Hummingbird
    import LocalData
    import LocalDataHummingbird
    import ServiceLifecycle
    import ServiceLifecycleTestKit
    import TestSupport
    import Testing

    /// A persist driver as a service: it purges expired values until the shutdown.
    @Suite("Persist driver: service", .inTurn)
    struct PersistServiceTests {
        private static func driver(_ bench: PersistBench, _ storage: StorageRouter? = nil) -> StoragePersistDriver {
            StoragePersistDriver(storage ?? bench.launch(), domain: bench.domain, tidyInterval: .seconds(3_600))
        }

        @Test("expired values are purged at each interval, until a graceful shutdown", arguments: PersistStore.allCases)
        func interval(store: PersistStore) async throws {
            try await PersistBench.with(store) { bench in
                let driver = Self.driver(bench)
                try await driver.set(key: "minute", value: "a", expires: .seconds(60))
                try await driver.set(key: "day", value: "b", expires: .seconds(86_400))
                try await driver.set(key: "kept", value: "c")
                try await testGracefulShutdown { trigger in
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        group.addTask { try await driver.run() }
                        var timers = bench.clock.timers.makeAsyncIterator()
                        let first = try #require(await timers.next())
                        bench.clock.advance(by: .seconds(3_600))
                        #expect(try await bench.storedNames().count == 3)
                        first.fire()
                        // The next timer is set when the purge is complete.
                        let second = try #require(await timers.next())
                        #expect(try await bench.storedNames().count == 2)
                        bench.clock.advance(by: .seconds(86_400))
                        second.fire()
                        let third = try #require(await timers.next())
                        #expect(try await bench.storedNames().count == 1)
                        trigger.triggerGracefulShutdown()
                        try await group.waitForAll()
                        #expect(third.isCancelled)
                    }
                }
                #expect(try await driver.get(key: "kept", as: String.self) == "c")
            }
        }

        @Test("a locked store does not end the service, and is tidied after it is unlocked")
        func locked() async throws {
            try await PersistBench.with(.databaseInMemory) { bench in
                let storage = bench.launch()
                let driver = Self.driver(bench, storage)
                try await driver.set(key: "a", value: "old", expires: .seconds(60))
                bench.clock.advance(by: .seconds(60))
                let work = Task { try await driver.run() }
                var timers = bench.clock.timers.makeAsyncIterator()
                let first = try #require(await timers.next())
                try await storage.lock()
                first.fire()
                let second = try #require(await timers.next())
                try await storage.unlock()
                #expect(try await bench.storedNames().count == 1)
                second.fire()
                _ = try #require(await timers.next())
                #expect(try await bench.storedNames().isEmpty)
                work.cancel()
                try await work.value
            }
        }

        @Test("a cancellation ends the service without an error")
        func cancellation() async throws {
            try await PersistBench.with(.databaseInMemory) { bench in
                let driver = Self.driver(bench)
                let work = Task { try await driver.run() }
                var timers = bench.clock.timers.makeAsyncIterator()
                let timer = try #require(await timers.next())
                work.cancel()
                try await work.value
                #expect(timer.isCancelled)
            }
        }

        @Test("a shutdown that was requested before the service began ends it at once")
        func earlyShutdown() async throws {
            try await PersistBench.with(.databaseInMemory) { bench in
                let driver = Self.driver(bench)
                try await driver.shutdown()
                try await testGracefulShutdown { trigger in
                    trigger.triggerGracefulShutdown()
                    try await driver.run()
                }
                try await driver.set(key: "a", value: "first")
                #expect(try await driver.get(key: "a", as: String.self) == "first")
            }
        }

        @Test("a driver without an interval sets no timer, and ends at the shutdown")
        func withoutInterval() async throws {
            try await PersistBench.with(.databaseInMemory) { bench in
                let driver = StoragePersistDriver(bench.launch(), domain: bench.domain, tidyInterval: nil)
                try await driver.set(key: "a", value: "old", expires: .seconds(60))
                bench.clock.advance(by: .seconds(86_400))
                try await testGracefulShutdown { trigger in
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        group.addTask { try await driver.run() }
                        trigger.triggerGracefulShutdown()
                        try await group.waitForAll()
                    }
                }
                // The first timer is that of another driver.
                let other = Self.driver(bench)
                let work = Task { try await other.run() }
                var timers = bench.clock.timers.makeAsyncIterator()
                let first = try #require(await timers.next())
                work.cancel()
                try await work.value
                #expect(first.isCancelled)
                #expect(try await bench.storedNames().count == 1)
            }
        }
    }
#endif

#if ServiceLifecycle
    import BackendContract
    import BackendRuntime
    import LocalData
    import LocalDataService
    import LocalDataTesting
    import Logging
    import ServiceLifecycle
    import ServiceLifecycleTestKit
    import Synchronization
    import TestSupport
    import Testing
    import UnixSignals

    /// The maintenance of a router, and its service.
    @Suite("Service")
    struct ServiceTests {
        private static func key(_ name: String) -> StorageKey<String> {
            StorageKey<String>(name: name, domain: .keychain, owner: "Tests", description: "A token")
                .moved(from: StorageKey(name: name, domain: .userDefaults(suite: "old")))
        }

        private struct Keys: StorageKeyCatalog {
            let id = "keys"
            var names = ["a", "b"]
            var allKeys: [AnyStorageKey] { names.map { .key(ServiceTests.key($0)) } }
            var owner: String { "Tests" }
        }

        /// A key whose value is in the same legacy location as that of the other keys.
        private static func sharingKey(_ name: String) -> StorageKey<String> {
            StorageKey<String>(name: name, domain: .keychain, owner: "Tests", description: "A token")
                .moved(from: StorageKey(name: "a", domain: .userDefaults(suite: "old")))
        }

        /// Two keys with the same legacy location, which a sweep therefore moves one after the other.
        private struct SharingKeys: StorageKeyCatalog {
            let id = "sharing keys"
            var allKeys: [AnyStorageKey] { ["a", "b"].map { .key(ServiceTests.sharingKey($0)) } }
            var owner: String { "Tests" }
        }

        /// A key without a value. A read of it creates the backend of the keyring.
        private static let unused = StorageKey<String>(name: "x", domain: .keychain)

        /// Passes the reports of a maintenance to a test.
        private struct Reports: Sendable {
            let stream: AsyncStream<MigrationReport>
            let send: @Sendable (MigrationReport) -> Void

            init() {
                let (stream, continuation) = AsyncStream.makeStream(of: MigrationReport.self)
                self.stream = stream
                send = { continuation.yield($0) }
            }
        }

        private static func machine(_ change: (inout StorageConfiguration) -> Void = { _ in }) -> TestMachine {
            let machine = TestMachine(change)
            machine.seedUserDefaults(["a": .string("1"), "b": .string("2")], suite: "old")
            return machine
        }

        private static func requireShutDown(_ storage: StorageRouter) async {
            #expect(await code(thrownBy: { try await storage.value(for: key("a")) }) == StorageError.shutDown)
        }

        @Test("a key that a locked keyring blocked is migrated at the next retry, on the clock of the router")
        func retries() async throws {
            let clock = ManualClock()
            let machine = Self.machine { $0.runtime.clock = clock }
            let reports = Reports()
            let maintenance = StorageMaintenance(
                machine.launch(), catalogs: [Keys()], retryInterval: .seconds(30), sweepInterval: .seconds(3600), report: reports.send)
            machine.lock(.keychain)
            let work = Task { try await maintenance.run() }
            var iterator = reports.stream.makeAsyncIterator()
            let first = try #require(await iterator.next())
            #expect(first.blocked.count == 2)
            machine.unlock(.keychain)
            while clock.pending == 0 { await Task.yield() }
            clock.advance(by: .seconds(30))
            let second = try #require(await iterator.next())
            #expect(second.moved.count == 2)
            // After a complete sweep, the next one begins after the longer interval.
            while clock.pending == 0 { await Task.yield() }
            clock.advance(by: .seconds(30))
            #expect(clock.pending == 1)
            clock.advance(by: .seconds(3600))
            #expect(try #require(await iterator.next()).isComplete)
            work.cancel()
            #expect(await code(thrownBy: { try await work.value }) == StorageError.cancelled)
        }

        @Test("a graceful shutdown ends the service and closes the router")
        func gracefulShutdown() async throws {
            let reports = Reports()
            let storage = Self.machine().launch()
            let service = StorageService(storage, catalogs: [Keys()], report: reports.send)
            try await testGracefulShutdown { trigger in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await service.run() }
                    var iterator = reports.stream.makeAsyncIterator()
                    #expect(await iterator.next()?.moved.count == 2)
                    trigger.triggerGracefulShutdown()
                    try await group.waitForAll()
                }
            }
            await Self.requireShutDown(storage)
        }

        @Test("a shutdown that was requested before the service began sweeps nothing and closes the router")
        func earlyShutdown() async throws {
            let machine = Self.machine()
            let storage = machine.launch()
            let service = StorageService(storage, catalogs: [Keys()]) { _ in Issue.record("A sweep ran.") }
            try await testGracefulShutdown { trigger in
                trigger.triggerGracefulShutdown()
                try await service.run()
            }
            await Self.requireShutDown(storage)
            #expect(try await machine.launch().value(for: Self.key("a")) == "1")
        }

        @Test("a cancelled service closes the router")
        func cancellation() async throws {
            let reports = Reports()
            let storage = Self.machine().launch()
            let service = StorageService(storage, catalogs: [Keys()], report: reports.send)
            let work = Task { try await service.run() }
            var iterator = reports.stream.makeAsyncIterator()
            _ = await iterator.next()
            work.cancel()
            _ = await work.result
            await Self.requireShutDown(storage)
        }

        @Test("a refused catalog ends the service with its error, and closes the router")
        func refusedCatalog() async throws {
            let storage = Self.machine().launch()
            let service = StorageService(storage, catalogs: [Keys(names: ["a", "a"])])
            #expect(await code(thrownBy: { try await service.run() }) == StorageError.duplicateKey)
            await Self.requireShutDown(storage)
        }

        @Test("a sweep that a shutdown interrupts is not reported, and the next start moves the values", .timeLimit(.minutes(5)))
        func interruptedSweep() async throws {
            let machine = Self.machine()
            let storage = machine.launch()
            #expect(try await storage.value(for: Self.unused) == nil)
            // A sweep first reads the keyring. The gate stays closed, so only the interruption ends the read.
            let gate = FaultGate()
            try #require(machine.backends(of: .keychain).first).inject(.hold(gate), of: .read, repeats: true)
            let service = StorageService(storage, catalogs: [Keys()]) { _ in Issue.record("The sweep was not interrupted.") }
            try await testGracefulShutdown { trigger in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await service.run() }
                    await gate.untilArrivals()
                    trigger.triggerGracefulShutdown()
                    try await group.waitForAll()
                }
            }
            await Self.requireShutDown(storage)
            let next = machine.launch()
            #expect(try await next.names(of: .keychain) == [])
            let report = try await next.registerCatalog(Keys(), migrateImmediately: true)
            #expect(report.isComplete && report.moved.count == 2)
            #expect(try await next.get(Self.key("a")) == "1")
            #expect(try await next.get(Self.key("b")) == "2")
        }

        @Test(
            "a service that is cancelled while its sweep moves a key completes this key only, and the next start moves the next key",
            .timeLimit(.minutes(5)))
        func partialSweep() async throws {
            let machine = Self.machine()
            let storage = machine.launch()
            #expect(try await storage.value(for: Self.unused) == nil)
            let gate = FaultGate()
            try #require(machine.backends(of: .keychain).first).inject(.hold(gate), of: .apply)
            let service = StorageService(storage, catalogs: [SharingKeys()]) { _ in Issue.record("The sweep was not interrupted.") }
            let work = Task { try await service.run() }
            await gate.untilArrivals()
            // The cancellation reaches every child task before this call returns.
            work.cancel()
            gate.open()
            try await work.value
            await Self.requireShutDown(storage)
            let next = machine.launch()
            #expect(try await next.names(of: .keychain) == ["a"])
            #expect(try await next.registerCatalog(SharingKeys(), migrateImmediately: true).isComplete)
            #expect(try await next.get(Self.sharingKey("a")) == "1")
            #expect(try await next.get(Self.sharingKey("b")) == "1")
        }

        @Test("a service group with SIGTERM as its signal runs the service")
        func serviceGroup() async throws {
            let reports = Reports()
            let storage = Self.machine().launch()
            let group = ServiceGroup(
                services: [StorageService(storage, catalogs: [Keys()], report: reports.send)], gracefulShutdownSignals: [.sigterm],
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            let work = Task { try await group.run() }
            var iterator = reports.stream.makeAsyncIterator()
            #expect(await iterator.next()?.moved.count == 2)
            await group.triggerGracefulShutdown()
            try await work.value
            await Self.requireShutDown(storage)
        }
    }
#endif

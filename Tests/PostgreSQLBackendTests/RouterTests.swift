#if PostgreSQL && os(Linux)
    import BackendRuntime
    import Foundation
    import LocalData
    import LocalDataBackup
    import LocalDataPostgreSQL
    import TestSupport
    import Testing

    /// Tests of the domain `.postgreSQL` through the router, as several machines would use it. All machines have
    /// the same sealing key, and separate folders.
    @Suite(.slow("starts a server"), .timeLimit(.minutes(10))) struct RouterTests {
        private let folder: TemporaryDirectory
        private let server: PostgreSQLServer
        private let key = StorageKey<String>(name: "token", domain: .postgreSQL(database: "main"))

        init() async throws {
            folder = try TemporaryDirectory()
            let schema = "router_\(UInt32.random(in: .min ... .max))"
            // On a busy machine, the server may answer late. No test waits for this deadline.
            server = PostgreSQLServer(try await PrivatePostgreSQL.shared().conninfo, schema: schema, deadline: .seconds(300))
        }

        private func machine(_ name: String, clock: any RuntimeClock = SystemClock()) -> StorageRouter {
            var configuration = StorageConfiguration(root: URL(filePath: folder.file(name)), applicationID: "com.example.app")
            configuration.keySource = .keyFile(folder.file("shared-key"))
            configuration.runtime.clock = clock
            configuration.runtime.isPatient = true
            configuration.deadlines.files = .seconds(120)
            configuration.usePostgreSQL(server)
            return StorageRouter(configuration: configuration)
        }

        @Test func `a value that one machine sets is read and removed by another one`() async throws {
            let (one, two) = (machine("one"), machine("two"))
            #expect(try await one.value(for: key) == nil)
            try await one.set("secret", for: key)
            #expect(try await two.get(key) == "secret")
            try await two.remove(key)
            #expect(try await one.value(for: key) == nil)
        }

        @Test func `a program forgets a database on a server that it has used, and goes on`() async throws {
            let (one, two) = (machine("one"), machine("two"))
            let other = StorageKey<String>(name: "other", domain: .encryptedSQLite(database: "main"))
            try await one.set("secret", for: key)
            try await one.set("stays", for: other)
            try await one.forget(.postgreSQL(database: "main"))
            #expect(try await two.value(for: key) == nil)
            #expect(try await one.value(for: key) == nil)
            #expect(try await one.get(other) == "stays")
            try await one.set("new", for: key)
            #expect(try await two.get(key) == "new")
        }

        @Test func `the internal stores use a key source that the configuration gets after its server`() async throws {
            var configuration = StorageConfiguration(root: URL(filePath: folder.file("one")), applicationID: "com.example.app")
            configuration.usePostgreSQL(server)
            configuration.keySource = .keyFile(folder.file("shared-key"))
            let old = StorageKey<String>(name: "old", domain: .userDefaults)
            let (one, two) = (StorageRouter(configuration: configuration), machine("two"))
            try await one.set("secret", for: old)
            try await one.registerCatalog(ServerCatalog(key.moved(from: old)), migrateImmediately: true).requireComplete()
            #expect(!FileManager.default.fileExists(atPath: folder.file("one/data/sealing-key")))
            try await two.registerCatalog(ServerCatalog(key), migrateImmediately: true).requireComplete()
            #expect(try await two.get(key) == "secret")
        }

        private struct ServerCatalog: StorageKeyCatalog {
            let allKeys: [AnyStorageKey]
            init(_ key: StorageKey<String>) { allKeys = [.key(key)] }
        }

        @Test func `500 hostile texts are read back unchanged by another machine with every serializer`() async throws {
            let (one, two) = (machine("one"), machine("two"))
            let texts = Arbitrary<String>.any(of: [.one(of: hostileTexts), .text()])
            let drawn = LawSettings().seeds(count: 500, from: 0).map { seed in (seed, texts.tree(seed: seed).value) }
            for serializer in [Serializer<String>.json, .plist] {
                func key(_ seed: UInt64) -> StorageKey<String> {
                    StorageKey<String>(
                        name: "\(serializer.name) \(seed)", domain: .postgreSQL(database: "main"), serializer: serializer)
                }
                // Property lists mean nil by this text, so the serializer may refuse it.
                let kept = drawn.filter { serializer.name == "json" || !$0.1.contains("$null") }
                try await withThrowingTaskGroup { group in
                    for (seed, text) in kept {
                        let target = key(seed)
                        group.addTask { try await one.set(text, for: target) }
                    }
                    try await group.waitForAll()
                }
                for (seed, text) in kept {
                    let found = try await two.get(key(seed))
                    #expect(Array(found.utf8) == Array(text.utf8), "seed \(seed): \(serializer.name)")
                }
            }
        }

        @Test func `a change by another machine is reported to observers`() async throws {
            let (one, two) = (machine("one"), machine("two"))
            try await one.set("first", for: key)
            var values = one.values(for: key).makeAsyncIterator()
            while try await values.next() != "first" {}
            try await two.set("second", for: key)
            while try await values.next() != "second" {}
            try await two.remove(key)
            while try await values.next() != .some(nil) {}
        }

        @Test func `three machines that start at once use one data key`() async throws {
            let machines = (0..<3).map { machine("\($0)") }
            try await withThrowingTaskGroup { group in
                for (number, machine) in machines.enumerated() {
                    group.addTask {
                        try await machine.set(
                            "\(number)", for: StorageKey<String>(name: "key \(number)", domain: .postgreSQL(database: "main")))
                    }
                }
                try await group.waitForAll()
            }
            for machine in machines {
                for number in 0..<3 {
                    let key = StorageKey<String>(name: "key \(number)", domain: .postgreSQL(database: "main"))
                    #expect(try await machine.get(key) == "\(number)")
                }
            }
        }

        @Test func `two applications with key files of one name share a schema and no data`() async throws {
            func application(_ id: String) -> StorageRouter {
                var configuration = StorageConfiguration(root: URL(filePath: folder.file(id)), applicationID: id)
                configuration.usePostgreSQL(server)
                return StorageRouter(configuration: configuration)
            }
            try await application("com.example.one").set("first", for: key)
            try await application("com.example.two").set("second", for: key)
            #expect(try await application("com.example.one").get(key) == "first")
            #expect(try await application("com.example.two").get(key) == "second")
        }

        @Test func `a key rotation includes the internal stores on the server, so all machines read after the older key is deleted`()
            async throws
        {
            let (one, two) = (machine("one"), machine("two"))
            try await one.set("secret", for: key)
            #expect(try await two.get(key) == "secret")
            _ = try await one.registerCatalog(Catalog(all: [key]))
            let report = try await one.rotateKey()
            #expect(report.isComplete && report.databases > 1, "\(report)")
            // The ledger was open on both machines, with the older key.
            #expect(try await one.get(key) == "secret")
            #expect(try await two.get(key) == "secret")
            try await one.deleteOlderKeys()
            #expect(try await two.get(key) == "secret")
            #expect(try await machine("three").get(key) == "secret")
            try await machine("four").set("changed", for: key)
            #expect(try await one.get(key) == "changed")
        }

        // MARK: Moves

        private static let count = 60
        private static let local = (0..<count).map { StorageKey<String>(name: "key \($0)", domain: .encryptedSQLite(database: "local")) }
        private static let shared = local.map { older in
            StorageKey<String>(name: older.name, domain: .postgreSQL(database: "main")).moved(from: older)
        }

        private struct Catalog: StorageKeyCatalog {
            let all: [StorageKey<String>]
            var allKeys: [AnyStorageKey] { all.map { .key($0) } }
        }

        @Test func `three processes move an encrypted database to the server and back at once`() async throws {
            for (number, key) in Self.local.enumerated() { try await machine("one").set("\(number)", for: key) }
            try await sweep(Self.shared)
            let reader = machine("other machine")
            for (number, key) in Self.shared.enumerated() {
                #expect(try await reader.get(key) == "\(number)")
                #expect(try await machine("one").value(for: Self.local[number]) == nil)
            }
            let back = zip(Self.local, Self.shared).map { local, shared in
                local.moved(from: StorageKey<String>(name: shared.name, domain: shared.domain))
            }
            try await sweep(back)
            for (number, key) in Self.local.enumerated() { #expect(try await machine("one").get(key) == "\(number)") }
        }

        /// Sweeps a catalog with three routers over the same folder, as three processes do.
        private func sweep(_ keys: [StorageKey<String>]) async throws {
            try await withThrowingTaskGroup { group in
                for _ in 0..<3 {
                    group.addTask {
                        let storage = machine("one")
                        _ = try await storage.registerCatalog(Catalog(all: keys), migrateImmediately: true)
                        try await storage.shutdown()
                    }
                }
                try await group.waitForAll()
            }
        }

        // MARK: Time

        @Test func `the time of the server decides what has expired, on a machine whose clock is a year ahead`() async throws {
            let writer = machine("one")
            try await writer.set("secret", for: key, lifetime: .seconds(86_400))
            let wrong = machine("two", clock: ClockAhead())
            #expect(try await wrong.value(for: key) == "secret")
            try await wrong.set("renewed", for: key, lifetime: .seconds(86_400))
            #expect(try await writer.value(for: key) == "renewed")
        }
    }

    /// The clock of a machine that is a year ahead.
    private struct ClockAhead: RuntimeClock {
        private let base = SystemClock()
        var now: MonotonicInstant { base.now }
        var wallSeconds: Double { base.wallSeconds + 365 * 86_400 }
        var sinceBoot: Duration { base.sinceBoot }
        func schedule(at instant: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
            base.schedule(at: instant, action)
        }
        func pause(_ duration: Duration) { base.pause(duration) }
    }
#endif

#if Hummingbird
    import Foundation
    import Hummingbird
    import LocalData
    import LocalDataHummingbird
    import TestSupport
    import Testing

    /// The behaviours of a persist driver, in each kind of store.
    @Suite("Persist driver", .inTurn)
    struct PersistDriverTests {
        private struct User: Codable, Sendable, Equatable {
            var name: String
            var joined: Date
            var picture: Data
            var nickname: String?
        }

        /// A type whose JSON decodes as `Visits`, and the other way round.
        private struct Credits: Codable, Sendable { var count: Int }
        private struct Visits: Codable, Sendable { var count: Int }

        private struct Keys: StorageKeyCatalog { let allKeys: [AnyStorageKey] }

        // MARK: Set and get

        @Test("a value that was set is read by this program and by the next one", arguments: PersistStore.allCases)
        func setAndGet(store: PersistStore) async throws {
            try await PersistBench.with(store) { bench in
                let driver = bench.driver()
                #expect(try await driver.get(key: "a", as: String.self) == nil)
                try await driver.set(key: "a", value: "first")
                try await driver.set(key: "b", value: 2)
                for driver in [driver, bench.driver()] {
                    #expect(try await driver.get(key: "a", as: String.self) == "first")
                    #expect(try await driver.get(key: "b", as: Int.self) == 2)
                }
            }
        }

        @Test("the later of two values is read, also if it has another type", arguments: PersistStore.allCases)
        func setTwice(store: PersistStore) async throws {
            try await PersistBench.with(store) { bench in
                let driver = bench.driver()
                for expires in [nil, Duration.seconds(60)] {
                    try await driver.set(key: "a", value: "first", expires: expires)
                    try await driver.set(key: "a", value: "second", expires: expires)
                    #expect(try await driver.get(key: "a", as: String.self) == "second")
                    try await driver.set(key: "a", value: 3, expires: expires)
                    #expect(try await driver.get(key: "a", as: Int.self) == 3)
                }
            }
        }

        @Test("a Codable value is read with all its properties", arguments: PersistStore.allCases)
        func codable(store: PersistStore) async throws {
            try await PersistBench.with(store) { bench in
                let driver = bench.driver()
                let user = User(name: "Kari \"K\" Ærø\n", joined: Date(timeIntervalSince1970: 1_234.5), picture: Data([0, 255]))
                try await driver.set(key: "user", value: user)
                #expect(try await driver.get(key: "user", as: User.self) == user)
                try await driver.create(key: "users", value: [user, user], expires: .seconds(60))
                #expect(try await driver.getWithTTL(key: "users", as: [User].self)?.object == [user, user])
            }
        }

        @Test("a read as another type is refused, even if the JSON would decode", arguments: PersistStore.allCases)
        func wrongType(store: PersistStore) async throws {
            try await PersistBench.with(store) { bench in
                let driver = bench.driver()
                try await driver.set(key: "a", value: Credits(count: 1), expires: .seconds(60))
                await #expect(throws: PersistError.invalidConversion) { try await driver.get(key: "a", as: String.self) }
                await #expect(throws: PersistError.invalidConversion) { try await driver.get(key: "a", as: Visits.self) }
                await #expect(throws: PersistError.invalidConversion) { _ = try await driver.getWithTTL(key: "a", as: Visits.self) }
                #expect(try await driver.get(key: "a", as: Credits.self)?.count == 1)
                bench.clock.advance(by: .seconds(60))
                #expect(try await driver.get(key: "a", as: String.self) == nil)
            }
        }

        @Test("a removed value is absent, and a second removal does nothing", arguments: PersistStore.allCases)
        func remove(store: PersistStore) async throws {
            try await PersistBench.with(store) { bench in
                let driver = bench.driver()
                try await driver.set(key: "a", value: "first")
                try await driver.set(key: "b", value: "second")
                for _ in 0..<2 {
                    try await driver.remove(key: "a")
                    #expect(try await driver.get(key: "a", as: String.self) == nil)
                }
                #expect(try await driver.get(key: "b", as: String.self) == "second")
                try await driver.create(key: "a", value: "third")
                #expect(try await driver.get(key: "a", as: String.self) == "third")
            }
        }

        @Test("any text is a key", arguments: PersistStore.allCases)
        func anyKey(store: PersistStore) async throws {
            try await PersistBench.with(store) { bench in
                let driver = bench.driver()
                let keys = ["", " ", "line\nbreak", "\u{0}", "ä", "a\u{308}", "../a", String(repeating: "k", count: 5_000)]
                for (number, key) in keys.enumerated() { try await driver.create(key: key, value: number) }
                for (number, key) in keys.enumerated() { #expect(try await driver.get(key: key, as: Int.self) == number) }
            }
        }

        @Test("two collections of one domain share no values", arguments: PersistStore.allCases)
        func collections(store: PersistStore) async throws {
            try await PersistBench.with(store) { bench in
                let storage = bench.launch()
                let one = StoragePersistDriver(storage, domain: bench.domain, collection: "one")
                let two = StoragePersistDriver(storage, domain: bench.domain, collection: "two")
                try await one.create(key: "a", value: 1)
                try await two.create(key: "a", value: 2)
                #expect(try await one.get(key: "a", as: Int.self) == 1)
                #expect(try await two.get(key: "a", as: Int.self) == 2)
            }
        }

        @Test("a router that requires registration accepts the driver once its entry is in a catalog")
        func registration() async throws {
            try await PersistBench.with(.databaseInMemory) { bench in
                let storage = bench.launch { $0.requiresRegistration = true }
                let driver = StoragePersistDriver(storage, domain: bench.domain)
                let error = await #expect(throws: StorageError.self) { try await driver.set(key: "a", value: "first") }
                #expect(error?.code == StorageError.unregisteredKey)
                let report = try await storage.registerCatalog(Keys(allKeys: [driver.catalogEntry]), migrateImmediately: true)
                #expect(report.isComplete)
                try await driver.set(key: "a", value: "first")
                #expect(try await driver.get(key: "a", as: String.self) == "first")
            }
        }

        // MARK: Create

        @Test("a created value is read", arguments: PersistStore.allCases)
        func create(store: PersistStore) async throws {
            try await PersistBench.with(store) { bench in
                try await bench.driver().create(key: "a", value: "first")
                #expect(try await bench.driver().get(key: "a", as: String.self) == "first")
            }
        }

        @Test("a second creation is refused and changes nothing", arguments: PersistStore.allCases)
        func createTwice(store: PersistStore) async throws {
            try await PersistBench.with(store) { bench in
                let driver = bench.driver()
                try await driver.create(key: "a", value: "first", expires: .seconds(60))
                for expires in [nil, Duration.seconds(600)] {
                    await #expect(throws: PersistError.duplicate) {
                        try await bench.driver().create(key: "a", value: "second", expires: expires)
                    }
                    await #expect(throws: PersistError.duplicate) { try await driver.create(key: "a", value: 2, expires: expires) }
                }
                let stored = try #require(try await driver.getWithTTL(key: "a", as: String.self))
                #expect(stored.object == "first")
                #expect(stored.ttl == .seconds(60))
            }
        }

        @Test("of two programs that create a key at the same time, exactly one succeeds", arguments: PersistStore.allCases)
        func race(store: PersistStore) async throws {
            try await PersistBench.with(store) { bench in
                let drivers = [bench.driver(), bench.driver()]
                // Every second key has an expired value.
                for key in stride(from: 0, to: 24, by: 2) { try await drivers[0].set(key: "\(key)", value: "old", expires: .seconds(1)) }
                bench.clock.advance(by: .seconds(2))
                let winners = try await winners(of: drivers, keys: 0..<24)
                for key in 0..<24 {
                    #expect(winners[key]?.count == 1, "key \(key)")
                    for driver in drivers {
                        #expect(try await driver.get(key: "\(key)", as: Int.self) == winners[key]?.first, "key \(key)")
                    }
                }
            }
        }

        @Test("of many tasks that create a key at the same time, exactly one succeeds", arguments: PersistStore.allCases)
        func tasks(store: PersistStore) async throws {
            try await PersistBench.with(store) { bench in
                let driver = bench.driver()
                let winners = try await winners(of: Array(repeating: driver, count: 16), keys: 0..<1)
                #expect(winners[0]?.count == 1)
                #expect(try await driver.get(key: "0", as: Int.self) == winners[0]?.first)
            }
        }

        /// Creates each key with each driver at once. The value is the number of the driver.
        /// - Returns: The numbers of the drivers that succeeded, by key.
        private func winners(of drivers: [StoragePersistDriver], keys: Range<Int>) async throws -> [Int: [Int]] {
            try await withThrowingTaskGroup(of: (key: Int, driver: Int?).self) { group in
                for key in keys {
                    for (number, driver) in drivers.enumerated() {
                        group.addTask {
                            do {
                                try await driver.create(key: "\(key)", value: number, expires: .seconds(60))
                                return (key, number)
                            } catch let error as PersistError where error == .duplicate {
                                return (key, nil)
                            }
                        }
                    }
                }
                var winners: [Int: [Int]] = [:]
                for try await (key, driver) in group {
                    if let driver { winners[key, default: []].append(driver) }
                }
                return winners
            }
        }
    }
#endif

#if Hummingbird
    import Foundation
    import Hummingbird
    import LocalData
    import LocalDataTesting
    import TestSupport
    import Testing

    @testable import LocalDataHummingbird

    /// Values of a persist driver that expire, and how they are purged.
    @Suite("Persist driver: expiry", .inTurn)
    struct PersistExpiryTests {
        // MARK: Expiry

        @Test("a value is absent from its time of expiry on, and other values stay", arguments: PersistStore.allCases)
        func expiry(store: PersistStore) async throws {
            try await PersistBench.with(store) { bench in
                let driver = bench.driver()
                try await driver.set(key: "short", value: "a", expires: .seconds(10))
                try await driver.create(key: "long", value: "b", expires: .seconds(100))
                try await driver.set(key: "kept", value: "c")
                bench.clock.advance(by: .seconds(9))
                #expect(try await driver.get(key: "short", as: String.self) == "a")
                bench.clock.advance(by: .seconds(1))
                #expect(try await driver.get(key: "short", as: String.self) == nil)
                #expect(try await driver.getWithTTL(key: "short", as: String.self)?.object == nil)
                #expect(try await driver.get(key: "long", as: String.self) == "b")
                bench.clock.advance(by: .seconds(90))
                #expect(try await bench.driver().get(key: "long", as: String.self) == nil)
                #expect(try await bench.driver().get(key: "kept", as: String.self) == "c")
            }
        }

        @Test("the remaining time is exact, and nil for a value that never expires", arguments: PersistStore.allCases)
        func remainingTime(store: PersistStore) async throws {
            try await PersistBench.with(store) { bench in
                let driver = bench.driver()
                try await driver.set(key: "set", value: "a", expires: .seconds(10))
                try await driver.create(key: "created", value: "b", expires: .seconds(20))
                try await driver.set(key: "kept", value: "c")
                bench.clock.advance(by: .seconds(4))
                #expect(try await driver.getWithTTL(key: "set", as: String.self)?.ttl == .seconds(6))
                #expect(try await driver.getWithTTL(key: "created", as: String.self)?.ttl == .seconds(16))
                let kept = try #require(try await driver.getWithTTL(key: "kept", as: String.self))
                #expect(kept.object == "c")
                #expect(kept.ttl == nil)
                #expect(try await driver.getWithTTL(key: "absent", as: String.self)?.object == nil)
            }
        }

        @Test("a value can be set again after it has expired", arguments: PersistStore.allCases)
        func expireAndSet(store: PersistStore) async throws {
            try await PersistBench.with(store) { bench in
                let driver = bench.driver()
                try await driver.set(key: "a", value: "first", expires: .zero)
                #expect(try await driver.get(key: "a", as: String.self) == nil)
                try await driver.set(key: "a", value: "second", expires: .seconds(10))
                #expect(try await driver.get(key: "a", as: String.self) == "second")
                #expect(try await driver.getWithTTL(key: "a", as: String.self)?.ttl == .seconds(10))
            }
        }

        @Test("a set without a time keeps the time of expiry, and a set with a time replaces it", arguments: PersistStore.allCases)
        func keptExpiry(store: PersistStore) async throws {
            try await PersistBench.with(store) { bench in
                let driver = bench.driver()
                try await driver.create(key: "a", value: "first", expires: .seconds(10))
                bench.clock.advance(by: .seconds(4))
                try await driver.set(key: "a", value: 2)
                #expect(try await driver.getWithTTL(key: "a", as: Int.self)?.ttl == .seconds(6))
                try await driver.set(key: "a", value: 3, expires: .seconds(60))
                #expect(try await driver.getWithTTL(key: "a", as: Int.self)?.ttl == .seconds(60))
                bench.clock.advance(by: .seconds(60))
                #expect(try await driver.get(key: "a", as: Int.self) == nil)
            }
        }

        // MARK: Flaws of other drivers

        @Test("the date of the machine has no influence", arguments: [0.0, 1_000_000_000, 4_000_000_000])
        func injectedClock(start: Double) async throws {
            try await PersistBench.with(.databaseInMemory, clock: SteppedClock(start: start)) { bench in
                let driver = bench.driver()
                try await driver.set(key: "set", value: "a", expires: .seconds(10))
                try await driver.create(key: "created", value: "b", expires: .seconds(10))
                #expect(try await driver.tidy() == 0)
                #expect(try await driver.get(key: "set", as: String.self) == "a")
                #expect(try await driver.getWithTTL(key: "created", as: String.self)?.ttl == .seconds(10))
                await #expect(throws: PersistError.duplicate) { try await driver.create(key: "created", value: "c") }
                bench.clock.advance(by: .seconds(10))
                #expect(try await driver.get(key: "set", as: String.self) == nil)
                #expect(try await driver.getWithTTL(key: "created", as: String.self)?.object == nil)
                #expect(try await driver.tidy() == 2)
            }
        }

        @Test("a set without a time over an expired value never expires", arguments: PersistStore.allCases)
        func setOverExpired(store: PersistStore) async throws {
            try await PersistBench.with(store) { bench in
                let driver = bench.driver()
                try await driver.set(key: "a", value: "old", expires: .seconds(10))
                bench.clock.advance(by: .seconds(11))
                try await driver.set(key: "a", value: "new")
                let stored = try #require(try await driver.getWithTTL(key: "a", as: String.self))
                #expect(stored.object == "new")
                #expect(stored.ttl == nil)
                bench.clock.advance(by: .seconds(1_000_000))
                #expect(try await driver.tidy() == 0)
                #expect(try await driver.get(key: "a", as: String.self) == "new")
            }
        }

        @Test("a key with an expired value can be created once", arguments: PersistStore.allCases)
        func createOverExpired(store: PersistStore) async throws {
            try await PersistBench.with(store) { bench in
                let driver = bench.driver()
                let times: [(key: String, expires: Duration?)] = [("kept", nil), ("brief", .seconds(20))]
                for (key, expires) in times {
                    try await driver.set(key: key, value: "old", expires: .seconds(10))
                    bench.clock.advance(by: .seconds(10))
                    try await driver.create(key: key, value: 2, expires: expires)
                    await #expect(throws: PersistError.duplicate) { try await driver.create(key: key, value: 3, expires: expires) }
                    let stored = try #require(try await driver.getWithTTL(key: key, as: Int.self))
                    #expect(stored.object == 2)
                    #expect(stored.ttl == expires)
                }
            }
        }

        @Test("a time below a second is exact", arguments: PersistStore.allCases)
        func belowASecond(store: PersistStore) async throws {
            try await PersistBench.with(store) { bench in
                let driver = bench.driver()
                // The date is exact for binary fractions of a second.
                try await driver.set(key: "set", value: "a", expires: .milliseconds(250))
                try await driver.create(key: "created", value: "b", expires: .milliseconds(250))
                bench.clock.advance(by: .milliseconds(125))
                for key in ["set", "created"] {
                    #expect(try await driver.get(key: key, as: String.self) != nil)
                    #expect(try await driver.getWithTTL(key: key, as: String.self)?.ttl == .milliseconds(125))
                }
                await #expect(throws: PersistError.duplicate) { try await driver.create(key: "created", value: "c") }
                bench.clock.advance(by: .milliseconds(125))
                for key in ["set", "created"] { #expect(try await driver.get(key: key, as: String.self) == nil) }
                try await driver.create(key: "created", value: "c", expires: .milliseconds(1))
                #expect(try await driver.get(key: "created", as: String.self) == "c")
                bench.clock.advance(by: .milliseconds(2))
                #expect(try await driver.get(key: "created", as: String.self) == nil)
            }
        }

        // MARK: Tidy

        @Test("tidy purges the expired values of all pages, and no other value", arguments: PersistStore.allCases)
        func tidy(store: PersistStore) async throws {
            try await PersistBench.with(store) { bench in
                let storage = bench.launch { $0.pageSize = 4 }
                let driver = StoragePersistDriver(storage, domain: bench.domain)
                for number in 0..<10 { try await driver.set(key: "expired \(number)", value: number, expires: .seconds(10)) }
                for number in 0..<5 { try await driver.set(key: "valid \(number)", value: number, expires: .seconds(20)) }
                for number in 0..<5 { try await driver.set(key: "kept \(number)", value: number) }
                #expect(try await driver.tidy() == 0)
                bench.clock.advance(by: .seconds(10))
                #expect(try await bench.storedNames().count == 20)
                #expect(try await driver.tidy() == 10)
                #expect(try await bench.storedNames().count == 10)
                for number in 0..<5 {
                    #expect(try await driver.get(key: "valid \(number)", as: Int.self) == number)
                    #expect(try await driver.get(key: "kept \(number)", as: Int.self) == number)
                }
                #expect(try await driver.tidy() == 0)
            }
        }

        @Test("a value that replaces an expired one during a tidy stays", arguments: PersistStore.allCases)
        func replacedDuringTidy(store: PersistStore) async throws {
            try await PersistBench.with(store) { bench in
                let storage = bench.launch()
                let driver = StoragePersistDriver(storage, domain: bench.domain)
                for key in ["a", "b", "c"] { try await driver.set(key: key, value: "old", expires: .seconds(10)) }
                bench.clock.advance(by: .seconds(10))
                let records = ExpiredRecords(storage, in: driver.values)
                let (deletions, next) = try await records.page(after: nil)
                #expect(deletions.count == 3)
                #expect(next == nil)
                try await bench.driver().set(key: "b", value: "new", expires: .seconds(10))
                #expect(try await records.delete(deletions) == 2)
                #expect(try await driver.get(key: "b", as: String.self) == "new")
                #expect(try await bench.storedNames().count == 1)
            }
        }

        @Test("a tidy of a store that cannot be reached throws, and purges nothing")
        func unavailable() async throws {
            let clock = TestClock()
            let machine = TestMachine { $0.use(clock) }
            let domain = StorageDomain.encryptedSQLite(database: "sessions")
            let driver = StoragePersistDriver(machine.launch())
            try await driver.set(key: "a", value: "old", expires: .seconds(10))
            clock.advance(by: .seconds(11))
            machine.makeUnavailable(domain)
            let unreachable = await #expect(throws: StorageError.self) { try await driver.tidy() }
            #expect(unreachable?.code == StorageError.unavailable)
            machine.makeAvailable(domain)
            machine.lock(domain)
            let locked = await #expect(throws: StorageError.self) { try await driver.tidy() }
            #expect(locked?.code == StorageError.locked)
            machine.unlock(domain)
            #expect(try await driver.tidy() == 1)
        }
    }
#endif

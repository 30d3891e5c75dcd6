#if Hummingbird && PostgreSQL && os(Linux)
    import BackendRuntime
    import Foundation
    import Hummingbird
    import LocalData
    import LocalDataHummingbird
    import LocalDataPostgreSQL
    import LocalDataTesting
    import TestSupport
    import Testing

    /// A persist driver over a server, on machines whose clocks differ by two days. The clock of the server decides.
    @Suite("Persist driver: server", .slow("starts a server"), .timeLimit(.minutes(10)))
    struct PersistServerTests {
        private let folder: TemporaryDirectory
        private let server: PostgreSQLServer

        init() async throws {
            folder = try TemporaryDirectory()
            let schema = "persist_\(UInt32.random(in: .min ... .max))"
            server = PostgreSQLServer(try await PrivatePostgreSQL.shared().conninfo, schema: schema, deadline: .seconds(300))
        }

        /// Starts a program on another machine, whose clock is ahead of the real time.
        private func driver(_ machine: String, ahead: Duration) -> StoragePersistDriver {
            let clock = ShiftedClock(SystemClock())
            clock.advance(by: ahead)
            var configuration = StorageConfiguration(root: URL(filePath: folder.file(machine)), applicationID: "com.example.shop")
            configuration.keySource = .keyFile(folder.file("shared-key"))
            configuration.runtime.clock = clock
            configuration.usePostgreSQL(server)
            return StoragePersistDriver(StorageRouter(configuration: configuration), domain: .postgreSQL(database: "sessions"))
        }

        @Test("machines with different clocks agree on the values that have expired")
        func clocks() async throws {
            let (fast, slow) = (driver("fast", ahead: .seconds(86_400)), driver("slow", ahead: .seconds(-86_400)))
            try await fast.set(key: "fast", value: "a", expires: .seconds(3_600))
            try await slow.create(key: "slow", value: "b", expires: .seconds(3_600))
            for driver in [fast, slow] {
                #expect(try await driver.get(key: "fast", as: String.self) == "a")
                #expect(try await driver.get(key: "slow", as: String.self) == "b")
                let rest = try #require(try await driver.getWithTTL(key: "fast", as: String.self)?.ttl)
                #expect(rest > .zero && rest <= .seconds(3_600))
                await #expect(throws: PersistError.duplicate) { try await driver.create(key: "slow", value: "c") }
            }
            try await slow.set(key: "over", value: "d", expires: .zero)
            #expect(try await fast.get(key: "over", as: String.self) == nil)
            #expect(try await fast.tidy() == 1)
            try await fast.create(key: "over", value: "e")
            await #expect(throws: PersistError.duplicate) { try await slow.create(key: "over", value: "f") }
            #expect(try await slow.get(key: "over", as: String.self) == "e")
        }

        @Test("of two machines that create a key at the same time, exactly one succeeds")
        func race() async throws {
            let drivers = [driver("one", ahead: .zero), driver("two", ahead: .zero)]
            for key in 0..<8 {
                let created = try await withThrowingTaskGroup(of: Bool.self) { group in
                    for driver in drivers {
                        group.addTask {
                            do {
                                try await driver.create(key: "\(key)", value: key, expires: .seconds(3_600))
                                return true
                            } catch let error as PersistError where error == .duplicate {
                                return false
                            }
                        }
                    }
                    return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
                }
                #expect(created == 1, "key \(key)")
            }
        }
    }
#endif

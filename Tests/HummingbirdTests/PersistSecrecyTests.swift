#if Hummingbird
    import Foundation
    import Hummingbird
    import LocalData
    import LocalDataHummingbird
    import LocalDataTesting
    import TestSupport
    import Testing

    /// The keys of a persist driver are secrets: the id of a session is enough to take the session over.
    @Suite("Persist driver: secrecy", .inTurn)
    struct PersistSecrecyTests {
        private static let sessionID = "Zm9yZ290dGVuLXNlc3Npb24taWQ"

        @Test("no file contains a key", arguments: PersistStore.allCases.filter(\.isOnDisk))
        func files(store: PersistStore) async throws {
            try await PersistBench.with(store) { bench in
                let driver = bench.driver()
                try await driver.set(key: Self.sessionID, value: "plain-text")
                try await driver.set(key: Self.sessionID, value: "plain-text", expires: .seconds(10))
                #expect(try bench.isInFile(Self.sessionID) == false)
                // A property list is readable, so the search finds content and names that are stored.
                let name = try #require(try await bench.storedNames().first)
                #expect(try bench.isInFile("plain-text") == (store == .list))
                #expect(try bench.isInFile(name) == (store == .list))
                bench.clock.advance(by: .seconds(10))
                try await driver.create(key: Self.sessionID, value: "plain-text")
                try await driver.remove(key: Self.sessionID)
                #expect(try bench.isInFile(Self.sessionID) == false)
            }
        }

        @Test("no name of a stored value contains a key")
        func names() async throws {
            try await PersistBench.with(.listInMemory) { bench in
                try await bench.driver().set(key: Self.sessionID, value: 1)
                let names = try await bench.storedNames()
                #expect(names.count == 1)
                #expect(names.allSatisfy { !$0.contains(Self.sessionID) && $0.count == 64 })
            }
        }

        @Test("no error contains a key or a value")
        func errors() async throws {
            let machine = TestMachine()
            let domain = StorageDomain.encryptedSQLite(database: "sessions")
            let storage = machine.launch()
            let driver = StoragePersistDriver(storage, domain: domain)
            try await driver.set(key: Self.sessionID, value: "value")
            machine.lock(domain)
            await requireRefusals(driver)
            machine.unlock(domain)
            machine.makeUnavailable(domain)
            await requireRefusals(driver)
            machine.makeAvailable(domain)
            try await storage.lock()
            await requireRefusals(driver)
            try await storage.unlock()
            #expect(try await driver.get(key: Self.sessionID, as: String.self) == "value")

            struct Unencodable: Codable, Sendable { var card = "4711-0815", rate = Double.infinity }
            for expires in [nil, Duration.seconds(10)] {
                await requireRefusal(hiding: "4711-0815") {
                    try await driver.set(key: Self.sessionID, value: Unencodable(), expires: expires)
                }
                await requireRefusal(hiding: "4711-0815") {
                    try await driver.create(key: "new \(Self.sessionID)", value: Unencodable(), expires: expires)
                }
            }
            try await storage.shutdown()
            await requireRefusals(driver)
        }

        /// Requires that each call of a driver throws an error without the key.
        private func requireRefusals(_ driver: StoragePersistDriver) async {
            let key = Self.sessionID
            await requireRefusal { try await driver.set(key: key, value: "v") }
            await requireRefusal { try await driver.set(key: key, value: "v", expires: .seconds(10)) }
            await requireRefusal { try await driver.create(key: key, value: "v") }
            await requireRefusal { try await driver.create(key: key, value: "v", expires: .seconds(10)) }
            await requireRefusal { _ = try await driver.get(key: key, as: String.self) }
            await requireRefusal { _ = try await driver.getWithTTL(key: key, as: String.self) }
            await requireRefusal { try await driver.remove(key: key) }
            await requireRefusal { try await driver.tidy() }
        }

        private func requireRefusal(
            hiding value: String? = nil, at location: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
        ) async {
            do {
                try await body()
                Issue.record("No error was thrown.", sourceLocation: location)
            } catch let error as StorageError {
                var dumped = ""
                dump(error, to: &dumped)
                for text in ["\(error)", String(reflecting: error), error.localizedDescription, dumped] {
                    for secret in [Self.sessionID, value].compactMap(\.self) {
                        #expect(!text.contains(secret), "\(error.code)", sourceLocation: location)
                    }
                }
            } catch {
                Issue.record("The error is not a StorageError: \(type(of: error))", sourceLocation: location)
            }
        }
    }
#endif

import LocalData
import LocalDataTesting
import Testing

/// Returns a machine with the values as version 1 stored them.
func machineOfVersion1(interval: String = "15") async throws -> TestMachine {
    let machine = TestMachine()
    machine.seedUserDefaults([
        "apiToken": .string("abc"), "city.home": .string("Graz"), "intervalText": .string(interval), "firstName": .string("Ada"),
        "lastName": .string("Lovelace"), "skin": .string("dark"),
    ])
    try await machine.launch().set(PlaceV1(name: "Graz/Austria"), for: StorageKey(name: "home", domain: .userDefaults))
    return machine
}

/// Returns the state of each key of a report.
func states(of report: MigrationReport) -> [String: MigrationReport.State] {
    Dictionary(report.rows.map { ($0.key, $0.state) }, uniquingKeysWith: { first, _ in first })
}

/// The samples of the guide about sweeps.
@Suite struct SweepTests {
    private let keyring = StorageDomain.keychain(service: "com.example.weather")

    @Test func `a sweep moves the value of every key, and a second sweep has nothing to do`() async throws {
        let machine = try await machineOfVersion1()
        let first = try await migrateAtLaunch(machine.launch(version: "2.0"))
        try first.requireComplete()
        let expected: [String: MigrationReport.State] = [
            "api-token": .moved, "city": .moved, "interval": .moved, "observer": .moved, "theme": .moved, "home": .converted,
        ]
        #expect(states(of: first) == expected)
        #expect(Set(first.rows.map(\.owner)) == ["Weather"])

        let storage = machine.launch(version: "2.0")
        let second = try await migrateAtLaunch(storage)
        try second.requireComplete()
        #expect(second.rows.allSatisfy { $0.state == .unchanged })
        #expect(try await storage.get(.token) == "abc")
        #expect(try await storage.get(.city) == "Graz")
        #expect(try await storage.get(.interval) == 15)
        #expect(try await storage.get(.observer) == "Ada Lovelace")
        #expect(try await storage.get(.theme) == "dark")
        #expect(try await storage.get(.home) == Place(city: "Graz", country: "Austria", label: "Graz"))
    }

    @Test func `without migrateImmediately, a catalog is registered and nothing moves`() async throws {
        let storage = try await machineOfVersion1().launch()
        let report = try await storage.registerCatalog(WeatherKeys())
        #expect(report.rows.isEmpty)
        #expect(try await storage.exists(.oldToken))
    }

    @Test func `a sweep reports the keys that it could not move and does not throw`() async throws {
        let machine = try await machineOfVersion1(interval: "soon")
        machine.lock(keyring)
        let report = try await migrateAtLaunch(machine.launch())
        #expect(report.blocked.map(\.key) == ["api-token"])
        #expect(report.blocked.map(\.errorCode) == [.locked])
        #expect(report.failed.map(\.key) == ["interval"])
        #expect(report.failed.map(\.errorCode) == [.migrationFailed])
        #expect(Set(report.moved.map(\.key)) == ["city", "observer", "theme", "home"])
        #expect(!report.isComplete)
        let error = #expect(throws: StorageError.self) { try report.requireComplete() }
        #expect(error?.code == .migrationFailed)
        #expect(throws: StorageError.self) { try explain(report) }
    }

    @Test func `the token waits for the keyring, and the next launch moves it`() async throws {
        let machine = TestMachine()
        machine.seedUserDefaults(["apiToken": .string("abc")])  // as version 1 stored it
        machine.lock(.keychain(service: "com.example.weather"))
        let report = try await machine.launch().registerCatalog(WeatherKeys(), migrateImmediately: true)
        #expect(report.blocked.map(\.key) == ["api-token"])

        machine.unlock(.keychain(service: "com.example.weather"))
        try await machine.launch().registerCatalog(WeatherKeys(), migrateImmediately: true).requireComplete()
        machine.cut()  // pending operations fail
        #expect(try await machine.launch().get(.token) == "abc")
    }

    @Test func `requireComplete throws locked if only the keyring is locked`() async throws {
        let machine = try await machineOfVersion1()
        machine.lock(keyring)
        let storage = machine.launch()
        let report = try await storage.registerCatalog(WeatherKeys(), migrateImmediately: true)
        let error = #expect(throws: StorageError.self) { try report.requireComplete() }
        #expect(error?.code == .locked)
        try explain(report)
        machine.unlock(keyring)
        try await storage.sweep().requireComplete()
    }

    private struct KeysWithLegacyKey: StorageKeyCatalog {
        var allKeys: [AnyStorageKey] { [.key(.token), .key(.oldToken)] }
    }

    @Test func `a catalog that lists a legacy key is refused, and nothing is registered`() async throws {
        let storage = try await machineOfVersion1().launch()
        let error = try await #require(throws: StorageError.self) {
            try await storage.registerCatalog(KeysWithLegacyKey(), migrateImmediately: true)
        }
        #expect(error.code == .unsupported)
        #expect(error.catalogProblems.map(\.kind) == [.liveSource])
        #expect(try await storage.exists(.oldToken))
    }

    @Test func `a plan reports what a sweep would do, and writes nothing`() async throws {
        let storage = try await machineOfVersion1(interval: "soon").launch()
        try await storage.registerCatalog(WeatherKeys())
        let plan = await storage.planSweep()
        for row in plan.rows where ![.unchanged, .absent, .removed].contains(row.state) { print("\(row.key): \(row.state)") }
        if !plan.failed.isEmpty { print("Do not release: \(plan.failed.map(\.key)) would fail.") }
        let expected: [String: MigrationReport.State] = [
            "api-token": .moved, "city": .cannotTell, "interval": .failed, "observer": .moved, "theme": .moved, "home": .converted,
        ]
        #expect(states(of: plan) == expected)
        #expect(try await storage.exists(.oldToken))
        #expect(try await !storage.exists(.token))
    }

    @Test func `a migration is safe to delete after the sweep that emptied its legacy locations`() async throws {
        let storage = try await machineOfVersion1().launch()
        try await storage.registerCatalog(WeatherKeys())
        let needed = try await storage.migrations().filter { !$0.isSafeToDelete }
        #expect(Set(needed.map(\.key)) == ["api-token", "city", "interval", "observer", "theme", "home"])

        try await storage.sweep().requireComplete()
        for migration in try await storage.migrations() {
            print(migration.id, migration.lastWorked.map { "last worked \($0)" } ?? "never worked", "\(migration.pending) wait")
            if migration.isSafeToDelete { print("… and no value on this machine needs it") }
        }
        #expect(try await storage.migrations().allSatisfy(\.isSafeToDelete))
    }
}

import LocalData
import LocalDataTesting
import Testing

@testable import weather

@Test func `a locked keyring delays a move, and loses nothing`() async throws {
    let machine = TestMachine()
    machine.seedUserDefaults(["apiToken": .string("wx-1"), "journal": .string("Rain.")], suite: "weather")

    machine.lock(.keychain)
    let report = try await machine.launch().registerCatalog(WeatherKeys(), migrateImmediately: true)
    // The journal waits too, because the key of its database is in the keyring.
    #expect(report.blocked.map(\.key) == ["api-token", "journal"])

    machine.unlock(.keychain)
    try await machine.launch().registerCatalog(WeatherKeys(), migrateImmediately: true).requireComplete()
    machine.cut()  // the power fails
    let storage = machine.launch()
    #expect(try await storage.get(.apiToken) == "wx-1")
    #expect(try await storage.get(.journal) == "Rain.")
}

@Test func `a text that is not a number stays, and the report names the key`() async throws {
    let machine = TestMachine()
    machine.seedUserDefaults(["refreshMinutes": .string("often")], suite: "weather")

    let storage = machine.launch()
    let report = try await storage.registerCatalog(WeatherKeys(), migrateImmediately: true)
    #expect(report.failed.map(\.key) == ["refreshInterval"])
    let older: StorageKey<String> = preferences.key("refreshMinutes", "The minutes as text, in version 1")
    #expect(try await storage.get(older) == "often")
}

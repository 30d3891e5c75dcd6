import BackendContract
import Foundation
import LocalData
import LocalDataService
import LocalDataTesting
import Testing

/// The health of a router's stores.
@Suite("Health")
struct HealthTests {
    private static let key = StorageKey<String>(name: "token", domain: .keychain, owner: "Tests", description: "A token")
        .moved(from: StorageKey(name: "token", domain: .userDefaults(suite: "old")))

    private struct Keys: StorageKeyCatalog {
        let id = "keys"
        var allKeys: [AnyStorageKey] { [.key(HealthTests.key)] }
        var owner: String { "Tests" }
    }

    @Test("a locked keyring, its last error and the pending migration are reported, until the keyring is unlocked")
    func lockedKeyring() async throws {
        let machine = TestMachine()
        machine.seedUserDefaults(["token": .string("abc")], suite: "old")
        let storage = machine.launch()
        try await storage.registerCatalog(Keys())
        machine.lock(.keychain)
        #expect(await code(thrownBy: { try await storage.get(Self.key) }) == StorageError.locked)
        let health = await storage.health(within: .seconds(60))
        #expect(!health.isHealthy)
        #expect(health.pendingKeys == 1)
        let keyring = try #require(health.stores.first { $0.domain.kind == .keychain })
        #expect("\(keyring.status)" == "locked")
        #expect(keyring.lastError == StorageError.locked)
        #expect(keyring.lastErrorAt != nil)

        machine.unlock(.keychain)
        _ = try await storage.get(Self.key)
        let recovered = await storage.health(within: .seconds(60))
        #expect(recovered.isHealthy)
        #expect(recovered.pendingKeys == 0)
        #expect(recovered.stores.first { $0.domain.kind == .keychain }?.lastError == StorageError.locked)
    }

    @Test("a failed sweep is the last error of the store")
    func failedSweep() async throws {
        let machine = TestMachine()
        machine.seedUserDefaults(["token": .string("abc")], suite: "old")
        let storage = machine.launch()
        machine.lock(.keychain)
        try await storage.registerCatalog(Keys(), migrateImmediately: true)
        let health = await storage.health(within: .seconds(60))
        let keyring = try #require(health.stores.first { $0.domain.kind == .keychain })
        #expect(keyring.lastError == StorageError.locked)
        #expect(keyring.lastErrorAt != nil)
    }

    @Test("a store that never answers is reported at the deadline")
    func stuckStore() async throws {
        let machine = TestMachine()
        let storage = machine.launch()
        try await storage.registerCatalog(Keys())
        #expect(try await storage.value(for: Self.key) == nil)
        let gate = FaultGate()
        try #require(machine.backends(of: .keychain).first).inject(.hold(gate), of: .read, repeats: true)
        let health = await storage.health(within: .milliseconds(20))
        #expect(health.pendingKeys == nil)
        #expect(health.stores.map(\.domain.kind).contains(.keychain))
        gate.open()
    }

    @Test("health creates no file, and a missing database is ready")
    func writesNothing() async throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("health-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: root) }
        let storage = StorageRouter(configuration: StorageConfiguration(root: root, applicationID: "com.example.health"))
        let key = StorageKey<String>(
            name: "setting", domain: .userDefaults(suite: "new"), owner: "Tests", description: "A setting"
        )
        .moved(from: StorageKey(name: "setting", domain: .userDefaults(suite: "old")))
        struct Settings: StorageKeyCatalog {
            let id = "settings"
            let allKeys: [AnyStorageKey]
            var owner: String { "Tests" }
        }
        try await storage.registerCatalog(Settings(allKeys: [.key(key)]))
        let health = await storage.health(within: .seconds(60))
        #expect(health.isHealthy)
        #expect(health.pendingKeys == 0)
        #expect(try FileManager.default.subpathsOfDirectory(atPath: root.path) == [])
    }
}

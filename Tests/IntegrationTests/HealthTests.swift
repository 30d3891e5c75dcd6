import BackendContract
import BackendRuntime
import Foundation
import LocalData
import LocalDataService
import LocalDataTesting
import MemoryBackend
import TestSupport
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
        let health = await storage.health(within: .seconds(600))
        #expect(!health.isHealthy)
        #expect(health.pendingKeys == 1)
        let keyring = try #require(health.stores.first { $0.domain.kind == .keychain })
        #expect("\(keyring.status)" == "locked")
        #expect(keyring.lastError == StorageError.locked)
        #expect(keyring.lastErrorAt != nil)

        machine.unlock(.keychain)
        _ = try await storage.get(Self.key)
        let recovered = await storage.health(within: .seconds(600))
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
        let health = await storage.health(within: .seconds(600))
        let keyring = try #require(health.stores.first { $0.domain.kind == .keychain })
        #expect(keyring.lastError == StorageError.locked)
        #expect(keyring.lastErrorAt != nil)
    }

    @Test("a store that never answers is reported as unavailable exactly at the deadline", .timeLimit(.minutes(5)))
    func stuckStore() async throws {
        let (clock, medium) = (ManualClock(), MemoryMedium())
        let (reads, statuses) = (Gate(), Gate())
        var configuration = TestMachine { $0.runtime.clock = clock }.configuration
        configuration.useBackend(for: .keychain) { scope in
            FaultyStore(
                store: .standIn(for: .keychain(service: scope), medium: medium, runtime: .live(clock: clock)),
                fault: FaultyStore.Fault(
                    read: { store, addresses, freshness async throws(BackendError) in
                        await reads.pass()
                        return try await store.read(addresses, freshness)
                    },
                    status: { store in
                        await statuses.pass()
                        return await store.status()
                    }))
        }
        let storage = StorageRouter(configuration: configuration)
        try await storage.registerCatalog(Keys())
        let answer = Task { await storage.health(within: .seconds(2)) }
        await statuses.arrived()
        await reads.arrived()
        // Every task waits for a gate now, so only the clock ends the call.
        clock.advance(by: .milliseconds(1_999))
        let timers = clock.pending
        clock.advance(by: .milliseconds(1))
        #expect(clock.pending == timers - 1)
        let health = await answer.value
        #expect(!health.isHealthy)
        #expect(health.pendingKeys == nil)
        let keyring = try #require(health.stores.first { $0.domain.kind == .keychain })
        guard case .unavailable(let error) = keyring.status else { throw ProgramFailure("the status is \(keyring.status)") }
        #expect(error.code == StorageError.timedOut)
        #expect(keyring.lastError == nil)
        reads.open()
        statuses.open()
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
        let health = await storage.health(within: .seconds(600))
        #expect(health.isHealthy)
        #expect(health.pendingKeys == 0)
        #expect(try FileManager.default.subpathsOfDirectory(atPath: root.path) == [])
    }
}

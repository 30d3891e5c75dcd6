import BackendContract
import BackendRuntime
import Foundation
import LocalData
import LocalDataTesting
import MemoryBackend
import TestSupport
import Testing

/// The quarantine keeps values that lost a conflict. A conflict exists if the legacy location of a key and its destination have different
/// values.
@Suite(.inTurn) struct QuarantineTests {
    /// Stores two values of a key, so that a sweep quarantines the one in the legacy location.
    private func quarantined<Value: Codable & Sendable>(
        _ storage: StorageRouter, _ old: StorageKey<Value>, _ new: StorageKey<Value>, _ values: (Value, Value)
    ) async throws -> QuarantinedValue {
        let key = new.moved(from: old)
        try await storage.set(values.0, for: old)
        _ = try await storage.get(key)
        try await storage.set(values.1, for: old)
        #expect(await storage.sweep(TestCatalog(.key(key))).rows.map(\.state) == [.resolved])
        return try #require(try await storage.quarantine.values().first)
    }

    @Test(arguments: [
        KeySourceReference.keyFile("key"), .credential("key"), .passphrase("key"), .secretPortal("key"), .keychain(service: "keys"),
    ])
    func `a value that a key of any source has sealed can be read in another run`(_ source: KeySourceReference) async throws {
        let configuration = StorageConfiguration.inMemory()
        func key(_ name: String) -> StorageKey<String> { textKey(name, .userDefaults(suite: name), .encrypted(source)) }
        let first = StorageRouter(configuration: configuration)
        let entry = try await quarantined(first, key("old"), key("new"), ("kept", "lost"))
        #expect(entry.key == "old" && entry.isSealed)
        let second = StorageRouter(configuration: configuration)
        #expect(String(decoding: try await second.quarantine.data(of: entry), as: UTF8.self).contains("lost"))
        try await second.quarantine.purge(entry)
        #expect(try await second.quarantine.values().isEmpty)
        await expectRefusal(StorageError.notFound) { _ = try await second.quarantine.data(of: entry) }
    }

    @Test func `the content of a value that another program stored is its text, its bytes or JSON`() async throws {
        func content<Value: Codable & Sendable>(_ type: Value.Type, _ kept: NativeValue, _ lost: NativeValue) async throws -> Data {
            let machine = TestMachine()
            let (old, new) = (testKey("old", .userDefaults(suite: "a"), of: type), testKey("new", .userDefaults(suite: "b"), of: type))
            machine.writeForeign(kept, to: old.domain, name: "old")
            let storage = machine.launch()
            _ = try await storage.get(new.moved(from: old))
            machine.writeForeign(lost, to: old.domain, name: "old")
            _ = await storage.sweep(TestCatalog(.key(new.moved(from: old))))
            return try await storage.quarantine.data(of: try #require(try await storage.quarantine.values().first))
        }
        #expect(try await content(String.self, .string("a"), .string("b")) == Data("b".utf8))
        #expect(try await content(Data.self, .data([1]), .data([2, 3])) == Data([2, 3]))
        #expect(try await content(Int.self, .integer(6), .integer(7)) == Data("7".utf8))
    }

    @Test func `while the quarantine fails, a sweep leaves both values, and a list of the quarantine throws`() async throws {
        let ledger = InMemoryStore.standIn(for: .userDefaults(suite: "ledger"), medium: MemoryMedium(), runtime: .live)
        let store = FaultingBackend(
            InMemoryStore.standIn(for: .userDefaults(suite: "quarantine"), medium: MemoryMedium(), runtime: .live))
        let storage = TestMachine { configuration in
            configuration.makeOwnStore = { (name, _) -> any StorageBackend in if name == "quarantine" { store } else { ledger } }
        }.launch()
        let (old, new) = (textKey("old", .userDefaults(suite: "a")), textKey("new", .userDefaults(suite: "b")))
        let first = try await quarantined(storage, old, new, ("one", "two"))
        for (fault, code) in [(StorageFault.locked, StorageError.locked), (.unavailable, StorageError.unavailable)] {
            store.inject(fault, repeats: true)
            await expectRefusal(code) { _ = try await storage.quarantine.values() }
            await expectRefusal(code) { try await storage.quarantine.purge(first) }
            store.removeFaults()
        }
        try await storage.set("three", for: old)
        store.inject(.unavailable, repeats: true)
        let row = try #require(await storage.sweep().rows.first)
        #expect(row.state == .blocked || row.state == .failed, "\(row)")
        #expect(try await storage.get(old) == "three")
        #expect(try await storage.get(new.moved(from: old)) == "one")
        store.removeFaults()
        #expect(await storage.sweep().rows.map(\.state) == [.resolved])
        #expect(try await storage.quarantine.values().count == 2)
    }

    /// A custom migration that asks a ready-made one.
    private struct Wrapper: StorageMigration {
        let base: SimpleLegacyMigration<String>
        var destinationKey: StorageKey<String> { base.destinationKey }
        var sources: [AnyStorageKey] { base.sources }

        func shouldMigrate(using router: StorageRouter, context: MigrationContext) async throws -> Bool {
            try await base.shouldMigrate(using: router, context: context)
        }

        func migrate(using router: StorageRouter, context: MigrationContext) async throws -> MigrationResult {
            try await base.migrate(using: router, context: context)
        }
    }

    @Test func `a custom migration can ask a ready-made one whether there is something to move`() async throws {
        let machine = TestMachine()
        let storage = machine.launch()
        let old = textKey("old", .userDefaults(suite: "a"))
        let key = StorageKey<String>(
            name: "new", domain: .userDefaults(suite: "b"), owner: "Tests", description: "A value",
            migration: { AnyStorageMigration(Wrapper(base: SimpleLegacyMigration(destinationKey: $0, sourceKey: old))) })
        #expect(try await storage.value(for: key) == nil)
        try await storage.set("text", for: old)
        #expect(try await storage.get(key) == "text")
        #expect(try await storage.value(for: old) == nil)
    }
}

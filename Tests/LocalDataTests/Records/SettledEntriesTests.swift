import BackendContract
import LocalData
import LocalDataTesting
import TestSupport
import Testing

/// A sweep migrates the values of all keys of a catalog. It checks many keys with one read for each store, and then
/// migrates only the keys that need work.
@Suite struct SettledEntriesTests {
    private static let (database, list) = (StorageDomain.encryptedSQLite(database: "modern"), StorageDomain.userDefaults(suite: "legacy"))

    private func older(_ name: String) -> StorageKey<String> { textKey(name, Self.list) }

    private func key(_ name: String) -> StorageKey<String> { textKey(name, Self.database).moved(from: older(name)) }

    private func calls(_ machine: TestMachine, _ domain: StorageDomain) -> [LoggedOperation] { machine.backends(of: domain).flatMap(\.log) }

    @Test func `a sweep of 100 keys that need no work reads each store once and changes nothing`() async throws {
        let machine = TestMachine()
        let names = (0..<100).map { "key-\($0)" }
        let router = machine.launch()
        for name in names { try await router.set("value of \(name)", for: older(name)) }
        let catalog = TestCatalog(names.map { .key(key($0)) })
        #expect(try await router.registerCatalog(catalog, migrateImmediately: true).moved.count == 100)
        let before = (calls(machine, Self.database).count, calls(machine, Self.list).count)
        let report = await router.sweep()
        #expect(report.rows.count == 100)
        #expect(report.rows.allSatisfy { $0.state == .unchanged && $0.residue.isEmpty })
        #expect(report.rows.map(\.key) == names)
        #expect(calls(machine, Self.database).dropFirst(before.0).map(\.kind) == [.read])
        #expect(calls(machine, Self.list).dropFirst(before.1).map(\.kind) == [.read])
    }

    @Test func `a sweep reports all keys in the order of the catalog, whether or not they need work`() async throws {
        let machine = TestMachine()
        let router = machine.launch()
        let names = ["settled", "conflict", "absent", "removed", "waiting", "undecodable", "expired", "last"]
        let number = StorageKey<Int>(name: "undecodable", domain: Self.database, owner: "Tests", description: "A number")
        let keys: [AnyStorageKey] = names.map { $0 == "undecodable" ? .key(number) : .key(key($0)) }
        for name in names where !["absent", "waiting"].contains(name) { try await router.set("value", for: textKey(name, Self.database)) }
        try await router.set("value", for: textKey("expired", Self.database), lifetime: .zero)
        try await router.remove(key("removed"))
        try await router.set("another", for: older("conflict"))
        try await router.set("value", for: older("waiting"))
        let progress = Shared<[String]>([])
        try await router.registerCatalog(TestCatalog(keys))
        let report = await router.sweep { state in progress.note(state.key) }
        #expect(report.rows.map(\.key) == names)
        #expect(
            report.rows.map(\.state) == [.unchanged, .resolved, .absent, .removed, .moved, .failed, .expired, .unchanged])
        #expect(progress.all.sorted() == names.sorted())
    }

    /// A custom migration that counts its runs.
    private struct Own: StorageMigration {
        let destinationKey: StorageKey<String>
        let runs: Shared<Int>

        func shouldMigrate(using router: StorageRouter, context: MigrationContext) async throws -> Bool { true }

        func migrate(using router: StorageRouter, context: MigrationContext) async throws -> MigrationResult {
            runs.count()
            return try await context.move(from: textKey("own-source", list), to: destinationKey) { $0 }
        }
    }

    @Test func `a custom migration whose shouldMigrate returns true runs at every sweep, even if the key has a value`() async throws {
        let machine = TestMachine()
        let router = machine.launch()
        let runs = Shared(0)
        func own(_ name: String) -> StorageKey<String> {
            StorageKey(
                name: name, domain: Self.database, owner: "Tests", description: "A value",
                migration: { AnyStorageMigration(Own(destinationKey: $0, runs: runs)) })
        }
        try await router.set("value", for: own("own"))
        try await router.registerCatalog(TestCatalog(.key(own("own"))))
        for count in 1...2 {
            await router.sweep()
            #expect(runs.number == count)
        }
    }
}

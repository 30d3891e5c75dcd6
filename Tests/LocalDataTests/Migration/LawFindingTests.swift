import BackendContract
import LocalData
import LocalDataTesting
import TestSupport
import Testing

/// Errors that the random tests of the migration state table (`MigrationLawTests`) found, each as a short program.
///
/// The destination is the slot where a key stores its value now. In a legacy location, an earlier version stored it.
/// The copy there is superseded once the destination has taken it over or has a newer value. A tombstone is the record
/// of a removal. The quarantine is the store for displaced values.
@Suite(.inTurn) struct LawFindingTests {
    let machine = TestMachine()

    private func key<Value>(_ name: String, _ domain: StorageDomain, as type: Value.Type = Value.self) -> StorageKey<Value> {
        StorageKey(name: name, domain: domain, owner: "Tests", description: "A value")
    }

    @Test func `a value that is converted within its slot still supersedes the legacy copies that it superseded before`() async throws {
        let router = machine.launch()
        let oldest = key("size", .userDefaults(suite: "a"), as: Int.self)
        let second = key("size", .userDefaults(suite: "b"), as: Int.self).moved(from: oldest)
        try await router.set(3, for: oldest)
        try await router.set(5, for: second)
        let third = key("size", .userDefaults(suite: "b"), as: String.self)
            .moved(from: key("size", .userDefaults(suite: "b"), as: Int.self)) { "\($0) pt" }
            .moved(from: oldest) { "\($0) pt" }.resolvingConflicts(.sourceWins)
        #expect(try await router.get(third) == "5 pt")
        let report = try await router.registerCatalog(TestCatalog(.key(third)), migrateImmediately: true)
        #expect(report.rows.map(\.state) == [.purged])
        #expect(try await router.get(third) == "5 pt")
        #expect(try await router.value(for: oldest) == nil)
    }

    @Test
    func `damaged or undecodable content at the destination is an error, even if a legacy location contains a tombstone`() async throws {
        let router = machine.launch()
        let oldest = key("name", .userDefaults(suite: "a"), as: String.self)
        let source = key("name", .userDefaults(suite: "b"), as: String.self).moved(from: oldest)
        let key = key("name", .userDefaults(suite: "c"), as: String.self).moved(from: source)
        try await router.remove(source)
        machine.corrupt(key.domain, name: "name", bytes: [1, 2, 3])
        await expectRefusal(StorageError.corrupted) { _ = try await router.get(key) }
        let report = try await router.registerCatalog(TestCatalog(.key(key)), migrateImmediately: true)
        #expect(report.rows.map(\.state) == [.failed])
        #expect(report.rows.first?.errorCode == .corrupted)
        await expectRefusal(StorageError.corrupted) { try await router.forceMigration(for: key) }
        machine.writeForeign(.integer(7), to: key.domain, name: "name")
        #expect(await router.sweep().rows.map(\.errorCode) == [.undecodable])
        #expect(try await router.audit().quarantine.isEmpty)
    }

    @Test
    func `a conflict with a legacy value that the destination would protect less is refused, and nothing is quarantined`() async throws {
        let router = machine.launch()
        let source = key("token", .keychain(service: "s"), as: String.self)
        let plain = key("token", .userDefaults(suite: "b"), as: String.self).moved(from: source)
        try await router.set("theirs", for: source)
        try await router.set("mine", for: key("token", .userDefaults(suite: "b")))
        for key in [plain.resolvingConflicts(.sourceWins), plain.resolvingConflicts(.merge { mine, theirs in (mine ?? "") + theirs })] {
            await expectRefusal(StorageError.weakerProtection) { try await router.forceMigration(for: key) }
        }
        #expect(try await router.audit().quarantine.isEmpty)
    }
}

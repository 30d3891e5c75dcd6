import BackendContract
import Foundation
import LocalDataTesting
import TestSupport
import Testing

@testable import LocalData

/// Reports with which a developer decides whether a migration or a key can be deleted from a program.
///
/// The ledger is the library's record of past migrations. A sweep migrates the values of all keys of a catalog. A
/// retired key is one that the program no longer uses. The catalog still lists it, so that reports show what is left of
/// its value.
@Suite(.inTurn) struct RetirementTests {
    private let list = StorageDomain.userDefaults(suite: "list")
    private let ring = StorageDomain.keychain(service: "ring")

    private var first: StorageKey<String> { textKey("first", list) }
    private var third: StorageKey<String> { textKey("third", ring).moved(from: textKey("second", ring).moved(from: first)) }

    private func launch(_ machine: TestMachine, _ keys: AnyStorageKey...) async throws -> StorageRouter {
        let router = machine.launch(version: "2.1")
        try await router.registerCatalog(TestCatalog(keys))
        return router
    }

    @Test func `a chain of migrations is not safe to delete while the first legacy location of the chain has a value`() async throws {
        let machine = TestMachine()
        machine.writeForeign(.string("old"), to: list, name: "first")
        let router = try await launch(machine, .key(third))
        let status = try #require(try await router.migrations().first)
        #expect(!status.isSafeToDelete)
        #expect(status.pending == 1)
        #expect(status.evidence.holding.keys.sorted() == ["userDefaults(list)/first"])
        try await router.sweep().requireComplete()
        let after = try #require(try await router.migrations().first)
        #expect(after.isSafeToDelete)
        #expect(after.history?.successes == 1)
    }

    @Test func `a migration is not safe to delete while a legacy location is locked or has damaged content`() async throws {
        let machine = TestMachine()
        let router = try await launch(machine, .key(third))
        #expect(try await router.migrations().allSatisfy(\.isSafeToDelete))
        machine.lock(ring)
        let locked = try #require(try await router.migrations().first)
        #expect(!locked.isSafeToDelete && locked.evidence.answer == .cannotTell)
        machine.unlock(ring)
        machine.corrupt(list, name: "first", bytes: [1, 2, 3])
        let damaged = try #require(try await router.migrations().first)
        #expect(!damaged.isSafeToDelete && damaged.evidence.answer == .some)
    }

    @Test
    func `a custom migration that declares no sources is reported as cannotTell, because older copies could be anywhere`() async throws {
        struct Own: StorageMigration {
            let destinationKey: StorageKey<String>
            func shouldMigrate(using router: StorageRouter, context: MigrationContext) async throws -> Bool { false }
            func migrate(using router: StorageRouter, context: MigrationContext) async throws -> MigrationResult {
                MigrationResult(success: true)
            }
        }
        let key = StorageKey<String>(
            name: "own", domain: list, owner: "Tests", description: "A value", migration: { AnyStorageMigration(Own(destinationKey: $0)) })
        let router = try await launch(TestMachine(), .key(key))
        #expect(try await router.migrations().map(\.evidence.answer) == [.cannotTell])
    }

    @Test func `an audit reports older copies as absent, present or unknown`() async throws {
        let machine = TestMachine()
        let router = try await launch(machine, .key(third))
        func answer() async throws -> OlderCopies.Answer { try await router.audit().rows[0].olderCopies.answer }
        #expect(try await answer() == .none)
        machine.lock(ring)
        #expect(try await answer() == .cannotTell)
        machine.unlock(ring)
        machine.writeForeign(.string("old"), to: list, name: "first")
        #expect(try await answer() == .some)
        let row = try #require(try await router.audit().rows.first)
        #expect(row.state == .pending)
        #expect(row.olderCopies.holding == ["userDefaults(list)/first": 1])
    }

    @Test func `the ledger records the source, the migration and the program version of a moved value`() async throws {
        let machine = TestMachine()
        machine.writeForeign(.string("old"), to: list, name: "old")
        let key = textKey("new", ring).moved(from: textKey("old", list), id: "2.0-token")
        let router = try await launch(machine, .key(key))
        try await router.sweep().requireComplete()
        let history = try await launch(machine, .key(key)).history()
        let value = try #require(history.values.first)
        #expect(value.place == "keychain/ring//new" && value.sources == ["userDefaults/list//old"])
        #expect(value.migration == "2.0-token" && value.applicationVersion == "2.1")
        let migration = try #require(history.migrations.first)
        #expect(migration.id == "2.0-token" && migration.successes == 1 && migration.values == 1 && migration.failures == 0)
        #expect(history.versions == ["Tests": "2.1"])
        let status = try #require(try await router.migrations().first { $0.id == "2.0-token" })
        let decoded = try JSONDecoder().decode(MigrationStatus.self, from: JSONEncoder().encode(status))
        #expect(decoded == status && decoded.isSafeToDelete && decoded.history == migration)
    }

    @Test func `the ledger counts the failed attempts of a migration and keeps the last error, and a loss of the ledger loses no value`()
        async throws
    {
        struct Bad: Error {}
        let machine = TestMachine()
        machine.writeForeign(.string("old"), to: list, name: "old")
        let failing = textKey("new", ring).moved(from: textKey("old", list), id: "move") { _ in throw Bad() }
        let router = try await launch(machine, .key(failing))
        for _ in 0..<2 { #expect(await router.sweep().failed.count == 1) }
        let entry = try #require(try await router.history().migrations.first)
        #expect(entry.failures == 2 && entry.attempts == 2 && entry.lastError?.contains("migrationFailed") == true)
        // Delete every entry of the ledger.
        let ledger = try router.history.ledger.store.backend()
        for address in try await ledger.addresses(in: .values) { _ = try await ledger.apply(.delete(address)) }
        let next = try await launch(machine, .key(textKey("new", ring).moved(from: textKey("old", list), id: "move")))
        #expect(try await next.get(textKey("new", ring).moved(from: textKey("old", list), id: "move")) == "old")
        #expect(try await next.history().migrations.map(\.successes) == [1])
    }

    @Test func `the history of a migration keeps the dates of its successes and failures over several launches`() async throws {
        struct Bad: Error {}
        let machine = TestMachine()
        machine.writeForeign(.string("a"), to: list, name: "a")
        machine.writeForeign(.string("b"), to: list, name: "b")
        func key(_ name: String, fails: Bool) -> StorageKey<String> {
            textKey("new \(name)", ring).moved(from: textKey(name, list), id: "move") { if fails { throw Bad() } else { return $0 } }
        }
        _ = try await launch(machine, .key(key("a", fails: false))).sweep()
        let first = try #require(try await launch(machine, .key(key("a", fails: false))).history().migrations.first)
        #expect(first.firstWorked != nil && first.firstWorked == first.lastWorked && first.lastFailed == nil)
        _ = try await launch(machine, .key(key("b", fails: true))).sweep()
        let second = try #require(try await launch(machine, .key(key("b", fails: true))).history().migrations.first)
        #expect(second.firstWorked == first.firstWorked && second.lastWorked == first.lastWorked)
        #expect(second.lastFailed != nil && second.lastError != nil && second.successes == 1 && second.failures == 1)
        _ = try await launch(machine, .key(key("b", fails: false))).sweep()
        let third = try #require(try await launch(machine, .key(key("b", fails: false))).history().migrations.first)
        #expect(third.firstWorked == first.firstWorked && third.lastFailed == second.lastFailed && third.lastError == second.lastError)
        #expect(third.successes == 2 && third.failures == 1 && third.lastWorked != nil)
    }

    @Test func `the ledger counts a failed conversion step and a failed merge under the ids of their migrations`() async throws {
        struct Bad: Error {}
        let machine = TestMachine()
        let chained = testKey("chained", list, of: Int.self)
        let source = textKey("old", list)
        let conflict = textKey("new", ring).moved(from: source, id: "compare").resolvingConflicts(.merge { _, _ in throw Bad() })
        let before = machine.launch()
        try await before.set(1, for: chained)
        try await before.set("mine", for: textKey("new", ring))
        try await before.set("theirs", for: source)
        let chain = Evolution.from(version: 1).to { _ in throw Bad() }
        let router = machine.launch()
        try await router.registerCatalog(TestCatalog(.key(chained.evolving(chain)), .key(conflict)))
        #expect(await router.sweep().failed.count == 2)
        let failures = try await router.history().migrations.map { "\($0.id): \($0.failures)" }.sorted()
        #expect(failures == ["chained:Evolution:1: 1", "compare: 1"])
    }

    @Test func `the value of a retired key is listed in the report as left over, and is not removed`() async throws {
        let machine = TestMachine()
        machine.writeForeign(.string("left"), to: list, name: "gone")
        var catalog = TestCatalog([.key(textKey("kept", list))])
        catalog.retiredKeys = [.key(textKey("gone", list)), .key(textKey("empty", list)), .key(textKey("hidden", ring))]
        machine.lock(ring)
        let router = machine.launch()
        let report = try await router.registerCatalog(catalog, migrateImmediately: true)
        #expect(report.rows.map(\.key) == ["kept", "gone", "hidden"])
        #expect(report.rows.map(\.state) == [.absent, .leftOver, .cannotTell])
        #expect(report.isComplete)
        #expect(try await router.audit().rows.map(\.state) == [.absent, .leftOver, .cannotTell])
        #expect(await router.planSweep().rows.map(\.state) == [.absent, .leftOver, .cannotTell])
        #expect(try await router.value(for: textKey("gone", list)) == "left")
        try await router.remove(textKey("gone", list))
        #expect(await router.sweep().rows.map(\.key) == ["kept", "hidden"])
    }
}

import BackendContract
import Foundation
import LocalData
import LocalDataTesting
import TestSupport
import Testing

/// Reads and sweeps of a key that has a migration, for different contents of its slots. The expected results are those
/// of the table in the section "The state table" of `Docs/Design.md`. A `TestMachine` simulates the stores in memory.
///
/// A slot is the location of one record in a store. The destination is the slot of the key. The legacy location, also
/// called source, is the slot in which an earlier version of the program kept the value. Each test sets the contents of
/// these slots, and checks the results of a read or a sweep. A sweep migrates the values of all keys of a catalog.
///
/// Two different values are a conflict. By default, the destination wins, and the legacy value goes into quarantine,
/// the store for displaced values. The copy that a move could not delete is superseded, and causes no conflict.
@Suite(.inTurn) struct StateTableTests {
    let machine = TestMachine()
    let source = textKey("old", .userDefaults(suite: "a"))
    var key: StorageKey<String> {
        StorageKey(name: "new", domain: .userDefaults(suite: "b"), owner: "Tests", description: "A value").moved(from: source)
    }

    func sweep(_ router: StorageRouter, _ key: StorageKey<String>? = nil) async throws -> MigrationReport.Row {
        let report = try await router.registerCatalog(TestCatalog(.key(key ?? self.key)), migrateImmediately: true)
        return try #require(report.rows.first)
    }

    @Test func `a sweep moves the legacy value to the destination, and a second sweep changes nothing`() async throws {
        let router = machine.launch()
        try await router.set("v", for: source)
        #expect(try await sweep(router).state == .moved)
        #expect(try await router.value(for: key) == "v")
        #expect(try await router.value(for: source) == nil)
        #expect(try await sweep(router).state == .unchanged)
    }

    @Test func `a set leaves the older value in the legacy location, and a sweep purges the older value`() async throws {
        let router = machine.launch()
        try await router.set("old value", for: source)
        try await router.set("new value", for: key)
        #expect(try await router.value(for: source) == "old value")
        let row = try await sweep(router)
        #expect(row.state == .purged)
        #expect(try await router.value(for: source) == nil)
        #expect(try await router.get(key) == "new value")
        #expect(try await router.audit().quarantine.isEmpty)
    }

    @Test func `a sweep purges a legacy value that equals the value of the key`() async throws {
        let router = machine.launch()
        try await router.set("v", for: source)
        _ = try await router.get(key)
        try await router.set("v", for: source)
        #expect(try await sweep(router).state == .purged)
        #expect(try await router.audit().quarantine.isEmpty)
    }

    @Test
    func `by default, a sweep quarantines a legacy value that differs from the value of the key, and the key keeps its value`() async throws
    {
        let router = machine.launch()
        try await router.set("v", for: source)
        _ = try await router.get(key)
        try await router.set("from an old program", for: source)
        try await router.registerCatalog(TestCatalog(.key(key)))
        #expect(await router.planSweep().rows.map(\.state) == [.resolved])
        #expect(try await router.get(source) == "from an old program")
        #expect(try await sweep(router).state == .resolved)
        #expect(try await router.get(key) == "v")
        #expect(try await router.value(for: source) == nil)
        let kept = try await router.audit().quarantine
        #expect(kept.count == 1)
        let content = try await router.quarantine.data(of: try #require(kept.first))
        #expect(String(decoding: content, as: UTF8.self) == "from an old program")
        try await router.quarantine.purge(try #require(kept.first))
        #expect(try await router.audit().quarantine.isEmpty)
    }

    @Test
    func `with sourceWins, a conflicting legacy value replaces the value of the key, and the replaced value is quarantined`() async throws {
        let router = machine.launch()
        let key = key.resolvingConflicts(.sourceWins)
        try await router.set("v", for: source)
        _ = try await router.get(key)
        try await router.set("later", for: source)
        #expect(try await sweep(router, key).state == .resolved)
        #expect(try await router.get(key) == "later")
        #expect(try await router.value(for: source) == nil)
        #expect(try await router.audit().quarantine.count == 1)
    }

    @Test func `with merge, the result of the closure replaces the value of the key and the conflicting legacy value`() async throws {
        let router = machine.launch()
        let key = key.resolvingConflicts(.merge { mine, theirs in "\(mine ?? "-")+\(theirs)" })
        try await router.set("a", for: source)
        _ = try await router.get(key)
        try await router.set("b", for: source)
        #expect(try await sweep(router, key).state == .resolved)
        #expect(try await router.get(key) == "a+b")
        #expect(try await router.value(for: source) == nil)
    }

    @Test func `if the merge closure of a conflict throws, the sweep reports a failure and changes nothing`() async throws {
        let router = machine.launch()
        let key = key.resolvingConflicts(.merge { _, _ in throw CocoaError(.formatting) })
        try await router.set("a", for: source)
        _ = try await router.get(key)
        try await router.set("b", for: source)
        #expect(try await sweep(router, key).state == .failed)
        #expect(try await router.get(key) == "a")
        #expect(try await router.get(source) == "b")
    }

    @Test func `a sweep purges the legacy copy that a removal could not delete, and the value stays removed`() async throws {
        let router = machine.launch()
        try await router.set("v", for: source)
        for backend in machine.backends(of: source.domain) { backend.inject(.unavailable, of: .apply, repeats: true) }
        await expectRefusal(StorageError.residueRemains) { try await router.remove(key) }
        for backend in machine.backends(of: source.domain) { backend.removeFaults() }
        #expect(try await router.value(for: key) == nil)
        #expect(try await sweep(router).state == .purged)
        #expect(try await router.value(for: key) == nil)
        #expect(try await router.audit().quarantine.isEmpty)
    }

    @Test
    func `content that is written to the legacy location again after a removal is a conflict and not a superseded copy`() async throws {
        let router = machine.launch()
        try await router.set("v", for: source)
        try await router.remove(key)
        #expect(try await router.value(for: source) == nil)
        try await router.set("v", for: source)
        #expect(try await router.value(for: key) == nil)
        #expect(try await sweep(router).state == .resolved)
        #expect(try await router.value(for: key) == nil)
        #expect(try await router.audit().quarantine.count == 1)
    }

    @Test
    func `after a removal, a value that an old program writes to the legacy location is quarantined and does not return`() async throws {
        let router = machine.launch()
        try await router.set("v", for: source)
        _ = try await router.get(key)
        try await router.remove(key)
        try await router.set("resurrected", for: source)
        #expect(try await router.value(for: key) == nil)
        #expect(try await sweep(router).state == .resolved)
        #expect(try await router.value(for: key) == nil)
        #expect(try await router.audit().quarantine.count == 1)
    }

    @Test func `damaged bytes at the destination are quarantined before the legacy value replaces them`() async throws {
        let router = machine.launch()
        try await router.set("v", for: source)
        machine.corrupt(key.domain, name: "new", bytes: [1, 2, 3])
        #expect(try await router.get(key) == "v")
        let kept = try await router.audit().quarantine
        #expect(kept.count == 1)
        #expect(try await router.quarantine.data(of: try #require(kept.first)) == Data([1, 2, 3]))
    }

    @Test func `an undecodable record at the destination is quarantined before the legacy value replaces it`() async throws {
        let router = machine.launch()
        try await router.set("v", for: source)
        machine.writeForeign(.integer(7), to: key.domain, name: "new")
        #expect(try await router.get(key) == "v")
        #expect(try await router.audit().quarantine.count == 1)
    }

    @Test func `if there is no legacy value, unreadable content at the destination stays, and a read throws`() async throws {
        let router = machine.launch()
        machine.corrupt(key.domain, name: "new", bytes: [1, 2, 3])
        await expectRefusal(StorageError.corrupted) { _ = try await router.get(key) }
        machine.writeForeign(.integer(7), to: key.domain, name: "new")
        await expectRefusal(StorageError.undecodable) { _ = try await router.get(key) }
        #expect(try await router.audit().quarantine.isEmpty)
        let number = testKey("new", key.domain, of: Int.self)
        #expect(try await router.get(number) == 7)
    }

    @Test func `a value of an older type in the slot of the key is converted there, and nothing is quarantined`() async throws {
        let router = machine.launch()
        let before = testKey("size", .userDefaults(suite: "b"), of: Int.self)
        let after = testKey("size", .userDefaults(suite: "b"), of: [String: Int].self)
            .moved(from: before) { ["width": $0, "height": $0] }
        try await router.set(5, for: before)
        #expect(try await router.get(after) == ["width": 5, "height": 5])
        #expect(try await router.get(after) == ["width": 5, "height": 5])
        #expect(try await router.audit().quarantine.isEmpty)
    }

    @Test func `with keepsReplacedBytes, a conversion in the slot of the key quarantines the bytes that it replaces`() async throws {
        let router = machine.launch()
        let before = testKey("size", .userDefaults(suite: "b"), of: Int.self)
        let after = textKey("size", .userDefaults(suite: "b"))
            .moved(from: before, options: MigrationOptions(keepsReplacedBytes: true)) { "\($0) pt" }
        try await router.set(5, for: before)
        #expect(try await router.get(after) == "5 pt")
        #expect(try await router.audit().quarantine.count == 1)
    }

    @Test func `a read throws and changes nothing while the destination or the legacy location is locked`() async throws {
        let router = machine.launch()
        try await router.set("v", for: source)
        machine.lock(key.domain)
        await expectRefusal(StorageError.locked) { _ = try await router.get(key) }
        machine.unlock(key.domain)
        machine.lock(source.domain)
        await expectRefusal(StorageError.locked) { _ = try await router.get(key) }
        #expect(try await !router.exists(key))
        machine.unlock(source.domain)
        #expect(try await router.get(key) == "v")
    }

    @Test
    func `while the preferred legacy location is locked, a read throws and does not use the next legacy location instead`() async throws {
        let router = machine.launch()
        let lower = textKey("older", .userDefaults(suite: "c"))
        let key = key.moved(from: lower)
        try await router.set("right", for: source)
        try await router.set("wrong", for: lower)
        machine.lock(source.domain)
        await expectRefusal(StorageError.locked) { _ = try await router.get(key) }
        machine.unlock(source.domain)
        #expect(try await router.get(key) == "right")
    }

    @Test func `a read skips an unavailable legacy location only if the migration has the option skip`() async throws {
        let router = machine.launch()
        let lower = textKey("older", .userDefaults(suite: "c"))
        try await router.set("lower", for: lower)
        machine.makeUnavailable(source.domain)
        await expectRefusal(StorageError.unavailable) { _ = try await router.get(key.moved(from: lower)) }
        let skipping = textKey("new", key.domain)
            .moved(from: source, options: MigrationOptions(whenSourceUnavailable: .skip)).moved(from: lower)
        #expect(try await router.get(skipping) == "lower")
    }

    @Test func `a migration whose source and destination are the same slot deletes nothing`() async throws {
        let router = machine.launch()
        let same = textKey("new", .userDefaults(suite: "b"))
        let key = textKey("new", .userDefaults(suite: "b")).moved(from: same)
        try await router.set("v", for: same)
        #expect(try await router.get(key) == "v")
        #expect(try await sweep(router, key).state == .unchanged)
        try await router.forceMigration(for: key)
        #expect(try await router.get(key) == "v")
    }

    @Test func `a get moves a value through a chain of two migrations and leaves no copy in either source`() async throws {
        let router = machine.launch()
        let second = textKey("second", .userDefaults(suite: "c")).moved(from: source)
        let third = textKey("third", .keychain(service: "s")).moved(from: second)
        try await router.set("v", for: source)
        #expect(try await router.get(third) == "v")
        #expect(try await !router.exists(second))
        #expect(try await !router.exists(source))
        try await router.set("v", for: source)
        #expect(try await sweep(router, third).state == .purged)
    }

    @Test func `remove deletes the copies in all legacy locations of a chain of migrations`() async throws {
        let router = machine.launch()
        let second = textKey("second", .userDefaults(suite: "c")).moved(from: source)
        let third = textKey("third", .keychain(service: "s")).moved(from: second)
        try await router.set("v", for: source)
        try await router.remove(third)
        #expect(try await router.value(for: second) == nil)
        #expect(try await router.value(for: source) == nil)
        #expect(try await router.value(for: third) == nil)
    }

    @Test
    func `remove throws residueRemains for a legacy copy that it could not delete, and a second remove deletes the copy`() async throws {
        let router = machine.launch()
        try await router.set("v", for: source)
        machine.lock(source.domain)
        let error = try await #require(throws: StorageError.self) { try await router.remove(key) }
        #expect(error.code == StorageError.residueRemains)
        #expect(error.outcome == .applied)
        #expect(try await router.value(for: key) == nil)
        machine.unlock(source.domain)
        try await router.remove(key)
        #expect(try await router.value(for: source) == nil)
        #expect(try await router.value(for: key) == nil)
    }

    @Test func `a move to weaker protection is refused before anything is read, unless allowsWeakerProtection is set`() async throws {
        let router = machine.launch()
        let secret = textKey("secret", .keychain(service: "s"))
        let plain = textKey("plain", .userDefaults(suite: "b"))
        try await router.set("hidden", for: secret)
        machine.lock(secret.domain)
        await expectRefusal(StorageError.weakerProtection) { _ = try await router.get(plain.moved(from: secret)) }
        machine.unlock(secret.domain)
        let allowed = plain.moved(from: secret, options: MigrationOptions(allowsWeakerProtection: true))
        #expect(try await router.get(allowed) == "hidden")
        // The destination records the revision of its source, which reveals nothing about the keyring's value.
        try await router.registerCatalog(TestCatalog(.key(allowed)))
        #expect(try await router.audit().rows.map { $0.provenance.map(\.name) } == [["secret"]])
    }

    @Test func `a move from a property list to memory, which keeps values for a shorter time, is refused`() async throws {
        let router = machine.launch()
        let transient = textKey("t", .memory()).moved(from: source)
        try await router.set("v", for: source)
        await expectRefusal(StorageError.weakerProtection) { _ = try await router.get(transient) }
        #expect(try await router.get(source) == "v")
    }

    @Test func `a legacy value from which two keys take their values is deleted only after each key has its value`() async throws {
        let router = machine.launch()
        let first = textKey("first", .userDefaults(suite: "b")).moved(
            from: source
        ) {
            String($0.prefix(1))
        }
        let second = textKey("second", .userDefaults(suite: "b"))
            .moved(from: source) {
                String($0.dropFirst())
            }
        try await router.registerCatalog(TestCatalog(.key(first), .key(second)))
        try await router.set("ab", for: source)
        #expect(try await router.get(first) == "a")
        #expect(try await router.get(source) == "ab")
        #expect(try await !router.audit().recordedResidue.isEmpty)
        #expect(try await router.get(second) == "b")
        let report = await router.sweep()
        #expect(report.isComplete)
        #expect(try await router.value(for: source) == nil)
        #expect(try await router.audit().recordedResidue.isEmpty)
    }
}

import BackendContract
import Foundation
import LocalData
import LocalDataTesting
import TestSupport
import Testing

/// The state table of a migration, row by row, on a machine in memory: what stands at the destination, what at the source, and what a read and a
/// sweep make of it.
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

    @Test func `pending: a read moves the value, and a sweep does`() async throws {
        let router = machine.launch()
        try await router.set("v", for: source)
        #expect(try await sweep(router).state == .moved)
        #expect(try await router.value(for: key) == "v")
        #expect(try await router.value(for: source) == nil)
        #expect(try await sweep(router).state == .unchanged)
    }

    @Test func `superseded: what a set replaced is purged by the sweep`() async throws {
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

    @Test func `the same content written again by an old program is purged`() async throws {
        let router = machine.launch()
        try await router.set("v", for: source)
        _ = try await router.get(key)
        try await router.set("v", for: source)
        #expect(try await sweep(router).state == .purged)
        #expect(try await router.audit().quarantine.isEmpty)
    }

    @Test func `LD2 conflict: the destination wins and the loser is quarantined`() async throws {
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

    @Test func `LD2 conflict: the source wins where the key says so, and the destination is quarantined`() async throws {
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

    @Test func `LD2 conflict: a merging closure decides`() async throws {
        let router = machine.launch()
        let key = key.resolvingConflicts(.merge { mine, theirs in "\(mine ?? "-")+\(theirs)" })
        try await router.set("a", for: source)
        _ = try await router.get(key)
        try await router.set("b", for: source)
        #expect(try await sweep(router, key).state == .resolved)
        #expect(try await router.get(key) == "a+b")
        #expect(try await router.value(for: source) == nil)
    }

    @Test func `a merge that throws changes nothing`() async throws {
        let router = machine.launch()
        let key = key.resolvingConflicts(.merge { _, _ in throw CocoaError(.formatting) })
        try await router.set("a", for: source)
        _ = try await router.get(key)
        try await router.set("b", for: source)
        #expect(try await sweep(router, key).state == .failed)
        #expect(try await router.get(key) == "a")
        #expect(try await router.get(source) == "b")
    }

    @Test func `removed: a tombstone stays, and the copy it names is purged`() async throws {
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

    @Test func `removed: the same content, written anew, is a conflict and no copy`() async throws {
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

    @Test func `LD2 after a removal, what an old program writes does not come back by itself`() async throws {
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

    @Test func `torn: damaged bytes are quarantined before the value moves in`() async throws {
        let router = machine.launch()
        try await router.set("v", for: source)
        machine.corrupt(key.domain, name: "new", bytes: [1, 2, 3])
        #expect(try await router.get(key) == "v")
        let kept = try await router.audit().quarantine
        #expect(kept.count == 1)
        #expect(try await router.quarantine.data(of: try #require(kept.first)) == Data([1, 2, 3]))
    }

    @Test func `torn: a record that does not decode is quarantined before the value moves in`() async throws {
        let router = machine.launch()
        try await router.set("v", for: source)
        machine.writeForeign(.integer(7), to: key.domain, name: "new")
        #expect(try await router.get(key) == "v")
        #expect(try await router.audit().quarantine.count == 1)
    }

    @Test func `damaged: without an older value the bytes stay and the read fails`() async throws {
        let router = machine.launch()
        machine.corrupt(key.domain, name: "new", bytes: [1, 2, 3])
        await expectRefusal(StorageError.corrupted) { _ = try await router.get(key) }
        machine.writeForeign(.integer(7), to: key.domain, name: "new")
        await expectRefusal(StorageError.undecodable) { _ = try await router.get(key) }
        #expect(try await router.audit().quarantine.isEmpty)
        let number = testKey("new", key.domain, of: Int.self)
        #expect(try await router.get(number) == 7)
    }

    @Test func `a new shape in place is transformed under its revision and nothing is deleted`() async throws {
        let router = machine.launch()
        let before = testKey("size", .userDefaults(suite: "b"), of: Int.self)
        let after = testKey("size", .userDefaults(suite: "b"), of: [String: Int].self)
            .moved(from: before) { ["width": $0, "height": $0] }
        try await router.set(5, for: before)
        #expect(try await router.get(after) == ["width": 5, "height": 5])
        #expect(try await router.get(after) == ["width": 5, "height": 5])
        #expect(try await router.audit().quarantine.isEmpty)
    }

    @Test func `old bytes of a new shape in place are kept where the migration asks for it`() async throws {
        let router = machine.launch()
        let before = testKey("size", .userDefaults(suite: "b"), of: Int.self)
        let after = textKey("size", .userDefaults(suite: "b"))
            .moved(from: before, options: MigrationOptions(keepsReplacedBytes: true)) { "\($0) pt" }
        try await router.set(5, for: before)
        #expect(try await router.get(after) == "5 pt")
        #expect(try await router.audit().quarantine.count == 1)
    }

    @Test func `unknown: a locked destination or source throws and changes nothing`() async throws {
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

    @Test func `a locked source is never passed over for a lower one`() async throws {
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

    @Test func `a source that is out of reach is passed over only where the migration says so`() async throws {
        let router = machine.launch()
        let lower = textKey("older", .userDefaults(suite: "c"))
        try await router.set("lower", for: lower)
        machine.makeUnavailable(source.domain)
        await expectRefusal(StorageError.unavailable) { _ = try await router.get(key.moved(from: lower)) }
        let skipping = textKey("new", key.domain)
            .moved(from: source, options: MigrationOptions(whenSourceUnavailable: .skip)).moved(from: lower)
        #expect(try await router.get(skipping) == "lower")
    }

    @Test func `source and destination in one physical slot: nothing is deleted`() async throws {
        let router = machine.launch()
        let same = textKey("new", .userDefaults(suite: "b"))
        let key = textKey("new", .userDefaults(suite: "b")).moved(from: same)
        try await router.set("v", for: same)
        #expect(try await router.get(key) == "v")
        #expect(try await sweep(router, key).state == .unchanged)
        try await router.forceMigration(for: key)
        #expect(try await router.get(key) == "v")
    }

    @Test func `chains of versions: a value that is two moves behind arrives, and nothing is left on the way`() async throws {
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

    @Test func `remove clears the whole chain, and no program of the chain brings the value back`() async throws {
        let router = machine.launch()
        let second = textKey("second", .userDefaults(suite: "c")).moved(from: source)
        let third = textKey("third", .keychain(service: "s")).moved(from: second)
        try await router.set("v", for: source)
        try await router.remove(third)
        #expect(try await router.value(for: second) == nil)
        #expect(try await router.value(for: source) == nil)
        #expect(try await router.value(for: third) == nil)
    }

    @Test func `remove reports what it could not clear, and repeating it finishes`() async throws {
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

    @Test func `protection never decreases by itself, judged before anything is read`() async throws {
        let router = machine.launch()
        let secret = textKey("secret", .keychain(service: "s"))
        let plain = textKey("plain", .userDefaults(suite: "b"))
        try await router.set("hidden", for: secret)
        machine.lock(secret.domain)
        await expectRefusal(StorageError.weakerProtection) { _ = try await router.get(plain.moved(from: secret)) }
        machine.unlock(secret.domain)
        let allowed = plain.moved(from: secret, options: MigrationOptions(allowsWeakerProtection: true))
        #expect(try await router.get(allowed) == "hidden")
        // Nothing derived from the secret is stored beside the plain value.
        #expect(try await router.audit().rows.isEmpty)
    }

    @Test func `durability never decreases by itself`() async throws {
        let router = machine.launch()
        let transient = textKey("t", .memory()).moved(from: source)
        try await router.set("v", for: source)
        await expectRefusal(StorageError.weakerProtection) { _ = try await router.get(transient) }
        #expect(try await router.get(source) == "v")
    }

    @Test func `a source that two keys share is purged only after both have what they need`() async throws {
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

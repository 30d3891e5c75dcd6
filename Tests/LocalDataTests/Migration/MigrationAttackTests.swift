import BackendContract
import Foundation
import LocalData
import LocalDataTesting
import TestSupport
import Testing

/// Attacks on the migration protocol that once succeeded:
/// they lost a value, restored a stale value, or caused a wrong answer.
///
/// A legacy location is a slot where an earlier version kept the value. The value there is a legacy copy.
/// It is superseded once the key has a newer value or was removed.
@Suite(.inTurn) struct MigrationAttackTests {
    let machine = TestMachine()

    func key<Value>(_ name: String, _ domain: StorageDomain, _ type: Value.Type = String.self) -> StorageKey<Value> {
        StorageKey(name: name, domain: domain, owner: "Tests", description: "A value")
    }

    var source: StorageKey<String> { Places.source }

    @Test func `a legacy value that two keys share is not deleted while the second key has an undecodable value`() async throws {
        let router = machine.launch()
        let first = key("first", .userDefaults(suite: "b")).moved(from: source)
        let second = key("second", .userDefaults(suite: "b")).moved(from: source)
        try await router.registerCatalog(TestCatalog([.key(first), .key(second)]))
        try await router.set("v", for: source)
        machine.writeForeign(.integer(7), to: second.domain, name: "second")
        #expect(try await router.get(first) == "v")
        #expect(try await router.get(second) == "v")
        #expect(await router.sweep().isComplete)
        #expect(try await router.value(for: source) == nil)
    }

    @Test func `a legacy value is not deleted while another registered key needs it through a chain of migrations`() async throws {
        let router = machine.launch()
        let middle = key("middle", .userDefaults(suite: "c")).moved(from: source)
        let far = key("far", .keychain(service: "s")).moved(from: middle)
        let near = key("near", .userDefaults(suite: "b")).moved(from: source)
        try await router.registerCatalog(TestCatalog([.key(near), .key(far)]))
        try await router.set("v", for: source)
        #expect(try await router.get(near) == "v")
        #expect(try await router.get(far) == "v")
        #expect(await router.sweep().isComplete)
        #expect(try await router.value(for: source) == nil)
    }

    @Test func `a move through a registered chain of migrations leaves no copy, and the audit reports none`() async throws {
        let router = machine.launch()
        try await router.registerCatalog(TestCatalog([.key(Places.third)]))
        try await router.set("v", for: source)
        #expect(try await router.get(Places.third) == "v")
        #expect(try await router.value(for: source) == nil)
        #expect(try await router.audit().recordedResidue.isEmpty)
    }

    @Test
    func `a batch that removes a key deletes the legacy copy that the batch has read, and no value that another program writes later`()
        async throws
    {
        let router = machine.launch()
        try await router.set("seen", for: source)
        _ = await router.status(of: Places.modern)
        let gate = FaultGate()
        let backend = try #require(machine.backends(of: Places.modern).first)
        backend.inject(.hold(gate), of: .apply)
        let removal = Task { try await router.batch { $0.remove(Places.key) } }
        await gate.untilArrivals()
        machine.writeForeign(.string("unseen"), to: Places.legacy, name: "old")
        gate.open()
        _ = await removal.result
        #expect(try await router.value(for: source) == "unseen")
        #expect(try await router.value(for: Places.key) == nil)
    }

    @Test
    func `a batch that removes two keys deletes the legacy copy of one key even if the copy of the other key cannot be deleted`()
        async throws
    {
        let router = machine.launch()
        // The keys are in a database, because a batch must be atomic and a keyring has no atomic batches.
        let database = StorageDomain.encryptedSQLite(database: "modern")
        let first = key("first", database).moved(from: Places.second)
        let other = key("new", database).moved(from: source)
        try await router.set("a", for: Places.second)
        try await router.set("b", for: source)
        machine.lock(Places.second.domain)
        await expectRefusal(StorageError.residueRemains) {
            try await router.batch {
                $0.remove(first)
                $0.remove(other)
            }
        }
        #expect(try await router.value(for: source) == nil)
    }

    @Test func `a value of an older type under the name of the key takes precedence over a value in any legacy location`()
        async throws
    {
        let router = machine.launch()
        let shape2 = key("new", Places.modern, Int.self)
        let key = key("new", Places.modern, [Int].self).moved(from: source) { [Int($0) ?? 0] }.moved(from: shape2) { [$0] }
        machine.seedUserDefaults(["old": .string("1")], suite: "a")
        try await router.set(2, for: shape2)
        #expect(try await router.get(key) == [2])
        #expect(try await router.audit().quarantine.isEmpty)
    }

    @Test func `an older version that cannot decode a newer value does not replace it with the superseded legacy copy`() async throws {
        let router = machine.launch()
        let newer = key("new", Places.modern, [Int].self).moved(from: source) { [Int($0) ?? 0] }
        let older = Places.key
        machine.seedUserDefaults(["old": .string("1")], suite: "a")
        try await router.set([2], for: newer)
        await expectRefusal(StorageError.undecodable) { _ = try await router.get(older) }
        #expect(try await router.get(newer) == [2])
        #expect(try await router.audit().quarantine.isEmpty)
    }

    @Test func `a read throws and does not report absence if the second read of the legacy location fails`() async throws {
        let router = machine.launch()
        _ = await router.status(of: Places.legacy)
        let backend = try #require(machine.backends(of: Places.legacy).first)
        backend.inject(.unavailable, at: 2)
        await expectRefusal(StorageError.unavailable) { _ = try await router.value(for: Places.key) }
        #expect(try await router.value(for: Places.key) == nil)
    }

    @Test func `a second removal, through a key without the migration, does not make a remaining legacy copy return`() async throws {
        let router = machine.launch()
        machine.seedUserDefaults(["old": .string("v")], suite: "a")
        machine.lock(Places.legacy)
        await expectRefusal(StorageError.residueRemains) { try await router.remove(Places.key) }
        machine.unlock(Places.legacy)
        try await router.remove(Places.bare)
        try await router.batch { $0.remove(Places.bare) }
        #expect(try await router.value(for: Places.key) == nil)
    }

    @Test
    func `after a removal through a key without the migration, the older legacy copy is quarantined and does not return`() async throws {
        let router = machine.launch()
        machine.seedUserDefaults(["old": .string("v")], suite: "a")
        try await router.set("w", for: Places.key)
        try await router.update(Places.bare) { $0 = nil }
        #expect(try await router.value(for: Places.key) == nil)
        try await router.registerCatalog(TestCatalog([.key(Places.key)]), migrateImmediately: true)
        #expect(try await router.value(for: Places.key) == nil)
        #expect(try await router.value(for: source) == nil)
        // A program without LocalData wrote the legacy value, which may be newer than the removal. So the sweep quarantines it.
        #expect(try await router.audit().quarantine.count == 1)
    }

    @Test(arguments: 1...12)
    func `a sweep that cannot delete a legacy copy reports the copy, even if a later read of the destination fails`(reads: Int) async throws
    {
        let router = machine.launch()
        let first = key("first", .keychain(service: "s")).moved(from: source)
        machine.seedUserDefaults(["old": .string("v")], suite: "a")
        _ = await router.status(of: Places.legacy)
        let older = try #require(machine.backends(of: Places.legacy).first)
        // The legacy copy cannot be deleted. At the destination, the first reads succeed. Read number `reads` and all
        // later reads fail.
        older.inject(.locked, of: .apply, repeats: true)
        _ = await router.status(of: Places.modern)
        let modern = try #require(machine.backends(of: Places.modern).first)
        modern.inject(.locked, at: reads, of: .read, repeats: true)
        let report = try await router.registerCatalog(TestCatalog([.key(first)]), migrateImmediately: true)
        #expect(!report.isComplete, "\(report.rows)")
    }

    @Test
    func `concurrent reads through two keys with the same name but different legacy locations do not share a migration`() async throws {
        let router = machine.launch()
        let bare = key("new", Places.modern)
        let (one, other) = (bare.moved(from: Places.second), bare.moved(from: source))
        machine.seedUserDefaults(["old": .string("v")], suite: "a")
        _ = await router.status(of: Places.middle)
        let gate = FaultGate()
        try #require(machine.backends(of: Places.middle).first).inject(.hold(gate))
        let first = Task { try await router.value(for: one) }
        await gate.untilArrivals()
        let second = Task { try await router.value(for: other) }
        gate.open()
        _ = await first.result
        #expect(try await second.value == "v")
    }

    @Test func `after version 2 swept one catalog, a migration that applies only before version 2 still runs in another catalog`()
        async throws
    {
        func conditional(_ name: String, from source: StorageKey<String>) -> StorageKey<String> {
            StorageKey(
                name: name, domain: Places.modern, owner: "Tests", description: "A value",
                migration: {
                    AnyStorageMigration(ConditionalMigration(SimpleLegacyMigration(destinationKey: $0, sourceKey: source), below: "2.0"))
                })
        }
        let swept = TestCatalog([.key(conditional("swept", from: source))], id: "swept")
        let left = conditional("left", from: Places.second)
        machine.seedUserDefaults(["old": .string("a")], suite: "a")
        machine.seedUserDefaults(["second": .string("b")], suite: "c")
        let first = machine.launch(version: "2.0")
        try await first.registerCatalog(swept, migrateImmediately: true).requireComplete()
        try await first.registerCatalog(TestCatalog([.key(left)], id: "left"))
        try await first.shutdown()
        let second = machine.launch(version: "2.0")
        try await second.registerCatalog(swept, migrateImmediately: true)
        try await second.registerCatalog(TestCatalog([.key(left)], id: "left"))
        #expect(try await second.get(left) == "b")
        // Version 2.0 has swept the catalog `swept`, so a migration for data below version 2.0 does not run there.
        machine.seedUserDefaults(["old": .string("late")], suite: "a")
        let late = conditional("swept-2", from: source)
        try await second.registerCatalog(TestCatalog([.key(late)], id: "swept"))
        #expect(try await second.value(for: late) == nil)
    }

    @Test(arguments: [("2", "2.0", false), ("2.0-beta", "2.0", true), ("1.9", "1.10", true), ("2.0", "1.10", false)])
    func `a migration for data below a version compares versions number by number, and a pre-release is older than its release`(
        previous: String, version: String, isOlder: Bool
    ) async throws {
        let key = StorageKey(
            name: "conditional", domain: Places.modern, owner: "Tests", description: "A value",
            migration: { [source] in
                AnyStorageMigration(ConditionalMigration(SimpleLegacyMigration(destinationKey: $0, sourceKey: source), below: version))
            })
        let first = machine.launch(version: previous)
        try await first.registerCatalog(TestCatalog(.key(key)), migrateImmediately: true)
        try await first.shutdown()
        machine.seedUserDefaults(["old": .string("a")], suite: "a")
        let second = machine.launch(version: version)
        try await second.registerCatalog(TestCatalog(.key(key)))
        #expect(try await second.value(for: key) == (isOlder ? "a" : nil))
    }

    // MARK: What an error shows

    private struct Quoting: Error { let text: String }

    @Test func `no text, reflection or dump of an error contains a stored value`() async throws {
        let router = machine.launch()
        let secret = "hunter2-hunter2"
        let number = key("old", Places.legacy, Int.self)
        let table = key("table", Places.legacy, [String: Int].self)
        try await router.set(secret, for: source)
        try await router.set([secret: secret], for: key("table", Places.legacy, [String: String].self))
        let quoting = key("quoting", Places.modern, Int.self).moved(from: source) { throw Quoting(text: $0) }
        let shaped = key("shaped", Places.modern, Int.self).moved(from: number)
        var errors: [any Error] = []
        for body: () async throws -> Void in [
            { _ = try await router.get(number) }, { _ = try await router.get(table) }, { _ = try await router.get(quoting) },
            { _ = try await router.get(shaped) },
        ] {
            do {
                try await body()
                Issue.record("nothing was thrown")
            } catch { errors.append(error) }
        }
        let report = await router.sweep(TestCatalog([.key(quoting), .key(shaped)]))
        for error in errors {
            var dumped = ""
            dump(error, to: &dumped)
            for text in ["\(error)", String(reflecting: error), error.localizedDescription, dumped] {
                #expect(!text.contains(secret), "\(text)")
            }
        }
        let failures = errors.compactMap { ($0 as? StorageError)?.underlying as? CodingFailure }
        #expect(!failures.isEmpty)
        for failure in failures { #expect(!"\(failure)".contains(secret)) }
        var dumped = ""
        dump(report, to: &dumped)
        #expect(!dumped.contains(secret))
        let thrown = try #require((errors[2] as? StorageError)?.underlying as? Quoting)
        #expect(thrown.text == secret)
    }

    // MARK: Values that look like something else

    @Test func `a stored Double or UInt64 is read back with exactly the same value`() async throws {
        let router = machine.launch()
        let real = key("real", Places.legacy, Double.self)
        for value in [-0.0, 0.1, 1e300, -1e-300, 5, .leastNonzeroMagnitude, .greatestFiniteMagnitude, 9_007_199_254_740_992] {
            try await router.set(value, for: real)
            #expect(try await router.get(real).bitPattern == value.bitPattern)
        }
        let wide = key("wide", Places.legacy, UInt64.self)
        try await router.set(.max, for: wide)
        #expect(try await router.get(wide) == .max)
    }

    @Test func `a custom serializer with the name of the built-in serializer json still encodes and decodes the value`() async throws {
        let router = machine.launch()
        let turned = StorageKey<String>(
            name: "turned", domain: Places.legacy,
            serializer: .custom(
                name: "json", encode: { Data("\"\(String($0.reversed()))\"".utf8) },
                decode: { String(String(decoding: $0, as: UTF8.self).dropFirst().dropLast().reversed()) }),
            owner: "Tests", description: "Text from right to left")
        try await router.set("abc", for: turned)
        #expect(try await router.get(turned) == "abc")
    }
}

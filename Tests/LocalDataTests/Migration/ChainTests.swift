import BackendContract
import LocalData
import LocalDataTesting
import TestSupport
import Testing

/// Chains of migrations: the legacy location of a key has a legacy location too.
@Suite(.inTurn) struct ChainTests {
    private let first = textKey("first", .encryptedSQLite(database: "first"))
    private var second: StorageKey<String> { textKey("second", .encryptedSQLite(database: "second")).moved(from: first) }
    private var third: StorageKey<String> { textKey("third", .encryptedSQLite(database: "third")).moved(from: second) }

    @Test func `a value that was removed at the first of two legacy locations is absent`() async throws {
        let machine = TestMachine()
        let storage = machine.launch()
        try await storage.set("old", for: first)
        try await storage.remove(first)
        #expect(try await storage.value(for: third) == nil)
        #expect(await storage.sweep(TestCatalog(.key(third))).isComplete)
    }

    @Test func `a value that has expired at the first of two legacy locations is absent`() async throws {
        let clock = TestClock()
        let machine = TestMachine { $0.use(clock) }
        let storage = machine.launch()
        try await storage.set("old", for: first, lifetime: .seconds(10))
        clock.advance(by: .seconds(20))
        #expect(try await storage.value(for: third) == nil)
        for _ in 0..<3 {
            #expect(await storage.sweep(TestCatalog(.key(third))).isComplete)
            clock.pass(.seconds(90_000))
        }
        #expect(try await storage.value(for: third) == nil)
        let store = try #require(machine.backends(of: first.domain).first)
        #expect(try await store.read(StorageAddress("first")).record == nil)
    }

    @Test func `a tombstone at the first of two legacy locations hides older values`() async throws {
        let zero = textKey("zero", .encryptedSQLite(database: "zero"))
        let machine = TestMachine()
        let storage = machine.launch()
        try await storage.set("old", for: zero)
        try await storage.remove(first.moved(from: zero))
        // A program of a release that did not know the key `first` writes the value again.
        try await storage.set("older", for: zero)
        let fourth = textKey("third", .encryptedSQLite(database: "third"))
            .moved(from: textKey("second", .encryptedSQLite(database: "second")).moved(from: first.moved(from: zero)))
        #expect(try await storage.value(for: fourth) == nil)
        #expect(await storage.sweep(TestCatalog(.key(fourth))).isComplete)
    }

    /// Keys with and without the migration of the value are different programs.
    @Test(arguments: [SecurityPolicy.none, .encrypted(.keyFile("key"))])
    func `a removal by a program without the migration hides a legacy copy that could not be deleted`(
        _ security: SecurityPolicy
    ) async throws {
        let machine = TestMachine()
        let storage = machine.launch()
        let old = textKey("old", .userDefaults(suite: "old"))
        let bare = textKey("new", .userDefaults(suite: "new"), security)
        try await storage.set("text", for: old)
        let store = try #require(machine.backends(of: old.domain).first)
        store.inject(.unavailable, of: .apply, repeats: true)
        #expect(try await storage.get(bare.moved(from: old)) == "text")
        store.removeFaults()
        #expect(try await machine.launch().get(old) == "text")
        try await machine.launch().remove(bare)
        #expect(try await machine.launch().value(for: bare.moved(from: old)) == nil)
    }

    // MARK: Sources that have expired, fail or are in the slot of the key

    @Test func `a merged value whose sources have all expired is absent`() async throws {
        let clock = TestClock()
        let storage = TestMachine { $0.use(clock) }.launch()
        let (a, b) = (textKey("a", .userDefaults(suite: "a")), textKey("b", .userDefaults(suite: "b")))
        let both = textKey("both", .userDefaults(suite: "c")).merged(from: a, b) { a, b in "\(a ?? "-")+\(b ?? "-")" }
        try await storage.set("old", for: a, lifetime: .seconds(10))
        clock.advance(by: .seconds(20))
        #expect(try await storage.value(for: both) == nil)
        #expect(await storage.sweep(TestCatalog(.key(both))).isComplete)
    }

    @Test(arguments: [true, false])
    func `with whenSourceUnavailable skip, a sweep moves a value whose legacy location is unavailable`(isMerged: Bool) async throws {
        let machine = TestMachine()
        let storage = machine.launch()
        let deep = textKey("deep", .userDefaults(suite: "deep"))
        let middle = textKey("middle", .userDefaults(suite: "middle"))
        let other = textKey("other", .userDefaults(suite: "other"))
        try await storage.set("a", for: middle)
        try await storage.set("b", for: other)
        let options = MigrationOptions(whenSourceUnavailable: .skip)
        let bare = textKey("new", .userDefaults(suite: "new"))
        let key =
            isMerged
            ? bare.merged(from: middle.moved(from: deep), other, options: options) { "\($0 ?? "-")+\($1 ?? "-")" }
            : bare.moved(from: middle.moved(from: deep), options: options)
        machine.makeUnavailable(deep.domain)
        #expect(await storage.sweep(TestCatalog(.key(key))).rows.map(\.state) == [.moved])
        #expect(try await storage.get(key) == (isMerged ? "a+b" : "a"))
    }

    @Test(arguments: [true, false])
    func `an unsealed removal in the slot wins over older copies, whatever the order of the migrations is`(isFirst: Bool) async throws {
        let machine = TestMachine()
        let storage = machine.launch()
        let old = textKey("old", .userDefaults(suite: "old"))
        let plain = textKey("new", .userDefaults(suite: "new"))
        let sealed = textKey("new", .userDefaults(suite: "new"), .encrypted(.keyFile("key")))
        try await storage.set("text", for: old)
        let store = try #require(machine.backends(of: old.domain).first)
        store.inject(.unavailable, of: .apply, repeats: true)
        #expect(try await storage.get(plain.moved(from: old)) == "text")
        await expectRefusal(StorageError.residueRemains) { try await storage.remove(plain.moved(from: old)) }
        store.removeFaults()
        let options = MigrationOptions(allowsWeakerProtection: true)
        let key =
            isFirst
            ? sealed.moved(from: plain, options: options).moved(from: old, options: options)
            : sealed.moved(from: old, options: options).moved(from: plain, options: options)
        #expect(try await machine.launch().value(for: key) == nil)
    }

    @Test(arguments: ["destinationWins", "sourceWins", "merge"])
    func `an expired legacy value takes part in no conflict, and is purged in time`(_ policy: String) async throws {
        let clock = TestClock()
        let machine = TestMachine { $0.use(clock) }
        let storage = machine.launch()
        let old = textKey("old", .userDefaults(suite: "old"))
        let policies: [String: ConflictPolicy<String>] = [
            "destinationWins": .destinationWins, "sourceWins": .sourceWins, "merge": .merge { "\($0 ?? "-")+\($1)" },
        ]
        let key = textKey("new", .userDefaults(suite: "new")).moved(from: old).resolvingConflicts(try #require(policies[policy]))
        try await storage.set("mine", for: key)
        try await storage.set("theirs", for: old, lifetime: .seconds(60))
        clock.advance(by: .seconds(61))
        for _ in 0..<3 {
            #expect(await storage.sweep(TestCatalog(.key(key))).isComplete)
            #expect(try await storage.get(key) == "mine")
            clock.pass(.seconds(90_000))
        }
        let store = try #require(machine.backends(of: old.domain).first)
        #expect(try await store.read(StorageAddress("old")).record == nil)
        #expect(try await storage.quarantine.values().isEmpty)
    }

    @Test func `a value is moved and sealed if the release that would have moved it was never started`() async throws {
        let machine = TestMachine()
        let storage = machine.launch()
        let old = textKey("old", .userDefaults(suite: "old"))
        // Release 2 moves the value. Release 3 also seals it in its slot.
        let before = textKey("x", .userDefaults(suite: "new")).moved(from: old)
        let after = textKey("x", .userDefaults(suite: "new"), .encrypted(.keyFile("key"))).moved(from: before)
        #expect(try await storage.value(for: after) == nil)
        try await storage.set("text", for: old)
        try await storage.registerCatalog(TestCatalog(.key(after)))
        #expect(try await storage.get(after) == "text")
        #expect(try await !storage.exists(old))
        try await storage.set("again", for: old)
        try await storage.remove(after)
        #expect(try await !storage.exists(old))
        #expect(try await storage.value(for: after) == nil)
        #expect(await storage.sweep().isComplete)
    }
}

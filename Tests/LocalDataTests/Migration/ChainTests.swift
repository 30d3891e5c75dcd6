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
}

import BackendContract
import LocalData
import LocalDataTesting
import TestSupport
import Testing

/// Errors of the migration engine that a formal model of its protocol (`Proof/Models/migration.pml`) found.
///
/// The destination is the slot where a key stores its value now. In a legacy location, an earlier version stored it. A
/// copy there is superseded once the destination has taken it over or has a newer value. Any other legacy value is a
/// conflict, which the legacy value wins with `sourceWins`. A sweep migrates the values of all keys of a catalog.
@Suite(.inTurn) struct ModelFindingTests {
    private let machine = TestMachine()
    private let place = StorageDomain.userDefaults(suite: "b")
    private let older = StorageDomain.userDefaults(suite: "a")
    private let source = textKey("old", .userDefaults(suite: "a"))
    private var bare: StorageKey<String> { StorageKey(name: "new", domain: place, owner: "Tests", description: "A value") }
    private var key: StorageKey<String> { bare.moved(from: source) }

    private func barriers() -> Int {
        machine.backends(of: place).reduce(0) { $0 + $1.log.count { $0.kind == .synchronize } }
    }

    @Test func `a second removal of a value flushes the store before it returns, and throws if the flush fails`() async throws {
        let router = machine.launch()
        try await router.set("v", for: key)
        try await router.remove(key)
        let before = barriers()
        try await router.remove(key)
        #expect(barriers() == before + 1)
        // If the flush fails, the tombstone (the record of the removal) may not be durable, so the call throws.
        for backend in machine.backends(of: place) { backend.inject(.unavailable, of: .synchronize) }
        await #expect(throws: StorageError.self) { try await router.remove(key) }
        try await router.remove(key)
    }

    @Test func `a removal of an absent value through a key without a migration flushes the store before it returns`() async throws {
        let router = machine.launch()
        try await router.set("v", for: bare)
        try await router.remove(bare)
        let before = barriers()
        try await router.remove(bare)
        #expect(barriers() == before + 1)
    }

    @Test(arguments: [
        ConflictPolicy<String>.sourceWins, .merge { mine, theirs in [mine, theirs].compactMap(\.self).joined(separator: "+") },
    ])
    func `if a sweep cannot read a superseded legacy copy at first because of a lock, the copy is no conflict at the second read`(
        _ policy: ConflictPolicy<String>
    ) async throws {
        let router = machine.launch()
        let key = key.resolvingConflicts(policy)
        try await router.set("first", for: source)
        try await router.set("second", for: key)
        #expect(try await router.value(for: source) == "first")
        // The legacy location is locked at the first read of the sweep, and open at the second.
        for backend in machine.backends(of: older) { backend.inject(.locked, of: .read) }
        _ = try await router.registerCatalog(TestCatalog([.key(key)]), migrateImmediately: true)
        #expect(try await router.value(for: key) == "second")
        _ = await router.sweep(TestCatalog([.key(key)]))
        #expect(try await router.value(for: key) == "second")
        #expect(try await router.value(for: source) == nil)
        #expect(try await router.audit().quarantine.isEmpty)
    }

    @Test
    func `with sourceWins, a set, remove or batch throws and changes nothing while the legacy location cannot be read`() async throws {
        let router = machine.launch()
        let key = key.resolvingConflicts(.sourceWins)
        try await router.set("theirs", for: source)
        machine.makeUnavailable(older)
        await #expect(throws: StorageError.self) { try await router.set("mine", for: key) }
        await #expect(throws: StorageError.self) { try await router.remove(key) }
        await #expect(throws: StorageError.self) { try await router.batch { $0.set("mine", for: key) } }
        machine.makeAvailable(older)
        // Now the legacy location is locked for one read only. The set could not record the legacy value as superseded.
        // That value would later win over the new one, so the set throws.
        for backend in machine.backends(of: older) { backend.inject(.locked, of: .read) }
        await #expect(throws: StorageError.self) { try await router.set("mine", for: key) }
        #expect(try await router.value(for: key) == "theirs")
        try await router.set("mine", for: key)
        try await router.sweep(TestCatalog([.key(key)])).requireComplete()
        #expect(try await router.value(for: key) == "mine")
    }
}

import BackendContract
import LocalData
import LocalDataTesting
import TestSupport
import Testing

/// What the model of the protocol (`Proof/Models/migration.pml`) found in the engine.
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

    @Test func `a removal of what is removed already is answered when that is durable`() async throws {
        let router = machine.launch()
        try await router.set("v", for: key)
        try await router.remove(key)
        let before = barriers()
        try await router.remove(key)
        #expect(barriers() == before + 1)
        // Nobody knows whether the tombstone lasts: nobody is told that it does.
        for backend in machine.backends(of: place) { backend.inject(.unavailable, of: .synchronize) }
        await #expect(throws: StorageError.self) { try await router.remove(key) }
        try await router.remove(key)
    }

    @Test func `a removal of what is not there, through a key without a migration, is answered when that is durable`() async throws {
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
    func `a copy that could not be read at first is still a copy`(_ policy: ConflictPolicy<String>) async throws {
        let router = machine.launch()
        let key = key.resolvingConflicts(policy)
        try await router.set("first", for: source)
        try await router.set("second", for: key)
        #expect(try await router.value(for: source) == "first")
        // Locked at the sweep's first look at the place, and within reach at the second.
        for backend in machine.backends(of: older) { backend.inject(.locked, of: .read) }
        _ = try await router.registerCatalog(TestCatalog([.key(key)]), migrateImmediately: true)
        #expect(try await router.value(for: key) == "second")
        _ = await router.sweep(TestCatalog([.key(key)]))
        #expect(try await router.value(for: key) == "second")
        #expect(try await router.value(for: source) == nil)
        #expect(try await router.audit().quarantine.isEmpty)
    }

    @Test func `where the older place wins, nothing is changed while it is out of reach`() async throws {
        let router = machine.launch()
        let key = key.resolvingConflicts(.sourceWins)
        try await router.set("theirs", for: source)
        machine.makeUnavailable(older)
        await #expect(throws: StorageError.self) { try await router.set("mine", for: key) }
        await #expect(throws: StorageError.self) { try await router.remove(key) }
        await #expect(throws: StorageError.self) { try await router.batch { $0.set("mine", for: key) } }
        machine.makeAvailable(older)
        // Out of reach at one look and back at the next: what it holds was still not named.
        for backend in machine.backends(of: older) { backend.inject(.locked, of: .read) }
        await #expect(throws: StorageError.self) { try await router.set("mine", for: key) }
        #expect(try await router.value(for: key) == "theirs")
        try await router.set("mine", for: key)
        try await router.sweep(TestCatalog([.key(key)])).requireComplete()
        #expect(try await router.value(for: key) == "mine")
    }
}

import BackendContract
import BackendRuntime
import LocalDataTesting
import MemoryBackend
import TestSupport
import Testing

@testable import LocalData

/// Errors that the simulation, a random search with the real router, found, each as a short program.
///
/// The recorded runs are in `Proof/Searches/Simulation/PastFailures`.
///
/// The destination is the slot where a key stores its value now. In a legacy location, an earlier version stored it. A
/// copy there is superseded once the destination has taken it over or has a newer value. Any other legacy value is a
/// conflict. A sweep migrates the values of all keys of a catalog. Quarantine is the store for displaced values.
@Suite(.inTurn) struct SimulationFindingTests {
    let machine = TestMachine()

    private static let list = StorageDomain.userDefaults(suite: "a")
    private static let otherList = StorageDomain.userDefaults(suite: "b")
    private let old = textKey("old", Self.list)
    private let new = textKey("new", Self.otherList)

    /// A naive custom migration: it sets the destination and removes the legacy value without any precondition.
    private struct ByHand: StorageMigration {
        let destinationKey: StorageKey<String>
        let source: StorageKey<String>
        var sources: [AnyStorageKey] { [.key(source)] }

        func shouldMigrate(using router: StorageRouter, context: MigrationContext) async throws -> Bool {
            if try await router.exists(destinationKey) { return false }
            return try await router.exists(source)
        }

        func migrate(using router: StorageRouter, context: MigrationContext) async throws -> MigrationResult {
            try await router.set(try await router.get(source), for: destinationKey)
            try await router.remove(source)
            return MigrationResult(success: true)
        }
    }

    @Test func `a custom migration does not restore a removed value`() async throws {
        let router = machine.launch()
        let key = StorageKey<String>(
            name: "new", domain: Self.otherList, owner: "Tests", description: "A value",
            migration: { [old] in AnyStorageMigration(ByHand(destinationKey: $0, source: old)) })
        machine.seedUserDefaults(["old": .string("removed")], suite: "a")
        machine.makeUnavailable(Self.list)
        try await router.set("mine", for: key)
        await expectRefusal(StorageError.residueRemains) { try await router.remove(key) }
        machine.makeAvailable(Self.list)
        #expect(try await router.value(for: key) == nil)
        let report = try await router.registerCatalog(TestCatalog(.key(key)), migrateImmediately: true)
        #expect(report.rows.map(\.state) == [.resolved])
        #expect(report.isComplete)
        #expect(try await router.forceMigration(for: key).state == .removed)
        #expect(try await router.value(for: key) == nil)
        // The tombstone, which is the record of the removal, does not name the legacy value as superseded, because the
        // legacy store was unavailable. So the value is a conflict, and the sweep quarantines it.
        #expect(try await router.value(for: old) == nil)
        let kept = try #require(try await router.audit().quarantine.first)
        #expect(String(decoding: try await router.quarantine.data(of: kept), as: UTF8.self) == "removed")
    }

    @Test(.timeLimit(.minutes(10))) func `observers receive the value of a resolved conflict, even if the answer of its commit was lost`()
        async throws
    {
        let router = machine.launch()
        let key = new.moved(from: old).resolvingConflicts(.sourceWins)
        try await router.set("mine", for: key)
        machine.seedUserDefaults(["old": .string("theirs")], suite: "a")
        var values = router.values(for: key).makeAsyncIterator()
        #expect(try await values.next() == "mine")
        for backend in machine.backends(of: Self.otherList) { backend.inject(.loseAnswer, of: .apply) }
        await #expect(throws: StorageError.self) { try await router.forceMigration(for: key) }
        #expect(try await values.next() == "theirs")
    }

    @Test(.timeLimit(.minutes(10)))
    func `observers receive the value of a resolved conflict, even if the read that verifies its commit fails`()
        async throws
    {
        let router = machine.launch()
        let key = new.moved(from: old).resolvingConflicts(.sourceWins)
        try await router.set("mine", for: key)
        machine.seedUserDefaults(["old": .string("theirs")], suite: "a")
        var values = router.values(for: key).makeAsyncIterator()
        #expect(try await values.next() == "mine")
        // The first read finds the conflict. The second read, which verifies the write, fails.
        for backend in machine.backends(of: Self.otherList) { backend.inject(.unavailable, at: 2, of: .read) }
        await #expect(throws: StorageError.self) { try await router.forceMigration(for: key) }
        #expect(try await values.next() == "theirs")
    }

    @Test
    func `if a legacy value is removed while a read moves it, the read returns the value of the next older location`()
        async throws
    {
        let router = machine.launch()
        let middle = textKey("middle", Self.list).moved(from: textKey("oldest", .userDefaults(suite: "c")))
        let key = new.moved(from: middle)
        machine.seedUserDefaults(["oldest": .string("oldest")], suite: "c")
        machine.seedUserDefaults(["middle": .string("middle")], suite: "a")
        _ = try await router.exists(middle)
        let gate = FaultGate()
        let backend = try #require(machine.backends(of: Self.list).first)
        // The second read of `middle` waits until the test opens the gate. Before that, another router removes the
        // value of `middle`.
        backend.inject(.hold(gate), at: 2, of: .read)
        async let value = router.value(for: key)
        await gate.untilArrivals()
        try await machine.launch().remove(textKey("middle", Self.list))
        gate.open()
        #expect(try await value == "oldest")
    }

    @Test
    func `a sweep quarantines a value written to the oldest location of a chain of migrations after the key was set`() async throws {
        let router = machine.launch()
        let oldest = textKey("oldest", .userDefaults(suite: "c"))
        let middle = textKey("middle", Self.list).moved(from: oldest)
        try await router.set("middle", for: middle)
        try await router.remove(middle)
        let key = new.moved(from: middle)
        try await router.set("mine", for: key)
        machine.seedUserDefaults(["oldest": .string("written later")], suite: "c")
        try await router.registerCatalog(TestCatalog(.key(key)), migrateImmediately: true).requireComplete()
        #expect(try await router.value(for: key) == "mine")
        #expect(try await !router.exists(oldest))
        #expect(try await router.audit().quarantine.count == 1)
    }

    @Test(arguments: [ConflictPolicy<String>.sourceWins, .merge { mine, theirs in "\(mine ?? "")|\(theirs)" }])
    func `a superseded copy stays superseded when an older version moves it between two legacy locations`(
        _ policy: ConflictPolicy<String>
    ) async throws {
        let router = machine.launch()
        let better = textKey("better", .userDefaults(suite: "c"))
        let key = new.moved(from: better).moved(from: old).resolvingConflicts(policy)
        machine.seedUserDefaults(["old": .string("second")], suite: "a")
        machine.seedUserDefaults(["better": .string("first")], suite: "c")
        try await router.set("mine", for: key)
        for domain in [Self.list, better.domain] { machine.makeUnavailable(domain) }
        _ = await router.sweep(TestCatalog(.key(key)))
        for domain in [Self.list, better.domain] { machine.makeAvailable(domain) }
        // The previous version uses only the two legacy locations, and moves the value from `old` to `better`.
        try await router.remove(better)
        let before = machine.launch()
        #expect(try await before.get(better.moved(from: old)) == "second")
        for _ in 0..<3 { _ = await router.sweep(TestCatalog(.key(key))) }
        #expect(try await router.get(key) == "mine")
        #expect(try await router.value(for: better) == nil)
    }

    @Test func `the origin of a record, a list of the copies that it superseded, keeps the last nine copies for each legacy location`()
        async throws
    {
        let routes = machine.launch().slots.routes
        func copy(_ text: String) throws -> SourceRecord {
            let route = try routes.slot(for: old).route
            let record = StorageRecord(payload: .native(.string(text)), revision: StorageRevision(Array(text.utf8)))
            return SourceRecord(key: .key(old), route: route, record: record)
        }
        let destination = try routes.slot(for: new).route
        var origin = RecordOrigin()
        for number in 0..<12 { origin.add(try copy("\(number)"), destination: destination) }
        for number in 0..<12 {
            let one = try copy("\(number)")
            #expect(origin.match(one.record, at: one.route.place.text) == (number >= 3 ? .exact : .none), "\(number)")
        }
        // The origin `newer` contains one copy. After `origin` is merged into it, it contains that copy and the latest
        // copy of `origin`.
        var newer = RecordOrigin()
        newer.add(try copy("newest"), destination: destination)
        newer.merge(origin)
        let (newest, before) = (try copy("newest"), try copy("11"))
        #expect(newer.match(newest.record, at: newest.route.place.text) == .exact)
        #expect(newer.match(before.record, at: before.route.place.text) == .exact)
    }

    @Test func `the data of a sealed value in the quarantine is returned decrypted`() async throws {
        let router = machine.launch()
        let sealed = textKey("new", Self.otherList, .encrypted)
        let key = sealed.moved(from: old).resolvingConflicts(.sourceWins)
        try await router.set("mine", for: key)
        machine.seedUserDefaults(["old": .string("theirs")], suite: "a")
        _ = await router.sweep(TestCatalog(.key(key)))
        #expect(try await router.get(key) == "theirs")
        let kept = try #require(try await router.audit().quarantine.first)
        #expect(kept.isSealed)
        #expect(String(decoding: try await router.quarantine.data(of: kept), as: UTF8.self) == "\"mine\"")
    }

    /// The changes of the destination's store are certain to survive a power cut only after a reboot.
    @Test(arguments: [true, false])
    func `if a record does not contain the boot in which it was written, its older copy is deleted only after a reboot`(
        _ isRemoved: Bool
    ) async throws {
        let medium = MemoryMedium()
        func launch(boot: String) -> StorageRouter {
            var configuration = machine.configuration
            configuration.runtime.host.bootID = boot
            configuration.useBackend(for: StorageDomain.Kind("hesitant")) { _ in VerificationTests.hesitantStore(medium) }
            return StorageRouter(configuration: configuration)
        }
        let bare = textKey("new", .custom("hesitant", scope: "x"))
        let store = VerificationTests.hesitantStore(medium)
        let json = StoragePayload.bytes(Array("\"mine\"".utf8))
        _ = try await store.apply(
            isRemoved
                ? .tombstone(at: StorageAddress("new")) : .put(json, StorageMetadata(serializer: "json"), at: StorageAddress("new")))
        machine.seedUserDefaults(["old": .string("theirs")], suite: "a")
        let key = bare.moved(from: old)
        #expect(try await !launch(boot: "first").registerCatalog(TestCatalog(.key(key)), migrateImmediately: true).isComplete)
        let second = launch(boot: "second")
        try await second.registerCatalog(TestCatalog(.key(key)), migrateImmediately: true).requireComplete()
        #expect(try await second.value(for: key) == (isRemoved ? nil : "mine"))
        #expect(try await !second.exists(old))
    }
}

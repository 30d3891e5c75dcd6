import BackendContract
import BackendRuntime
import Foundation
import LocalData
import LocalDataTesting
import MemoryBackend
import TestSupport
import Testing

/// When a value is moved, the copy in its legacy location is deleted last: after the new value was read back from the
/// destination. A sweep moves the values of all keys of a catalog.
@Suite(.inTurn) struct VerificationTests {
    /// The ways in which a store fails to keep a change that it acknowledged.
    enum Lie: CaseIterable {
        case losesIt, spoilsIt

        var fault: FaultyStore.Fault {
            switch self {
            case .losesIt:
                FaultyStore.Fault(apply: { _, mutations async throws(BackendError) in
                    mutations.map { _ in .applied(StorageRevision([1]), .durable) }
                })
            case .spoilsIt:
                .probes { probe in
                    guard case .value(var record) = probe else { return probe }
                    record.payload = .bytes(Array("\"other\"".utf8))
                    return .value(record)
                }
            }
        }
    }

    /// Creates a store that has a fault and claims to be durable.
    private static func store(_ fault: FaultyStore.Fault, _ medium: MemoryMedium = MemoryMedium()) -> FaultyStore {
        var capabilities = InMemoryStore.ownCapabilities
        capabilities.durability = .durable
        return FaultyStore(store: InMemoryStore(medium: medium, capabilities: capabilities), fault: fault)
    }

    @Test(arguments: Lie.allCases)
    func `if the destination does not keep a value that it acknowledged, the migration throws, and the legacy value stays`(
        lie: Lie
    ) async throws {
        let machine = TestMachine()
        var configuration = machine.configuration
        configuration.useBackend(for: StorageDomain.Kind("liar")) { _ in Self.store(lie.fault) }
        let router = StorageRouter(configuration: configuration)
        let source = textKey("old", .userDefaults)
        let key = textKey("new", .custom("liar", scope: "x")).moved(from: source)
        try await router.set("precious", for: source)
        await expectRefusal(StorageError.migrationFailed) { _ = try await router.get(key) }
        #expect(try await router.get(source) == "precious")
    }

    /// Creates a store whose changes are certain to survive a power cut only after a reboot.
    ///
    /// A keyring whose folder is unknown behaves like this.
    static func hesitantStore(_ medium: MemoryMedium) -> FaultyStore {
        var fault = FaultyStore.Fault.results { _, result in
            if case .applied(let revision, _) = result { .applied(revision, .untilPowerLoss) } else { result }
        }
        fault.synchronize = { _ async throws(BackendError) in .untilPowerLoss }
        return store(fault, medium)
    }

    @Test func `a legacy copy stays until the new value is certain to survive a power cut`() async throws {
        let (machine, medium) = (TestMachine(), MemoryMedium())
        func launch(boot: String) -> StorageRouter {
            var configuration = machine.configuration
            configuration.runtime.host.bootID = boot
            configuration.useBackend(for: StorageDomain.Kind("hesitant")) { _ in Self.hesitantStore(medium) }
            return StorageRouter(configuration: configuration)
        }
        let source = textKey("old", .userDefaults)
        let key = textKey("new", .custom("hesitant", scope: "x")).moved(from: source)
        let first = launch(boot: "first")
        try await first.set("precious", for: source)
        #expect(try await first.get(key) == "precious")
        #expect(try await first.get(source) == "precious")
        let waiting = try await first.registerCatalog(TestCatalog([.key(key)]), migrateImmediately: true)
        #expect(waiting.rows.first?.residue.count == 1)
        #expect(try await first.get(source) == "precious")

        // After a reboot, the value still exists, so it is durable, and a sweep deletes the legacy copy.
        let second = launch(boot: "second")
        try await second.registerCatalog(TestCatalog([.key(key)]), migrateImmediately: true).requireComplete()
        #expect(try await second.get(key) == "precious")
        #expect(try await !second.exists(source))
    }

    @Test
    func `a sweep that is cancelled between the write of a value and the deletion of its legacy copy still deletes the copy`() async throws
    {
        let machine = TestMachine()
        let router = machine.launch()
        let source = testKey("old", .userDefaults(suite: "a"), of: Int.self)
        let key = testKey("new", .userDefaults(suite: "b"), of: Int.self).moved(from: source)
        try await router.set(7, for: source)
        try await router.registerCatalog(TestCatalog([.key(key)]))
        // The caller is cancelled after the value was written, while the deletion of the legacy copy waits.
        let gate = FaultGate()
        let backend = try #require(machine.backends(of: source.domain).first)
        backend.inject(.hold(gate), of: .apply)
        let sweep = Task { await router.sweep() }
        await gate.untilArrivals()
        sweep.cancel()
        gate.open()
        let report = await sweep.value
        #expect(report.rows.map(\.state) == [.moved])
        #expect(report.isComplete)
        #expect(try await router.get(key) == 7)
        #expect(try await !router.exists(source))
    }
}

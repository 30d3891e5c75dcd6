import BackendContract
import BackendRuntime
import Foundation
import LocalData
import LocalDataTesting
import MemoryBackend
import TestSupport
import Testing

/// A value is only removed from its older place when the new one was seen to hold it.
@Suite(.inTurn) struct VerificationTests {
    /// A store that acknowledges changes and loses or spoils them.
    final class LyingStore: StorageBackend {
        enum Lie: CaseIterable {
            case losesIt, spoilsIt
        }

        let base: InMemoryStore
        let lie: Lie

        init(_ lie: Lie) {
            self.lie = lie
            var capabilities = InMemoryStore.ownCapabilities
            capabilities.durability = .durable
            base = InMemoryStore(capabilities: capabilities)
        }

        var identity: BackendIdentity { base.identity }
        var capabilities: BackendCapabilities { base.capabilities }

        func read(_ addresses: [StorageAddress], _ freshness: ReadFreshness) async throws(BackendError) -> [StorageProbe] {
            let probes = try await base.read(addresses, freshness)
            guard lie == .spoilsIt else { return probes }
            return probes.map { probe in
                guard case .value(var record) = probe else { return probe }
                record.payload = .bytes(Array("\"other\"".utf8))
                return .value(record)
            }
        }

        func apply(_ mutations: [StorageMutation]) async throws(BackendError) -> [MutationResult] {
            if lie == .losesIt { return mutations.map { _ in .applied(StorageRevision([1]), .durable) } }
            return try await base.apply(mutations)
        }

        func addresses(in namespace: StorageNamespace) async throws(BackendError) -> [StorageAddress] {
            try await base.addresses(in: namespace)
        }
        func synchronize() async throws(BackendError) -> StorageDurability { .durable }
    }

    @Test(arguments: LyingStore.Lie.allCases) func `a store that acknowledges and does not keep costs nothing`(
        lie: LyingStore.Lie
    ) async throws {
        let machine = TestMachine()
        var configuration = machine.configuration
        configuration.use(for: StorageDomain.Kind("liar")) { _ in LyingStore(lie) }
        let router = StorageRouter(configuration: configuration)
        let source = StorageKey<String>(name: "old", domain: .userDefaults, owner: "Tests", description: "An older place")
        let key = StorageKey<String>(name: "new", domain: .custom("liar", scope: "x"), owner: "Tests", description: "A value").moved(
            from: source)
        try await router.set("precious", for: source)
        await expectCode(StorageError.migrationFailed) { _ = try await router.get(key) }
        #expect(try await router.get(source) == "precious")
    }

    /// A store that promises durability and, as a keyring whose folder is not known, cannot vouch for it before the machine was started again.
    final class HesitantStore: StorageBackend {
        let base: InMemoryStore

        init(_ medium: MemoryMedium) {
            var capabilities = InMemoryStore.ownCapabilities
            capabilities.durability = .durable
            base = InMemoryStore(medium: medium, capabilities: capabilities)
        }

        var identity: BackendIdentity { base.identity }
        var capabilities: BackendCapabilities { base.capabilities }

        func read(_ addresses: [StorageAddress], _ freshness: ReadFreshness) async throws(BackendError) -> [StorageProbe] {
            try await base.read(addresses, freshness)
        }

        func apply(_ mutations: [StorageMutation]) async throws(BackendError) -> [MutationResult] {
            try await base.apply(mutations).map {
                if case .applied(let revision, _) = $0 { .applied(revision, .untilPowerLoss) } else { $0 }
            }
        }

        func addresses(in namespace: StorageNamespace) async throws(BackendError) -> [StorageAddress] {
            try await base.addresses(in: namespace)
        }
        func synchronize() async throws(BackendError) -> StorageDurability { .untilPowerLoss }
    }

    @Test func `an older copy stays until the new value is known to survive a power cut`() async throws {
        struct Catalog: StorageKeyCatalog { let allKeys: [AnyStorageKey] }
        let (machine, medium) = (TestMachine(), MemoryMedium())
        func launch(boot: String) -> StorageRouter {
            var configuration = machine.configuration
            configuration.runtime.host.bootID = boot
            configuration.use(for: StorageDomain.Kind("hesitant")) { _ in HesitantStore(medium) }
            return StorageRouter(configuration: configuration)
        }
        let source = StorageKey<String>(name: "old", domain: .userDefaults, owner: "Tests", description: "An older place")
        let key = StorageKey<String>(name: "new", domain: .custom("hesitant", scope: "x"), owner: "Tests", description: "A value").moved(
            from: source)
        let first = launch(boot: "first")
        try await first.set("precious", for: source)
        #expect(try await first.get(key) == "precious")
        #expect(try await first.get(source) == "precious")
        let waiting = try await first.registerCatalog(Catalog(allKeys: [.key(key)]), migrateImmediately: true)
        #expect(waiting.rows.first?.residue.count == 1)
        #expect(try await first.get(source) == "precious")

        // The machine was started again, and the value is there.
        let second = launch(boot: "second")
        try await second.registerCatalog(Catalog(allKeys: [.key(key)]), migrateImmediately: true).requireComplete()
        #expect(try await second.get(key) == "precious")
        #expect(try await !second.exists(source))
    }

    @Test func `a sweep that is cancelled between the steps of a key finishes that key`() async throws {
        let machine = TestMachine()
        let router = machine.launch()
        struct Catalog: StorageKeyCatalog { let allKeys: [AnyStorageKey] }
        let source = StorageKey<Int>(name: "old", domain: .userDefaults(suite: "a"), owner: "Tests", description: "An older place")
        let key = StorageKey<Int>(name: "new", domain: .userDefaults(suite: "b"), owner: "Tests", description: "A value").moved(
            from: source)
        try await router.set(7, for: source)
        try await router.registerCatalog(Catalog(allKeys: [.key(key)]))
        // The value is in its new place, and the deletion of the older copy is under way, when the caller is cancelled.
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

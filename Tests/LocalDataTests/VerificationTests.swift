import BackendContract
import BackendRuntime
import Foundation
import LocalData
import LocalDataTesting
import MemoryBackend
import Testing

/// A value is only removed from its older place when the new one was seen to hold it.
@Suite struct VerificationTests {
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

    @Test func `a sweep that is cancelled ends between keys, never between the steps of one`() async throws {
        let machine = TestMachine()
        let router = machine.launch()
        struct Catalog: StorageKeyCatalog { let allKeys: [AnyStorageKey] }
        let sources = (0..<200).map {
            StorageKey<Int>(name: "old-\($0)", domain: .userDefaults(suite: "a"), owner: "Tests", description: "An older place")
        }
        for (index, source) in sources.enumerated() { try await router.set(index, for: source) }
        let keys = sources.map { source in
            StorageKey<Int>(name: "new-\(source.name)", domain: .userDefaults(suite: "b"), owner: "Tests", description: "A value").moved(
                from: source)
        }
        try await router.registerCatalog(Catalog(allKeys: keys.map { .key($0) }))
        let sweep = Task { await router.sweep() }
        sweep.cancel()
        let report = await sweep.value
        for (source, key) in zip(sources, keys) {
            let (isOld, isNew) = (try await router.exists(source), try await router.exists(key))
            #expect(isOld != isNew, "\(key.name) is in both places, or in none")
        }
        #expect(report.rows.count == 200)
        try await router.sweep().requireComplete()
    }
}

import BackendContract
import LocalData
import MemoryBackend
import Synchronization
import TestSupport
import Testing

/// Tests of callers that share one run of a key's migrations.
@Suite struct SharedMigrationTests {
    /// A store that counts reads, and calls a function after each.
    private final class CountingStore: WrappingBackend {
        let base: any StorageBackend
        private let count = Mutex(0)
        private let afterRead: @Sendable (Int) async -> Void

        init(_ base: any StorageBackend, afterRead: @escaping @Sendable (Int) async -> Void) {
            (self.base, self.afterRead) = (base, afterRead)
        }

        func read(_ addresses: [StorageAddress], _ freshness: ReadFreshness) async throws(BackendError) -> [StorageProbe] {
            let probes = try await base.read(addresses, freshness)
            await afterRead(
                count.withLock { count in
                    count += 1
                    return count
                })
            return probes
        }

        var reads: Int { count.withLock(\.self) }
    }

    private let old = textKey("old", .custom("older", scope: "a"))
    private var key: StorageKey<String> { textKey("new", .custom("newer", scope: "a")).moved(from: old) }

    private let stage: Stage

    init() throws { stage = try Stage() }

    private func router(_ older: CountingStore, _ newer: CountingStore) -> StorageRouter {
        var configuration = stage.configuration
        configuration.useBackend(for: StorageDomain.Kind("older")) { _ in older }
        configuration.useBackend(for: StorageDomain.Kind("newer")) { _ in newer }
        return StorageRouter(configuration: configuration)
    }

    @Test func `a get that joins a migration finds a value that was stored before the get began`() async throws {
        let gate = Gate()
        let medium = MemoryMedium()
        // The first get has read the legacy location for the last time, and is held before it looks at the destination.
        let older = CountingStore(InMemoryStore(medium: medium)) { if $0 == 2 { await gate.pass() } }
        let newer = CountingStore(InMemoryStore()) { _ in }
        let router = router(older, newer)
        let first = Task { [key] in try await router.value(for: key) }
        await gate.arrived()
        let reads = newer.reads
        _ = try await InMemoryStore(medium: medium).apply(
            .put(.bytes(Array("\"v\"".utf8)), StorageMetadata(serializer: "json"), at: StorageAddress("old")))
        let second = Task { [key] in try await router.value(for: key) }
        while newer.reads == reads { await Task.yield() }
        // The second get most probably joins the first one within this time.
        try await Task.sleep(for: .milliseconds(20))
        gate.open()
        _ = try await first.value
        #expect(try await second.value == "v")
    }

    @Test func `a get of an absent key reads its destination twice, and a migrating get three times`() async throws {
        let older = CountingStore(InMemoryStore()) { _ in }
        let newer = CountingStore(InMemoryStore()) { _ in }
        let router = router(older, newer)
        #expect(try await router.value(for: key) == nil)
        #expect(newer.reads == 2)
        try await router.set("v", for: old)
        let before = newer.reads
        #expect(try await router.get(key) == "v")
        #expect(newer.reads == before + 3)
    }
}

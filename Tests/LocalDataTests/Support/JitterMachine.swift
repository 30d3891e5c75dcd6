import BackendContract
import BackendRuntime
import LocalData
import MemoryBackend
import Synchronization
import TestSupport

/// Simulates a machine. Before and after every call, its property lists and its keyring let other tasks run
/// (`Task.yield()`). A seed determines how often.
final class JitterMachine: Sendable {
    private let state: Mutex<(media: [String: MemoryMedium], numbers: SeededGenerator)>

    private let base: StorageConfiguration

    /// - Parameter base: The configuration for everything but property lists and the keyring, which this machine
    ///   provides.
    init(seed: UInt64, base: StorageConfiguration = .inMemory()) {
        self.base = base
        state = Mutex((media: [:], numbers: SeededGenerator(seed)))
    }

    func draw(_ bound: Int) -> Int { state.withLock { Int.random(in: 0..<bound, using: &$0.numbers) } }

    func pass() async { for _ in 0..<draw(4) { await Task.yield() } }

    private var jitter: FaultyStore.Fault {
        FaultyStore.Fault(
            read: { [self] store, addresses, freshness async throws(BackendError) in
                await pass()
                let probes = try await store.read(addresses, freshness)
                await pass()
                return probes
            },
            apply: { [self] store, mutations async throws(BackendError) in
                await pass()
                let results = try await store.apply(mutations)
                await pass()
                return results
            })
    }

    func medium(_ domain: StorageDomain) -> MemoryMedium {
        state.withLock { state in
            if let medium = state.media["\(domain)"] { return medium }
            let medium = MemoryMedium()
            state.media["\(domain)"] = medium
            return medium
        }
    }

    /// Simulates another process: a router that shares only the stores with the other routers.
    func launch() -> StorageRouter {
        var configuration = base
        for kind in [StorageDomain.Kind.userDefaults, .keychain] {
            configuration.useBackend(for: kind) { [self] scope in
                let domain = StorageDomain(kind: kind, scope: scope)
                return FaultyStore(store: .standIn(for: domain, medium: medium(domain), runtime: .live), fault: jitter)
            }
        }
        return StorageRouter(configuration: configuration)
    }
}

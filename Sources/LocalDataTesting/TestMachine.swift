public import BackendContract
import BackendRuntime
public import LocalData
import MemoryBackend
import Synchronization

/// A machine in memory, for tests of a program's whole life: it is launched again over the same bytes, its stores are locked, and its power is cut.
///
/// ```swift
/// let machine = TestMachine()
/// machine.seedUserDefaults(["token": .string("abc")], suite: "app")   // as an old program left it
/// try await machine.launch().registerCatalog(AppKeys(), migrateImmediately: true)
/// machine.cut()                                                        // what is under way never happens
/// let token = try await machine.launch().get(.modernToken)
/// ```
///
/// Every domain claims what the real one would; `.memory` domains are gone with each launch.
public final class TestMachine: Sendable {
    private struct State {
        var media: [StorageDomain: MemoryMedium] = [:]
        var running: [StorageDomain: [FaultingBackend]] = [:]
        var locked: Set<StorageDomain> = []
        var unavailable: Set<StorageDomain> = []
    }

    private let state = Mutex(State())
    private let base: StorageConfiguration

    /// Creates a machine with empty stores.
    /// - Parameter change: Changes the configuration of every launch: the application's id, for example.
    public init(_ change: (inout StorageConfiguration) -> Void = { _ in }) {
        var base = StorageConfiguration.inMemory()
        change(&base)
        self.base = base
    }

    /// The configuration of a program on this machine.
    public var configuration: StorageConfiguration {
        var configuration = base
        for kind in [StorageDomain.Kind.userDefaults, .keychain, .encryptedSQLite] {
            configuration.use(for: kind) { [self] scope in makeBackend(StorageDomain(kind: kind, scope: scope)) }
        }
        return configuration
    }

    /// Starts the program: a router over the bytes that earlier launches left. Earlier routers go on, as other processes would, until ``cut()``.
    /// - Parameter version: The program's version in this launch.
    public func launch(version: String? = nil) -> StorageRouter {
        var configuration = configuration
        if let version { configuration.applicationVersion = version }
        return StorageRouter(configuration: configuration)
    }

    /// Ends every running launch at once: nothing that they do from now on reaches a store.
    public func cut() {
        let running = state.withLock { state in
            defer { state.running = [:] }
            return state.running.values.flatMap(\.self)
        }
        for backend in running { backend.inject(.stop, repeats: true) }
    }

    // MARK: Stores

    /// Locks a domain for running launches and those to come.
    public func lock(_ domain: StorageDomain) {
        let domain = resolved(domain)
        for backend in state.withLock({ state in
            state.locked.insert(domain)
            return state.running[domain] ?? []
        }) { backend.lock() }
    }

    /// Unlocks a domain, as a person would by a prompt.
    public func unlock(_ domain: StorageDomain) {
        let domain = resolved(domain)
        for backend in state.withLock({ state in
            state.locked.remove(domain)
            return state.running[domain] ?? []
        }) { backend.open() }
    }

    /// Puts a domain out of reach for running launches and those to come, until ``makeAvailable(_:)``.
    public func makeUnavailable(_ domain: StorageDomain) {
        let domain = resolved(domain)
        for backend in state.withLock({ state in
            state.unavailable.insert(domain)
            return state.running[domain] ?? []
        }) { backend.inject(.unavailable, repeats: true) }
    }

    /// Brings a domain back into reach.
    public func makeAvailable(_ domain: StorageDomain) {
        let domain = resolved(domain)
        for backend in state.withLock({ state in
            state.unavailable.remove(domain)
            return state.running[domain] ?? []
        }) { backend.removeFaults() }
    }

    /// The backends that running launches use for a domain, to let things go wrong with them; made when the domain is first used.
    public func backends(of domain: StorageDomain) -> [FaultingBackend] {
        let domain = resolved(domain)
        return state.withLock { $0.running[domain] ?? [] }
    }

    // MARK: What other programs do

    /// Writes values as Foundation's `UserDefaults` of another program would have written them.
    /// - Parameters:
    ///   - values: The values by name.
    ///   - suite: The suite; nil for the configuration's own.
    public func seedUserDefaults(_ values: [String: NativeValue], suite: String? = nil) {
        for (name, value) in values { writeForeign(value, to: .userDefaults(suite: suite), name: name) }
    }

    /// Writes one value as another program would.
    public func writeForeign(_ value: NativeValue, to domain: StorageDomain, name: String) {
        medium(resolved(domain)).writeForeign(.native(value), at: StorageAddress(name))
    }

    /// Puts bytes into a slot that are not a record.
    public func corrupt(_ domain: StorageDomain, name: String, bytes: [UInt8]) {
        medium(resolved(domain)).corrupt(StorageAddress(name), bytes: bytes)
    }

    private func resolved(_ domain: StorageDomain) -> StorageDomain {
        StorageDomain(kind: domain.kind, scope: domain.scope ?? base.defaultScope(of: domain.kind))
    }

    private func medium(_ domain: StorageDomain) -> MemoryMedium {
        state.withLock { state in
            if let medium = state.media[domain] { return medium }
            let medium = MemoryMedium()
            state.media[domain] = medium
            return medium
        }
    }

    private func makeBackend(_ domain: StorageDomain) -> FaultingBackend {
        let backend = FaultingBackend(
            InMemoryStore.standIn(for: domain, medium: medium(domain), runtime: base.runtime), clock: base.runtime.clock)
        state.withLock { state in
            state.running[domain, default: []].append(backend)
            if state.locked.contains(domain) { backend.lock() }
            if state.unavailable.contains(domain) { backend.inject(.unavailable, repeats: true) }
        }
        return backend
    }
}

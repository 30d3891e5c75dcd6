public import BackendContract
import BackendRuntime
public import LocalData
import MemoryBackend
import Synchronization

/// A machine in memory, for tests of a program across launches.
///
/// A test can relaunch the program over the same data, lock stores, and cut the power.
///
/// ```swift
/// let machine = TestMachine()
/// machine.seedUserDefaults(["town": .string("Graz")], suite: "weather-1")  // data of an old version of the program
/// let report = try await machine.launch().registerCatalog(AppKeys(), migrateImmediately: true)
/// #expect(report.isComplete)
/// machine.cut()  // the power fails
/// #expect(try await machine.launch().get(.city) == "Graz")
/// ```
///
/// The store of every domain has the capabilities of the real one. A `.memory` domain is empty at each launch.
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
    /// - Parameter change: Changes the configuration of every launch, for example the application id.
    public init(_ change: (inout StorageConfiguration) -> Void = { _ in }) {
        var base = StorageConfiguration.inMemory()
        change(&base)
        self.base = base
    }

    /// The configuration for a program on this machine.
    public var configuration: StorageConfiguration {
        var configuration = base
        for kind in [StorageDomain.Kind.userDefaults, .keychain, .encryptedSQLite] {
            configuration.useBackend(for: kind) { [self] scope in makeBackend(StorageDomain(kind: kind, scope: scope)) }
        }
        return configuration
    }

    /// Starts the program: returns a router over the data of earlier launches.
    ///
    /// Routers of earlier launches continue to work until ``cut()``, as other processes would.
    ///
    /// ```swift
    /// let (release1, release2) = (machine.launch(version: "1.4"), machine.launch(version: "2.0"))
    /// try await release1.set("Oslo", for: .city)
    /// #expect(try await release2.get(.city) == "Oslo")
    /// ```
    /// - Parameter version: The version of the program in this launch.
    public func launch(version: String? = nil) -> StorageRouter {
        var configuration = configuration
        if let version { configuration.applicationVersion = version }
        return StorageRouter(configuration: configuration)
    }

    /// Cuts the power: ends every running launch. The pending and later operations of these launches throw
    /// `unavailable` and do not reach a store.
    ///
    /// An operation that waits for a gate or a delay throws at once.
    ///
    /// ```swift
    /// let storage = machine.launch()
    /// try await storage.set("Graz", for: .city)
    /// machine.cut()
    /// await #expect(throws: StorageError.self) { try await storage.get(.city) }  // the code is unavailable
    /// ```
    public func cut() {
        let running = state.withLock { state in
            defer { state.running = [:] }
            return state.running.values.flatMap(\.self)
        }
        for backend in running { backend.stop() }
    }

    // MARK: Stores

    /// Locks a domain for running and later launches.
    ///
    /// A database whose key is in a locked keyring is locked too. A launch that has already used the database can continue to use it,
    /// because a real process then has the key in memory.
    ///
    /// ```swift
    /// machine.lock(.keychain)
    /// await #expect { try await machine.launch().get(.apiToken) } throws: { ($0 as? StorageError)?.code == .locked }
    /// ```
    public func lock(_ domain: StorageDomain) {
        let domain = resolved(domain)
        let (own, dependent) = state.withLock { state in
            state.locked.insert(domain)
            return (state.running[domain] ?? [], running(dependentOn: domain, in: state))
        }
        for backend in own { backend.lock() }
        for backend in dependent where !backend.isOpen { backend.lock() }
    }

    /// Unlocks a domain and the databases that were locked with it, as if the user had answered the prompt.
    ///
    /// ```swift
    /// machine.unlock(.keychain)
    /// _ = try await machine.launch().value(for: .apiToken)
    /// ```
    public func unlock(_ domain: StorageDomain) {
        let domain = resolved(domain)
        for backend in state.withLock({ state in
            state.locked.remove(domain)
            return (state.running[domain] ?? []) + running(dependentOn: domain, in: state)
        }) { backend.open() }
    }

    /// The backends of running databases whose key is in the given domain, except databases that a test has locked
    /// directly.
    private func running(dependentOn domain: StorageDomain, in state: State) -> [FaultingBackend] {
        state.running.filter { keyDomain(of: $0.key) == domain && !state.locked.contains($0.key) }.flatMap(\.value)
    }

    /// The keyring that contains the key of a database; nil for other domains and other key sources.
    private func keyDomain(of domain: StorageDomain) -> StorageDomain? {
        guard domain.kind == .encryptedSQLite, let name = domain.scope else { return nil }
        return base.keyDomain(ofDatabase: name)
    }

    /// Makes a domain unavailable for running and later launches, until ``makeAvailable(_:)``.
    ///
    /// ```swift
    /// machine.makeUnavailable(.keychain)
    /// let report = await machine.launch().sweep(AppKeys())
    /// #expect(report.blocked.contains { $0.key == "api-token" })
    /// ```
    public func makeUnavailable(_ domain: StorageDomain) {
        let domain = resolved(domain)
        for backend in state.withLock({ state in
            state.unavailable.insert(domain)
            return state.running[domain] ?? []
        }) { backend.inject(.unavailable, repeats: true) }
    }

    /// Makes a domain available again. This also removes all other pending faults of its backends.
    ///
    /// ```swift
    /// machine.makeAvailable(.keychain)
    /// #expect(await machine.launch().sweep(AppKeys()).isComplete)
    /// ```
    public func makeAvailable(_ domain: StorageDomain) {
        let domain = resolved(domain)
        for backend in state.withLock({ state in
            state.unavailable.remove(domain)
            return state.running[domain] ?? []
        }) { backend.removeFaults() }
    }

    /// The backends of running launches for a domain, so that a test can inject faults.
    /// A backend is created at the first use of its domain.
    ///
    /// ```swift
    /// let storage = machine.launch()
    /// _ = try await storage.value(for: .city)  // a backend is created at the first use of its domain
    /// let full = BackendError(.noSpace, "The disk is full.")
    /// for backend in machine.backends(of: .userDefaults) { backend.inject(.fail(full), of: .apply) }
    /// await #expect { try await storage.set("Graz", for: .city) } throws: { ($0 as? StorageError)?.code == .noSpace }
    /// ```
    public func backends(of domain: StorageDomain) -> [FaultingBackend] {
        let domain = resolved(domain)
        return state.withLock { $0.running[domain] ?? [] }
    }

    // MARK: Other programs

    /// Writes values in the way another program writes them with Foundation's `UserDefaults`.
    ///
    /// ```swift
    /// machine.seedUserDefaults(["city": .string("Graz"), "visits": .integer(3)])
    /// #expect(try await machine.launch().get(.city) == "Graz")
    /// ```
    /// - Parameters:
    ///   - values: The values by name.
    ///   - suite: The suite; nil for the default suite of the configuration.
    public func seedUserDefaults(_ values: [String: NativeValue], suite: String? = nil) {
        for (name, value) in values { writeForeign(value, to: .userDefaults(suite: suite), name: name) }
    }

    /// Writes one value as another program would, without LocalData's metadata.
    ///
    /// ```swift
    /// machine.writeForeign(.string("Linz"), to: .userDefaults, name: "city")
    /// ```
    public func writeForeign(_ value: NativeValue, to domain: StorageDomain, name: String) {
        medium(resolved(domain)).writeForeign(.native(value), at: StorageAddress(name))
    }

    /// Damages a slot: replaces its content with bytes that are not a valid record.
    ///
    /// ```swift
    /// machine.corrupt(.userDefaults, name: "city", bytes: [0xFF])
    /// await #expect { try await machine.launch().get(.city) } throws: { ($0 as? StorageError)?.code == .corrupted }
    /// ```
    public func corrupt(_ domain: StorageDomain, name: String, bytes: [UInt8]) {
        medium(resolved(domain)).corrupt(StorageAddress(name), bytes: bytes)
    }

    private func resolved(_ domain: StorageDomain) -> StorageDomain { base.scoped(domain) }

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
            if !state.locked.isDisjoint(with: [domain] + (keyDomain(of: domain).map { [$0] } ?? [])) { backend.lock() }
            if state.unavailable.contains(domain) { backend.inject(.unavailable, repeats: true) }
        }
        return backend
    }
}

import BackendContract
import BackendRuntime
import MemoryBackend
package import Sealing
import Synchronization

/// Creates the stores and key sources of a configuration. For the stores of a domain, it calls the provider of this
/// kind of domain.
///
/// This object only holds the backends that it uses for sealing keys and freshness anchors (records of the latest state
/// of databases). No store holds a strong reference to this object.
package final class Wiring: StoreProvider {
    /// The providers of the library's backends.
    static let providers: [any BackendProvider] = [
        MemoryProvider(),
        DefaultsProvider(),
        KeyringProvider(),
        SQLiteProvider(),
        CacheProvider(),
    ]

    package let configuration: StorageConfiguration
    private let keys: SealingKeys
    private let sealed: SealedContent
    private let keySources = Mutex<[KeySourceReference: any KeySource]>([:])
    /// The backends for sealing keys and freshness anchors in a keyring. The router accesses no values through them.
    private let keyStores = Mutex<[any StorageBackend]>([])

    /// Whether stores can be opened while a restore is unfinished. The restore itself needs this.
    private let isRestoring: Bool

    init(configuration: StorageConfiguration, keys: SealingKeys, sealed: SealedContent, isRestoring: Bool = false) {
        (self.isRestoring, self.configuration, self.keys, self.sealed) = (isRestoring, configuration, keys, sealed)
    }

    func defaultScope(of kind: StorageDomain.Kind) -> String { configuration.defaultScope(of: kind) }

    func makeBackend(_ kind: StorageDomain.Kind, _ scope: String) throws -> any StorageBackend {
        let provider = configuration.provider(of: kind)
        let domain = StorageDomain(kind: kind, scope: scope)
        if case .refused(let why) = configuration.place { return MissingBackend(for: domain, provider?.claims, why) }
        if let make = configuration.makers[kind] { return try make(scope) }
        if case .memory(let world) = configuration.place, kind != .memory {
            try provider?.validate(scope)
            let protection = try provider?.protection(of: scope, parts)
            return InMemoryStore.standIn(
                for: domain, provider?.claims, protection: protection, medium: world.medium(domain), runtime: configuration.runtime)
        }
        if !isRestoring {
            try RestoreMark.requireNone(configuration)
            if provider is any BackedProvider || kind == .cache { try ForgetMark.requireNone(configuration) }
        }
        guard let provider else {
            return MissingBackend(
                for: domain, nil, "No backend serves the domain \(kind). Plug one in with StorageConfiguration.useBackend(for:_:).")
        }
        try provider.validate(scope)
        return try provider.make(scope, parts)
    }

    /// Returns a warning for the operator about a domain's store on this machine; nil if there is none.
    func warning(about domain: StorageDomain) -> String? {
        configuration.isInMemory || configuration.plugsIn(domain.kind)
            ? nil : configuration.provider(of: domain.kind)?.warning(configuration)
    }

    private var parts: StoreParts {
        StoreParts(configuration: configuration, keys: keys, stores: self) { [weak self] (source) throws(BackendError) in
            // Throw an error. An empty set would allow a new key to be created, although a lost key has sealed data.
            guard let self else { throw BackendError(.unavailable, "The router was released. Nothing was changed.") }
            return try await sealedIDs(of: source)
        } freshnessAnchor: { [self] in
            try makeFreshnessAnchor(of: $0)
        }
    }

    /// Returns the ids of all keys of a source with which data in any store of this program is sealed.
    func sealedIDs(of source: any KeySource) async throws(BackendError) -> Set<[UInt8]> {
        try await sealed.ids(of: source, naming: self)
    }

    /// Returns the domains of databases whose data keys are encrypted with keys of a source, each with the ids of these
    /// keys.
    func keyedStores(of source: any KeySource) async throws(BackendError) -> [StorageDomain: Set<[UInt8]>] {
        var found: [StorageDomain: Set<[UInt8]>] = [:]
        for provider in configuration.providers { found.merge(try await provider.keyedStores(of: source, configuration)) { $0.union($1) } }
        return found
    }

    /// Returns the object that records which keys running programs use for sealing. For a configuration in memory, it
    /// records nothing, because no other program shares the keys.
    static func keyUses(_ configuration: StorageConfiguration) -> any KeyUses {
        guard !configuration.isInMemory, let directories = try? configuration.directories else { return NoOtherUses() }
        return KeyUseFiles(
            directory: "\(directories.locks)/keys", deadline: configuration.deadlines.files, runtime: configuration.runtime)
    }

    /// Remembers the slot of a registered key, or of one of its legacy locations, for the search of ``sealedIDs(of:)``.
    func noteSealed(_ route: Route) throws { try sealed.note(route, self) }

    package func keySource(_ reference: KeySourceReference) throws -> any KeySource {
        let reference = reference == .configured ? configuration.keySource : reference
        return try keySources.value(at: reference) { try makeKeySource(reference) }
    }

    /// Creates a backend that stores a sealing key or a freshness anchor, and keeps it until ``close()``.
    func makeKeyStore(_ kind: StorageDomain.Kind, _ scope: String) throws -> any StorageBackend {
        let store = try makeBackend(kind, scope)
        keyStores.withLock { $0.append(store) }
        return store
    }

    /// Closes the backends for sealing keys and freshness anchors.
    package func close() async {
        for store in keyStores.withLock(\.self) { await store.close() }
    }
}

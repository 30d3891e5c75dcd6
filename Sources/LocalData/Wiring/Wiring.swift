import BackendContract
package import BackendRuntime
import DefaultsBackend
import KeyringBackend
package import MemoryBackend
import Sealing
import Synchronization

/// The only place that names the backends: which one serves which kind of domain, and with what.
final class Wiring: Sendable {
    let configuration: StorageConfiguration
    var runtime: Runtime { configuration.runtime }
    private let keys = Mutex<SealingKeys?>(nil)
    /// Stores that only hold keys: nobody else knows of them.
    private let keyStores = Mutex<[any StorageBackend]>([])
    private let sealedElsewhere = Mutex<(@Sendable (any KeySource) async throws(BackendError) -> Set<[UInt8]>)?>(nil)
    private let keySources = Mutex<[KeySourceReference: any KeySource]>([:])

    init(configuration: StorageConfiguration) { self.configuration = configuration }

    /// Closes the circle to the router's sealing keys, whose pins are kept in a store that is made here.
    func connect(_ keys: SealingKeys) { self.keys.withLock { $0 = keys } }

    /// Closes the circle to the engine, which knows what is sealed outside of databases.
    func connect(sealedElsewhere: @escaping @Sendable (any KeySource) async throws(BackendError) -> Set<[UInt8]>) {
        self.sealedElsewhere.withLock { $0 = sealedElsewhere }
    }

    /// The ids of the keys that sealed what this program is known to keep with a source, in whatever store: asked before a first key is made.
    func sealedIDs(of source: any KeySource) async throws(BackendError) -> Set<[UInt8]> {
        let ids = try await databaseKeyIDs(of: source)
        guard let sealedElsewhere = sealedElsewhere.withLock(\.self) else { return ids }
        return ids.union(try await sealedElsewhere(source))
    }

    func sealingKeys() throws -> SealingKeys {
        guard let keys = keys.withLock(\.self) else { throw StorageError(StorageError.unavailable, key: "", "The router was shut down.") }
        return keys
    }

    /// The backend of one scope of a kind of domain.
    func makeBackend(_ kind: StorageDomain.Kind, _ scope: String) throws -> any StorageBackend {
        if case .refused(let why) = configuration.place { return MissingBackend(for: StorageDomain(kind: kind, scope: scope), why) }
        if let make = configuration.makers[kind] { return try make(scope) }
        if case .memory(let world) = configuration.place { return try makeInMemory(kind, scope, world) }
        switch kind {
        case .memory: return InMemoryStore(medium: MemoryMedium(), runtime: runtime)
        case .userDefaults:
            try PropertyListStore.validateSuiteName(scope)
            let directories = try directories()
            return try propertyList(try PropertyListStore.path(ofSuite: scope, in: directories.preferences))
        case .keychain:
            if let source = configuration.keychain.vault { return try makeVault(scope, source) }
            return try makeKeyring(scope)
        case .encryptedSQLite: return try makeDatabase(scope)
        default:
            return MissingBackend(
                for: StorageDomain(kind: kind, scope: scope),
                "No backend serves the domain \(kind). Plug one in with StorageConfiguration.use(for:_:).")
        }
    }

    func directories() throws -> StorageDirectories {
        guard let directories = try configuration.directories else {
            throw StorageError(StorageError.unavailable, key: "", "The configuration has no directories.")
        }
        return directories
    }

    private func propertyList(_ path: String) throws -> any StorageBackend {
        let directories = try directories()
        return PropertyListStore(
            path: path, lockPath: PropertyListStore.lockPath(forPropertyListAt: path, in: directories.locks, files: runtime.files),
            quarantineDirectory: "\(directories.data)/quarantine",
            deadline: configuration.deadlines.files, runtime: runtime)
    }

    private func makeKeyring(_ service: String) throws -> any StorageBackend {
        #if Keyring && os(Linux)
            let directories = try directories()
            let dataHome =
                runtime.host.environment["XDG_DATA_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
                ?? runtime.host.homeDirectory.map { $0 + "/.local/share" }
            return SecretServiceStore(
                service: service, style: configuration.keyringStyles[service] ?? .localData,
                lockFile: "\(directories.locks)/keyring.lock", deadline: configuration.deadlines.keyring,
                promptDeadline: configuration.deadlines.prompt, keyringsDirectory: dataHome.map { $0 + "/keyrings" }, runtime: runtime)
        #else
            return MissingBackend(
                for: .keychain(service: service),
                "This build has no keyring (trait Keyring, Linux only). Build with the trait, or plug a backend in with StorageConfiguration.use(for: .keychain)."
            )
        #endif
    }

    /// What the real store of a domain would claim, kept in memory.
    private func makeInMemory(_ kind: StorageDomain.Kind, _ scope: String, _ world: MemoryWorld) throws -> any StorageBackend {
        if kind == .memory { return InMemoryStore(medium: MemoryMedium(), runtime: runtime) }
        if kind == .userDefaults { try PropertyListStore.validateSuiteName(scope) }
        var protection: ProtectionLevel?
        if kind == .encryptedSQLite {
            try validate(database: scope)
            protection = try keySource(configuration.databaseKeySources[scope] ?? .configured).protection
        }
        if kind == .keychain, let source = configuration.keychain.vault { protection = try keySource(try vaultSource(source)).protection }
        let domain = StorageDomain(kind: kind, scope: scope)
        return InMemoryStore.standIn(for: domain, protection: protection, medium: world.medium(domain), runtime: runtime)
    }

    /// The ledger's store.
    func makeLedgerBackend() throws -> any StorageBackend { try makeOwn("ledger") { "\($0.state)/ledger.plist" } }

    /// The quarantine's store.
    func makeQuarantineBackend() throws -> any StorageBackend { try makeOwn("quarantine") { "\($0.data)/quarantine/quarantine.plist" } }

    private func makeOwn(_ name: String, _ path: (StorageDirectories) -> String) throws -> any StorageBackend {
        if let make = configuration.makeOwnStore { return try make(name) }
        switch configuration.place {
        case .refused(let why): throw StorageError(StorageError.unavailable, key: name, why)
        case .memory(let world): return try makeInMemory(.userDefaults, "LocalData.\(name)", world)
        default: return try propertyList(path(try directories()))
        }
    }

    /// The source that a reference names.
    func keySource(_ reference: KeySourceReference) throws -> any KeySource {
        let reference = reference == .configured ? configuration.keySource : reference
        if let source = keySources.withLock({ $0[reference] }) { return source }
        let source = try makeKeySource(reference)
        return keySources.withLock { sources in
            if let source = sources[reference] { return source }
            sources[reference] = source
            return source
        }
    }

    private func makeKeySource(_ reference: KeySourceReference) throws -> any KeySource {
        switch reference.form {
        case .configured:
            throw StorageError(
                StorageError.unavailable, key: "",
                "The configuration's key source must be a keyring, a key file, a credential or a passphrase.")
        case .keyring(let service, let name):
            let store = try makeBackend(.keychain, service ?? configuration.applicationID)
            keyStores.withLock { $0.append(store) }
            return BackendKeySource(store, address: StorageAddress(name))
        case .keyFile(let path):
            if case .memory(let world) = configuration.place { return keyInMemory("key-file", path, .sealed, world) }
            let path = path.hasPrefix("/") ? path : "\(try directories().data)/\(path)"
            return KeyFileSource(path: path, deadline: configuration.deadlines.files, runtime: runtime)
        case .credential(let name):
            if case .memory(let world) = configuration.place { return keyInMemory("credential", name, .sealed, world) }
            return try CredentialSource(name: name, deadline: configuration.deadlines.files, runtime: runtime)
        case .passphrase(let name):
            if case .memory(let world) = configuration.place { return keyInMemory("passphrase", name, .keyring, world) }
            try validate(passphraseName: name)
            return PassphraseSource(
                path: "\(try directories().data)/\(name).passphrase", name: name, deadline: configuration.deadlines.files, runtime: runtime
            ) { [give = configuration.passphrase] in
                guard let passphrase = try await give?(name) else {
                    throw StorageError(StorageError.locked, key: name, "No passphrase was given.")
                }
                return passphrase
            }
        }
    }

    private func validate(passphraseName name: String) throws {
        do throws(BackendError) { try PropertyListStore.validateSuiteName(name) } catch {
            throw StorageError(StorageError.invalidName, key: name, "The name of a passphrase is a file's name, not a path.")
        }
    }

    private func keyInMemory(_ kind: String, _ name: String, _ protection: ProtectionLevel, _ world: MemoryWorld) -> any KeySource {
        let medium = world.medium(StorageDomain(kind: StorageDomain.Kind(kind), scope: name))
        let capabilities = BackendCapabilities(durability: .durable, atomicBatch: true, crossProcess: true, protection: protection)
        let store = InMemoryStore(
            medium: medium, identity: BackendIdentity(kind: kind, store: name), capabilities: capabilities, runtime: runtime)
        return BackendKeySource(store, address: StorageAddress("key"))
    }

    /// Closes the stores that only hold keys.
    func close() async {
        for store in keyStores.withLock(\.self) { await store.close() }
    }
}

extension InMemoryStore {
    /// A store in memory that claims what the real store of a domain would.
    /// - Parameter protection: How well it protects, where that depends on the configuration.
    package static func standIn(
        for domain: StorageDomain, protection: ProtectionLevel? = nil, medium: MemoryMedium, runtime: Runtime
    ) -> InMemoryStore {
        let isShared = domain.kind == .userDefaults
        return InMemoryStore(
            medium: medium, identity: BackendIdentity(kind: "memory-\(domain.kind)", store: domain.scope ?? ""),
            capabilities: BackendCapabilities(
                durability: .durable, atomicBatch: domain.kind != .keychain, crossProcess: true,
                protection: protection ?? (isShared ? .plain : .keyring),
                storesNativeValues: isShared,
                sharedWithOthers: isShared, usefulConcurrency: 64), runtime: runtime)
    }
}

extension Wiring: StoreProvider {
    func defaultScope(of kind: StorageDomain.Kind) -> String { configuration.defaultScope(of: kind) }
}

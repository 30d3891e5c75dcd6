import BackendContract
package import BackendRuntime
import DefaultsBackend
import KeyringBackend
package import MemoryBackend
import Sealing
import Synchronization

/// The only place that names the backends: which one serves which kind of domain, and with what.
final class Wiring: Sendable {
    private let configuration: StorageConfiguration
    private var runtime: Runtime { configuration.runtime }
    private let keySources = Mutex<[KeySourceReference: any KeySource]>([:])

    init(configuration: StorageConfiguration) { self.configuration = configuration }

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
        case .keychain: return try makeKeyring(scope)
        case .encryptedSQLite:
            return MissingBackend(
                for: StorageDomain(kind: kind, scope: scope),
                "This build has no encrypted SQLite backend (trait SQLite). Plug one in with StorageConfiguration.use(for: .encryptedSQLite)."
            )
        default:
            return MissingBackend(
                for: StorageDomain(kind: kind, scope: scope),
                "No backend serves the domain \(kind). Plug one in with StorageConfiguration.use(for:_:).")
        }
    }

    private func directories() throws -> StorageDirectories {
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
        let domain = StorageDomain(kind: kind, scope: scope)
        return InMemoryStore.standIn(for: domain, medium: world.medium(domain), runtime: runtime)
    }

    /// The ledger's store.
    func makeLedgerBackend() throws -> any StorageBackend { try makeOwn("ledger") { "\($0.state)/ledger.plist" } }

    /// The quarantine's store.
    func makeQuarantineBackend() throws -> any StorageBackend { try makeOwn("quarantine") { "\($0.data)/quarantine/quarantine.plist" } }

    private func makeOwn(_ name: String, _ path: (StorageDirectories) -> String) throws -> any StorageBackend {
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
            throw StorageError(StorageError.unavailable, key: "", "The configuration's key source must be a keyring or a key file.")
        case .keyring(let service, let name):
            return BackendKeySource(try makeBackend(.keychain, service ?? configuration.applicationID), address: StorageAddress(name))
        case .keyFile(let path):
            if case .memory(let world) = configuration.place {
                let medium = world.medium(StorageDomain(kind: StorageDomain.Kind("key-file"), scope: path))
                let capabilities = BackendCapabilities(durability: .durable, atomicBatch: true, crossProcess: true, protection: .sealed)
                let file = InMemoryStore(
                    medium: medium, identity: BackendIdentity(kind: "key-file", store: path), capabilities: capabilities, runtime: runtime)
                return BackendKeySource(file, address: StorageAddress("key"))
            }
            let path = path.hasPrefix("/") ? path : "\(try directories().data)/\(path)"
            return KeyFileSource(path: path, deadline: configuration.deadlines.files, runtime: runtime)
        }
    }
}

extension InMemoryStore {
    /// A store in memory that claims what the real store of a domain would.
    package static func standIn(for domain: StorageDomain, medium: MemoryMedium, runtime: Runtime) -> InMemoryStore {
        let isShared = domain.kind == .userDefaults
        return InMemoryStore(
            medium: medium, identity: BackendIdentity(kind: "memory-\(domain.kind)", store: domain.scope ?? ""),
            capabilities: BackendCapabilities(
                durability: .durable, atomicBatch: true, crossProcess: true, protection: isShared ? .plain : .keyring,
                storesNativeValues: isShared,
                sharedWithOthers: isShared, usefulConcurrency: 64), runtime: runtime)
    }
}

import BackendContract
import MemoryBackend
import Sealing

/// Creates the key source that a reference names.
extension Wiring {
    func makeKeySource(_ reference: KeySourceReference) throws -> any KeySource {
        for provider in configuration.providers { if let source = try provider.keySource(reference, self) { return source } }
        let (deadline, runtime) = (configuration.deadlines.files, configuration.runtime)
        switch reference.form {
        case .configured:
            throw StorageError(
                StorageError.unavailable, key: "",
                "The configuration's key source must be a keyring, a key file, a credential, a passphrase, a portal or a custom source."
            )
        case .keyFile(let path):
            if let source = keyInMemory("key-file", path, .sealed) { return source }
            return KeyFileSource(path: path.hasPrefix("/") ? path : try dataPath(path), deadline: deadline, runtime: runtime)
        case .credential(let name):
            if let source = keyInMemory("credential", name, .sealed) { return source }
            return try CredentialSource(name: name, deadline: deadline, runtime: runtime)
        case .passphrase(let name):
            if let source = keyInMemory("passphrase", name, .keychain) { return source }
            do { try DefaultsProvider.requireFileName(name) } catch {
                throw StorageError(StorageError.invalidName, key: name, "The name of a passphrase is a file's name, not a path.")
            }
            let ask = configuration.passphrase
            return PassphraseSource(
                path: try dataPath("\(name).passphrase"), name: name, cost: configuration.scryptCost.cost, deadline: deadline,
                runtime: runtime
            ) {
                guard let passphrase = try await ask?(name) else {
                    throw StorageError(StorageError.locked, key: name, "No passphrase was given.")
                }
                return passphrase
            }
        case .keychain, .secretPortal:
            throw StorageError(.unavailable, key: "\(reference)", "No backend of this build keeps keys there. Use another key source.")
        case .custom(let name):
            guard let source = configuration.customKeySources[name] else {
                throw StorageError(
                    StorageError.unavailable, key: name,
                    "The configuration has no key source of this name. Add it to StorageConfiguration.customKeySources.")
            }
            return try ProgramKeySource(name, source)
        }
    }

    private func dataPath(_ name: String) throws -> String { "\(try configuration.requiredDirectories().data)/\(name)" }

    /// Returns a key source that keeps its key in memory, if the configuration keeps all data in memory. Returns nil if
    /// the configuration stores data on a disk: then the caller creates the real key source of this kind.
    func keyInMemory(_ kind: String, _ name: String, _ protection: ProtectionLevel) -> (any KeySource)? {
        guard case .memory(let world) = configuration.place else { return nil }
        let medium = world.medium(StorageDomain(kind: StorageDomain.Kind(kind), scope: name))
        let capabilities = BackendCapabilities(durability: .durable, atomicBatch: true, crossProcess: true, protection: protection)
        let store = InMemoryStore(
            medium: medium, identity: BackendIdentity(kind: kind, store: name), capabilities: capabilities, runtime: configuration.runtime)
        return BackendKeySource(store, address: StorageAddress("key"))
    }
}

import BackendContract
import DefaultsBackend
import KeyringBackend
import MemoryBackend
import Sealing

/// The sources of sealing keys, by the form of their reference.
extension Wiring {
    func makeKeySource(_ reference: KeySourceReference) throws -> any KeySource {
        let (deadline, runtime) = (configuration.deadlines.files, configuration.runtime)
        switch reference.form {
        case .configured:
            throw StorageError(
                StorageError.unavailable, key: "",
                "The configuration's key source must be a keyring, a key file, a credential, a passphrase, a portal or one of the program's own."
            )
        case .keyring(let service, let name):
            return BackendKeySource(try makeKeyStore(service ?? configuration.applicationID), address: StorageAddress(name))
        case .keyFile(let path):
            if let source = keyInMemory("key-file", path, .sealed) { return source }
            return KeyFileSource(path: path.hasPrefix("/") ? path : try dataPath(path), deadline: deadline, runtime: runtime)
        case .credential(let name):
            if let source = keyInMemory("credential", name, .sealed) { return source }
            return try CredentialSource(name: name, deadline: deadline, runtime: runtime)
        case .passphrase(let name):
            if let source = keyInMemory("passphrase", name, .keyring) { return source }
            try validate(passphraseName: name)
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
        case .secretPortal(let name):
            if let source = keyInMemory("portal", name, .keyring) { return source }
            return try portalKeySource(name)
        case .custom(let name):
            guard let source = configuration.customKeySources[name] else {
                throw StorageError(
                    StorageError.unavailable, key: name,
                    "The configuration has no key source of this name. Add it to StorageConfiguration.customKeySources.")
            }
            return try ProgramKeySource(name, source)
        }
    }

    private func portalKeySource(_ name: String) throws -> PortalKeySource {
        #if Keyring && os(Linux)
            let (portal, deadlines) = (SecretPortal(runtime: configuration.runtime), configuration.deadlines)
            return try PortalKeySource(name: name) { waits, use throws(BackendError) in
                try await portal.withSecret(within: waits ? deadlines.prompt : deadlines.keyring, use)
            }
        #else
            return try PortalKeySource(name: name) { _, _ throws(BackendError) in
                throw BackendError(
                    .unavailable,
                    "This build asks no portal for a key (trait Keyring, Linux only). Build with the trait, or use another key source.")
            }
        #endif
    }

    private func dataPath(_ name: String) throws -> String { "\(try configuration.requiredDirectories().data)/\(name)" }

    private func validate(passphraseName name: String) throws {
        do throws(BackendError) { try PropertyListStore.validateSuiteName(name) } catch {
            throw StorageError(StorageError.invalidName, key: name, "The name of a passphrase is a file's name, not a path.")
        }
    }

    /// The stand-in for a source that is a file; nil where something is on a disk.
    private func keyInMemory(_ kind: String, _ name: String, _ protection: ProtectionLevel) -> (any KeySource)? {
        guard case .memory(let world) = configuration.place else { return nil }
        let medium = world.medium(StorageDomain(kind: StorageDomain.Kind(kind), scope: name))
        let capabilities = BackendCapabilities(durability: .durable, atomicBatch: true, crossProcess: true, protection: protection)
        let store = InMemoryStore(
            medium: medium, identity: BackendIdentity(kind: kind, store: name), capabilities: capabilities, runtime: configuration.runtime)
        return BackendKeySource(store, address: StorageAddress("key"))
    }
}

import BackendContract
import BackendRuntime
import Sealing

/// Copies keyring services and sealed vaults to backups and restores them. A sealed vault is an encrypted database that
/// replaces a keyring.
extension KeyringProvider: BackedProvider {
    /// The kind of sealed vaults. The scope is the file's name without its extension.
    private static let vault = "vault"

    var backedKinds: [String] { [kind.name, Self.vault] }

    func scopes(ofBacked kind: String, in program: BackedProgram) async throws -> Set<String> {
        if kind == Self.vault {
            return try await program.files(in: "\(try program.configuration.requiredDirectories().data)/vaults", ending: ".sqlite")
        }
        let configuration = program.configuration
        let services = configuration.keychain.vault == nil ? program.scopes(of: self.kind) : []
        return services.union(
            program.references.compactMap {
                guard case .keychain(let service, _) = $0.form else { return nil }
                return service ?? configuration.applicationID
            })
    }

    func expectedKind(of domain: StorageDomain, _ configuration: StorageConfiguration) -> String? {
        configuration.keychain.vault == nil ? kind.name : nil
    }

    func backedStore(_ kind: String, _ scope: String, _ configuration: StorageConfiguration) throws -> BackedStore {
        if kind == Self.vault {
            return try SQLiteProvider.backedDatabase(kind, scope, in: "vaults", configuration.keychain.vault ?? .configured, configuration)
        }
        guard let store = try makeKeyring(scope, configuration) as? any BackupItemStore else {
            throw StorageError(StorageError.unavailable, key: scope, "This build has no keyring (trait Keyring, Linux only).")
        }
        return BackedStore(kind: kind, scope: scope, store: store, form: .items(store))
    }

    func backedStore(of domain: StorageDomain, _ configuration: StorageConfiguration) throws -> BackedStore {
        let service = domain.scope ?? configuration.applicationID
        guard configuration.keychain.vault != nil else { return try backedStore(kind.name, service, configuration) }
        return try backedStore(Self.vault, SealedVault.name(of: service), configuration)
    }

    func backupCheck(of kind: String, keys: [SealingKey]) throws -> (any KeyedBackupCheck)? {
        kind == Self.vault ? try SQLiteProvider.backupCheck(keys: keys) : nil
    }
}

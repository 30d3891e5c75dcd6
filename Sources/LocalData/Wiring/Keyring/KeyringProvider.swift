import BackendContract
import BackendRuntime
import KeyringBackend
import Sealing

/// The domain `.keychain`: one service in the session's keyring, or in a sealed vault where the configuration says so.
struct KeyringProvider: BackendProvider {
    let kind = StorageDomain.Kind.keychain
    let claims = BackendCapabilities(durability: .durable, crossProcess: true, protection: .keyring, usefulConcurrency: 64)

    func protection(of scope: String, _ parts: StoreParts) throws -> ProtectionLevel? {
        try parts.configuration.keychain.vault.map { try SealedVault(source: $0).keySource(parts).protection }
    }

    func make(_ scope: String, _ parts: StoreParts) throws -> any StorageBackend {
        if let source = parts.configuration.keychain.vault { return try SealedVault(source: source).make(scope, parts) }
        return try makeKeyring(scope, parts.configuration)
    }

    private func makeKeyring(_ service: String, _ configuration: StorageConfiguration) throws -> any StorageBackend {
        #if Keyring && os(Linux)
            let directories = try configuration.requiredDirectories()
            return SecretServiceStore(
                service: service, style: configuration.keyringStyles[service] ?? .localData, lockFile: "\(directories.locks)/keyring.lock",
                deadline: configuration.deadlines.keyring, promptDeadline: configuration.deadlines.prompt,
                keyringsDirectory: Self.keyringsDirectory(configuration.runtime.host),
                allowsPlainTransport: configuration.allowsUnencryptedKeyringTransport, runtime: configuration.runtime)
        #else
            return MissingBackend(
                for: .keychain(service: service), claims,
                "This build has no keyring (trait Keyring, Linux only). Build with the trait, or plug a backend in with StorageConfiguration.use(for: .keychain)."
            )
        #endif
    }

    /// The store of a service whose items a backup copies; nil in a build without a keyring.
    static func makeItemStore(_ service: String, _ configuration: StorageConfiguration) throws -> (any BackupItemStore)? {
        try KeyringProvider().makeKeyring(service, configuration) as? any BackupItemStore
    }

    #if Keyring && os(Linux)
        /// The folder in which the daemon keeps its keyrings; nil where no home directory is known.
        private static func keyringsDirectory(_ host: HostFacts) -> String? {
            let own = host.environment["XDG_DATA_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
            let dataHome = own ?? host.homeDirectory.map { $0 + "/.local/share" }
            return dataHome.map { $0 + "/keyrings" }
        }
    #endif
}

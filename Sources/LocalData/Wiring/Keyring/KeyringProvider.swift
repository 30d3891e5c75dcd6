import BackendContract
import BackendRuntime
import KeyringBackend
import Sealing

/// The domain `.keychain`: one service in the session's keyring. If the configuration says so, the service is in a
/// sealed vault: an encrypted database that replaces the keyring.
struct KeyringProvider: BackendProvider {
    let kind = StorageDomain.Kind.keychain
    let claims = BackendCapabilities(durability: .durable, crossProcess: true, protection: .keychain, usefulConcurrency: 64)

    func protection(of scope: String, _ parts: StoreParts) throws -> ProtectionLevel? {
        try parts.configuration.keychain.vault.map { try SealedVault(source: $0).keySource(parts).protection }
    }

    func make(_ scope: String, _ parts: StoreParts) throws -> any StorageBackend {
        if let source = parts.configuration.keychain.vault { return try SealedVault(source: source).make(scope, parts) }
        return try makeKeyring(scope, parts.configuration)
    }

    func makeKeyring(_ service: String, _ configuration: StorageConfiguration) throws -> any StorageBackend {
        #if Keyring && os(Linux)
            let directories = try configuration.requiredDirectories()
            return SecretServiceStore(
                service: service, style: configuration.keychainStyles[service] ?? .localData, lockFile: "\(directories.locks)/keyring.lock",
                deadline: configuration.deadlines.keychain, promptDeadline: configuration.deadlines.prompt,
                keyringsDirectory: Self.keyringsDirectory(configuration.runtime.host),
                allowsPlainTransport: configuration.allowsUnencryptedKeychainTransport, runtime: configuration.runtime)
        #else
            return MissingBackend(
                for: .keychain(service: service), claims,
                "This build has no keyring (trait Keyring, Linux only). Build with the trait, or plug a backend in with StorageConfiguration.useBackend(for: .keychain)."
            )
        #endif
    }

    #if SQLite
        func keyedStores(
            of source: any KeySource, _ configuration: StorageConfiguration
        ) async throws(BackendError) -> [StorageDomain: Set<[UInt8]>] {
            try await SealedFolder.vaults.stores(of: source, configuration)
        }

        func applications(_ configuration: StorageConfiguration) async throws -> Set<String> {
            try await SealedFolder.vaults.applications(configuration)
        }
    #endif

    func warning(_ configuration: StorageConfiguration) -> String? { configuration.keychain.vault == nil ? nil : SQLiteProvider.warning }

    func keySource(_ reference: KeySourceReference, _ wiring: Wiring) throws -> (any KeySource)? {
        let configuration = wiring.configuration
        switch reference.form {
        case .keychain(let service, let name):
            return BackendKeySource(
                try wiring.makeKeyStore(kind, service ?? configuration.applicationID), address: StorageAddress(name))
        case .secretPortal(let name):
            if let source = wiring.keyInMemory("portal", name, .keychain) { return source }
            return try portalKeySource(name, configuration)
        default: return nil
        }
    }

    private func portalKeySource(_ name: String, _ configuration: StorageConfiguration) throws -> PortalKeySource {
        #if Keyring && os(Linux)
            let (portal, deadlines) = (SecretPortal(runtime: configuration.runtime), configuration.deadlines)
            return try PortalKeySource(name: name) { waits, use throws(BackendError) in
                try await portal.withSecret(within: waits ? deadlines.prompt : deadlines.keychain, use)
            }
        #else
            return try PortalKeySource(name: name) { _, _ throws(BackendError) in
                throw BackendError(
                    .unavailable,
                    "This build asks no portal for a key (trait Keyring, Linux only). Build with the trait, or use another key source.")
            }
        #endif
    }

    #if Keyring && os(Linux)
        /// Returns the folder in which the keyring daemon stores its keyrings; nil if no home directory is known.
        private static func keyringsDirectory(_ host: HostFacts) -> String? {
            let own = host.environment["XDG_DATA_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
            let dataHome = own ?? host.environment["HOME"].map { $0 + "/.local/share" }
            return dataHome.map { $0 + "/keyrings" }
        }
    #endif
}

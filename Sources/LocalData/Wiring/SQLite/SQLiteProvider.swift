import BackendContract
import SQLiteBackend
import Sealing

/// The domain `.encryptedSQLite`: one encrypted database for each name.
struct SQLiteProvider: BackendProvider {
    let kind = StorageDomain.Kind.encryptedSQLite
    let claims = BackendCapabilities(
        durability: .durable, atomicBatch: true, crossProcess: true, protection: .keychain, usefulConcurrency: 64)

    #if SQLite
        func validate(_ scope: String) throws(BackendError) { try SQLiteStore.validateName(scope) }
    #endif

    func protection(of scope: String, _ parts: StoreParts) throws -> ProtectionLevel? {
        try parts.keySource(Self.source(of: scope, parts.configuration)).protection
    }

    func make(_ scope: String, _ parts: StoreParts) throws -> any StorageBackend {
        #if SQLite
            return try SealedFolder.databases.makeStore(scope, of: scope, Self.source(of: scope, parts.configuration), parts)
        #else
            return MissingBackend(for: .encryptedSQLite(database: scope), claims, Self.missing(".encryptedSQLite"))
        #endif
    }

    static func source(of name: String, _ configuration: StorageConfiguration) -> KeySourceReference {
        configuration.databaseKeySources[name] ?? .configured
    }

    #if SQLite
        func keyedStores(
            of source: any KeySource, _ configuration: StorageConfiguration
        ) async throws(BackendError) -> [StorageDomain: Set<[UInt8]>] {
            try await SealedFolder.databases.stores(of: source, configuration)
        }

        func applications(_ configuration: StorageConfiguration) async throws -> Set<String> {
            try await SealedFolder.databases.applications(configuration)
        }
    #endif

    func warning(_ configuration: StorageConfiguration) -> String? { Self.warning }

    /// A warning about the SQLite library of this machine; nil if there is none.
    static var warning: String? {
        #if SQLite
            return SQLiteStore.warning
        #else
            return nil
        #endif
    }

    #if !SQLite
        /// The error message for a build without encrypted databases.
        static func missing(_ kind: String) -> String {
            "This build has no encrypted SQLite backend (trait SQLite). Build with the trait, or plug a backend in with StorageConfiguration.useBackend(for: \(kind))."
        }
    #endif
}

import Configuration
import Foundation
import LocalData
import LocalDataConfiguration
import LocalDataPostgreSQL

/// The settings of the server.
///
/// The environment has them as `SESSIONS_PORT` and so on. A setting that is not in the environment comes from the list
/// `settings` of the user defaults, where it is named `sessions.port`.
struct Settings: Sendable {
    enum Store: String, Sendable { case localdata, userdefaults, handwritten }

    /// The host to listen on.
    var host: String
    /// The port to listen on.
    var port: Int
    /// The implementation of the store.
    var store: Store
    /// `sqlite`, or the connection string of a PostgreSQL server.
    var database: String
    /// The folders and the key.
    var storage: StorageConfiguration

    /// The application id of the server, and the list of version 1.
    static let applicationID = "org.example.sessions"

    /// Reads the settings.
    ///
    /// The root folder and the name of the key's credential are needed before the user defaults can be read. So they come
    /// from the environment only.
    /// - Throws: An error if a setting has a wrong type, or cannot be read.
    static func read(_ environment: EnvironmentVariablesProvider = EnvironmentVariablesProvider()) async throws -> Settings {
        let first = ConfigReader(provider: environment).scoped(to: "sessions")
        var storage = StorageConfiguration.service(applicationID: applicationID, version: "2.0")
        if let root = try await first.fetchString(forKey: "root") {
            storage = StorageConfiguration(root: URL(filePath: root), applicationID: applicationID, version: "2.0")
        }
        if let credential = try await first.fetchString(forKey: "credential") { storage.keySource = .credential(credential) }

        let router = StorageRouter(configuration: storage)
        let stored = try await StorageConfigProvider(router, domains: [.userDefaults(suite: "settings")])
        let config = ConfigReader(providers: [environment, stored]).scoped(to: "sessions")
        // The fetching functions throw if a setting has a wrong type. `int(forKey:default:)` would return the default.
        let settings = Settings(
            host: try await config.fetchString(forKey: "host", default: "127.0.0.1"),
            port: try await config.fetchInt(forKey: "port", default: 8080),
            store: try await config.fetchString(forKey: "store", as: Store.self, default: .localdata),
            database: try await config.fetchString(forKey: "database", isSecret: true, default: "sqlite"), storage: storage)
        try await router.shutdown()
        return settings
    }

    /// Creates the store. Nothing is migrated yet, except by the hand-written store.
    func makeStore() throws -> any SessionStore {
        switch store {
        case .localdata: return LocalDataStore(StorageRouter(configuration: configuration), domain: domain)
        case .userdefaults: return try UserDefaultsStore(suite: Self.applicationID)
        case .handwritten: return try HandWrittenStore(directories: storage.directories, suite: Self.applicationID)
        }
    }

    /// The domain of sessions and tokens: a database on this machine, or a server that several processes share.
    var domain: StorageDomain { database == "sqlite" ? .encryptedSQLite(database: "sessions") : .postgreSQL(database: "sessions") }

    private var configuration: StorageConfiguration {
        var configuration = storage
        if database != "sqlite" { configuration.usePostgreSQL(PostgreSQLServer(database)) }
        return configuration
    }
}

import BackendRuntime
public import LocalData
import PostgreSQLBackend

extension StorageDomain.Kind {
    /// Rows in a PostgreSQL database, which several machines share.
    public static let postgreSQL = StorageDomain.Kind("postgreSQL")
}

extension StorageDomain {
    /// Rows in a PostgreSQL database, which several machines share.
    ///
    /// The server is set with `StorageConfiguration.usePostgreSQL(_:)`. A configuration in memory needs
    /// none.
    ///
    /// ```swift
    /// let stock = StorageKey<Int>(name: "stock", domain: .postgreSQL(database: "main"))
    /// do { try await storage.update(stock) { $0 = ($0 ?? 0) - 1 } } catch StorageError.unavailable {
    ///     print("The server cannot be reached. Try again.")
    /// }
    /// ```
    /// - Parameter database: The name of a set of values. It is not the name of the server's database.
    public static func postgreSQL(database: String) -> StorageDomain { StorageDomain(kind: .postgreSQL, scope: database) }
}

extension StorageConfiguration {
    /// Stores the domains `.postgreSQL(database:)` on a server.
    ///
    /// ```swift
    /// var configuration = StorageConfiguration.service(applicationID: "com.example.shop")
    /// configuration.keySource = .credential("storage-key")  // rows are sealed before they leave this machine
    /// configuration.usePostgreSQL(PostgreSQLServer("postgresql://app@db.example.com/shop", deadline: .seconds(5)))
    /// let storage = StorageRouter(configuration: configuration)
    /// ```
    ///
    /// The ledger of migrations, the quarantine and the records of presence are then on the server too, so that all
    /// machines of the application share them. The time of the server decides which values have expired.
    ///
    /// Call this once, before the configuration is given to a router. A configuration in memory keeps everything in
    /// memory.
    public mutating func usePostgreSQL(_ server: PostgreSQLServer) {
        providers.append(PostgreSQLProvider(server: server))
        guard !isInMemory else { return }
        #if PostgreSQL
            runtime.clock = ServerClock(runtime.clock)
            makeOwnStore = { name, configuration in try OwnServerStores(on: server, configuration: configuration).store(name) }
        #endif
    }
}

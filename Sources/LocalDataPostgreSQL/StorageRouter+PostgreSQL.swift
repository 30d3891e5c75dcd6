import BackendContract
public import LocalData
import PostgreSQLBackend
import Sealing

/// The age that the result of a read from a standby may have.
///
/// Use it for values that may be some seconds old, to relieve the primary server.
///
/// ```swift
/// let stock = StorageKey<Int>(name: "stock", domain: .postgreSQL(database: "main"))
/// do { print(try await storage.value(for: stock, .stale(upTo: .seconds(5))) ?? 0) } catch StorageError.unavailable {
///     print("No server has rows that are new enough.")
/// }
/// ```
public struct StandbyRead: Hashable, Sendable {
    let limit: Duration

    /// Allows a standby to answer, if its rows are at most this old.
    ///
    /// The age is the time since the last transaction that the standby has replayed. If no program writes, the age grows
    /// although nothing is missing, and the read fails.
    ///
    /// ```swift
    /// let stock = StorageKey<Int>(name: "stock", domain: .postgreSQL(database: "main"))
    /// do { print(try await storage.value(for: stock, .stale(upTo: .seconds(5))) ?? 0) } catch StorageError.unavailable {
    ///     print("No server has rows that are new enough.")
    /// }
    /// ```
    public static func stale(upTo limit: Duration) -> StandbyRead { StandbyRead(limit: limit) }
}

extension StorageRouter {
    /// Reads the value at a key's destination from a standby, which may be behind the primary.
    ///
    /// The standby is one of the hosts in ``PostgreSQLServer/connection``. If no standby can be reached, the primary
    /// answers. Legacy locations are not read, and nothing is written. For a key of another domain, this is an ordinary
    /// read of its destination.
    ///
    /// ```swift
    /// let stock = StorageKey<Int>(name: "stock", domain: .postgreSQL(database: "main"))
    /// do { print(try await storage.value(for: stock, .stale(upTo: .seconds(5))) ?? 0) } catch StorageError.unavailable {
    ///     print("No server has rows that are new enough.")
    /// }
    /// ```
    /// - Returns: The value; nil if the standby has none. That does not prove that the primary has none.
    /// - Throws: ``StorageError``: `unavailable` if no server has rows that are new enough.
    @concurrent
    public nonisolated func value<Value>(for key: StorageKey<Value>, _ read: StandbyRead) async throws -> Value? {
        try await staleValue(for: key, upTo: read.limit)
    }

    /// Accepts that changes are lost, after a standby was promoted or the database was restored from a copy.
    ///
    /// ```swift
    /// do { print(try await storage.get(.city)) } catch StorageError.rolledBack {
    ///     print("The promoted server lacks changes of this process. Restore them first.")
    ///     try await storage.acceptFailover()  // only after a person has checked what is lost
    /// }
    /// ```
    ///
    /// A promoted standby may lack changes that the earlier primary acknowledged. So values that exist are read, and a
    /// value that is missing is `unavailable` until this call. If this process finds that its own changes are missing,
    /// every call fails with `rolledBack`. Restore what is lost before you call this, or find out that nothing is lost.
    ///
    /// The acceptance is valid for all programs that use the schema of the server, and for the present branch of its rows. A
    /// process that was acknowledged changes on another branch, which it has seen later, fails until another acceptance. It is
    /// durable when this returns.
    ///
    /// The call also accepts the present keys of the application's databases, if this machine has noted later ones. A
    /// recovery key that was removed may be a recipient again, so check `keyRecipients(of:)` afterwards.
    /// - Throws: ``StorageError``: `unsupported` if the configuration has no server.
    @concurrent
    public nonisolated func acceptFailover() async throws {
        try await call("acceptFailover") {
            if configuration.isInMemory { return }
            #if PostgreSQL
                guard let server = (configuration.provider(of: .postgreSQL) as? PostgreSQLProvider)?.server else {
                    throw StorageError(
                        StorageError.unsupported, key: "acceptFailover",
                        "The configuration has no server. Set one with StorageConfiguration.usePostgreSQL(_:). Nothing was changed.")
                }
                let runtime = configuration.runtime
                try await translatingErrors(key: "acceptFailover") { () throws(BackendError) in
                    try await PostgreSQLSchema.acceptFailover(
                        conninfo: server.connection, schema: server.schema, deadline: server.deadline, runtime: runtime)
                    // The internal stores come first: no other database opens without the ledger.
                    let own = try OwnServerStores.all(on: server, configuration: configuration)
                    for store in own {
                        try await store.acceptHeader()
                        await store.close()
                    }
                }
                let context = configuration.storeContext(StorageDomain.Kind.postgreSQL.name, "")
                let found = try await translatingErrors(key: "acceptFailover") { () throws(BackendError) in
                    try await PostgreSQLSchema.sealedDatabases(
                        conninfo: server.connection, schema: server.schema, deadline: server.deadline, runtime: runtime)
                }
                for database in found where database.application == context.application && database.kind == context.kind {
                    let domain = StorageDomain.postgreSQL(database: database.scope)
                    guard let store: PostgreSQLStore = try? store(of: domain, otherwise: "") else { continue }
                    try await translatingErrors(key: "\(domain)") { () throws(BackendError) in try await store.acceptHeader() }
                }
            #else
                throw StorageError(
                    StorageError.unsupported, key: "acceptFailover",
                    "This build has no PostgreSQL backend (trait PostgreSQL). Build with the trait. Nothing was changed.")
            #endif
        }
    }
}

import BackendContract
public import LocalData
import Sealing

extension StorageRouter {
    /// Binds the database at a domain's path to this domain, after its file was moved, renamed or copied there on
    /// purpose. Before this call the router refuses the database with `wrongContext`, which names the domain that it
    /// belongs to. The change is durable when this returns. A database that already belongs to this domain is not
    /// changed.
    ///
    /// ```swift
    /// let renamed = StorageDomain.encryptedSQLite(database: "archive")  // the file main.sqlite was renamed to archive.sqlite
    /// do { print(try await storage.names(of: renamed)) } catch StorageError.wrongContext {
    ///     try await storage.adopt(renamed, from: .encryptedSQLite(database: "main"))
    /// }
    /// ```
    ///
    /// The call gives the database a new identity and a new data key, and seals every value again, in one transaction.
    /// If the process is killed at any point, the database belongs either to the former domain or to this one.
    /// Afterwards, rows from a copy of the former file cannot be opened in the database. The call takes as long as a
    /// rotation of the data key, and the database's log grows to the size of the database.
    ///
    /// If the file of `original` is gone, the ledger no longer names that domain, so it does not count as lost.
    ///
    /// No other process may have the database open. All key sources of the database are needed.
    /// - Parameters:
    ///   - domain: An encrypted database, or a keychain that is stored in a vault, an encrypted database.
    ///   - original: The domain that the database was created for; nil if it was created for `domain`.
    ///   - application: The application or tenant that created the database (`StorageConfiguration.sealingContext`);
    ///     nil if the application of this router created it.
    /// - Throws: `StorageError`: `wrongContext` if the database belongs neither to `original` nor to `domain`,
    ///   `unavailable` if there is no database, `unsupported` for a domain without a database. In these cases nothing
    ///   was changed.
    @concurrent
    public nonisolated func adopt(_ domain: StorageDomain, from original: StorageDomain? = nil, application: String? = nil) async throws {
        try await call("adopt", domain) {
            let movable: any MovableStore = try store(of: domain, otherwise: "Only an encrypted database can be adopted.")
            let context = configuration.databaseContext(of: original ?? domain, application: application)
            try await translatingErrors(key: "\(domain)") { () throws(BackendError) in try await movable.adopt(from: context) }
        }
        // Otherwise, the former domain would count as lost.
        guard let original, original != domain, application == nil, try await sizeOfFiles(of: original) == 0 else { return }
        await forgetInLedger([original])
    }
}

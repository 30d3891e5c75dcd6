import BackendContract
public import LocalData
import Sealing

extension StorageRouter {
    /// Makes the database that lies in a domain's place this domain's, after its file was moved, renamed or copied here on purpose. Until then it is refused with
    /// `wrongContext`, which says where it belongs. Durable when it returns; a database that belongs here already stays as it is.
    ///
    /// The database gets a new identity and a new data key, and every value is sealed again, in one transaction. Killed at any point, the database belongs
    /// to the former domain or to this one. Rows of a copy of the former file do not open in it afterwards. The call takes as long as a rotation of the
    /// data key, and its log grows to the size of the database.
    ///
    /// No other process may have the database open. All of its key sources are needed.
    /// - Parameters:
    ///   - domain: An encrypted database, or a keychain that is kept in a sealed vault.
    ///   - original: The domain that the database was made as; nil: the same.
    ///   - application: The application or tenant that made it (``StorageConfiguration/sealingContext``); nil: this one.
    /// - Throws: ``StorageError``: `wrongContext` when it belongs to neither, `unavailable` when there is no database, `unsupported` for a domain without one.
    ///   Nothing was changed then.
    @concurrent
    public nonisolated func adopt(_ domain: StorageDomain, from original: StorageDomain? = nil, application: String? = nil) async throws {
        try await Self.cancellable("\(domain)") {
            let movable: any MovableStore = try store(of: domain, otherwise: "Only an encrypted database is bound to its place as a whole.")
            let context = configuration.databaseContext(of: original ?? domain, application: application)
            try await translatingErrors(key: "\(domain)") { () throws(BackendError) in try await movable.adopt(from: context) }
        }
    }
}

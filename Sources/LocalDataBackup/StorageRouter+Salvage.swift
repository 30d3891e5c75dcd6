import BackendContract
public import Foundation
public import LocalData

/// Recovery of records that cannot be read. With `DamagePolicy.report`, lists of records and names contain the damaged records.
extension StorageRouter {
    /// The stored bytes of a damaged record: the output of its serializer, or any other content of its slot (its
    /// location in the store). A row of an encrypted database that cannot be decrypted is returned in encrypted form;
    /// `Docs/Formats.md` describes the format.
    ///
    /// ```swift
    /// for try await note in storage.records(
    ///     in: notes,
    ///     onDamage: .report { record, reason in
    ///         print("\(record) cannot be read: \(reason.message)")
    ///         try await storage.damagedData(record).write(to: folder.appending(path: record.handle))
    ///     })
    /// { print(note.title) }
    /// ```
    /// - Throws: `StorageError`: `notFound` when the record was changed or removed since it was listed.
    @concurrent
    public nonisolated func damagedData(_ record: DamagedRecord) async throws -> Data {
        try await call("damagedData") { try await salvage.data(of: record) }
    }

    /// Copies a damaged record to the quarantine, and then removes the record from its slot. Both changes are durable
    /// when this returns. `audit()` reports the copy.
    ///
    /// Backups of the record's earlier versions stay. Older copies in legacy locations stay too, and later reads can migrate them
    /// again.
    ///
    /// ```swift
    /// do { try await storage.setAside(record) } catch StorageError.notFound {
    ///     print("The record was changed since it was listed. List the damaged records again.")
    /// }
    /// ```
    /// - Throws: `StorageError`: `notFound` when the record was changed or removed since it was listed; nothing was changed then.
    @concurrent
    public nonisolated func setAside(_ record: DamagedRecord) async throws {
        try await call("setAside") { try await salvage.setAside(record) }
    }

    /// Removes a damaged record from its slot without keeping a copy; durable when this returns. Call it only after a
    /// person has decided that the record is not needed.
    ///
    /// Backups of its earlier versions and older copies in legacy locations stay.
    ///
    /// ```swift
    /// try await storage.removeDamaged(record)  // there is no copy afterwards
    /// ```
    /// - Throws: The errors of ``setAside(_:)``.
    @concurrent
    public nonisolated func removeDamaged(_ record: DamagedRecord) async throws {
        try await call("removeDamaged") { try await salvage.remove(record) }
    }

    // MARK: Damaged stores

    /// Moves a domain's damaged store aside and keeps it. An empty store replaces it. Call it only after a person has decided not
    /// to restore a backup.
    ///
    /// ```swift
    /// do { print(try await storage.get(.city)) } catch StorageError.corrupted {
    ///     let copy = try await storage.setAsideDamagedStore(of: .userDefaults)  // only if there is no backup
    ///     print("The damaged file is \(copy). The list is empty now.")
    /// }
    /// ```
    /// - Returns: The location of the damaged store.
    /// - Throws: `StorageError`: `unsupported` if the domain's backend is not a `RecoverableBackend`. Of the stores
    ///   of LocalData, only a property list can be damaged as a whole.
    @concurrent
    @discardableResult
    public nonisolated func setAsideDamagedStore(of domain: StorageDomain) async throws -> String {
        try await call("setAsideDamagedStore", domain) {
            let recoverable: any RecoverableBackend = try store(of: domain, otherwise: "A store of this kind is not set aside as a whole.")
            return try await translatingErrors(key: "\(domain)") { () throws(BackendError) in try await recoverable.setAsideDamagedStore() }
        }
    }
}

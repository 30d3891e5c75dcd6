import BackendContract
public import Foundation
public import LocalData

/// What can be done with a record that cannot be read. Lists of records and names tell which there are: `DamagePolicy.report`.
extension StorageRouter {
    /// The bytes of a damaged record as they are stored: those of its serializer, or whatever is in its place. A row of an encrypted database that does not open is given
    /// as it is stored; `Docs/Design.md` has the format.
    /// - Throws: ``StorageError``: `notFound` when it was changed since it was listed, or is gone.
    @concurrent
    public nonisolated func damagedData(_ record: DamagedRecord) async throws -> Data {
        try await Self.cancellable("storage") { try await salvage.data(of: record) }
    }

    /// Puts a damaged record into the quarantine, and then removes it from its place; durable when it returns. `audit()` lists it there.
    ///
    /// Backups of its earlier versions stay. So do older copies in legacy locations: they count again, as when the record had been damaged there.
    /// - Throws: ``StorageError``: `notFound` when it was changed since it was listed, or is gone; nothing was changed then.
    @concurrent
    public nonisolated func setAside(_ record: DamagedRecord) async throws {
        try await Self.cancellable("storage") { try await salvage.setAside(record) }
    }

    /// Removes a damaged record from its place, and keeps nothing of it; durable when it returns. For a person who has decided that it is not needed.
    ///
    /// Backups of its earlier versions and older copies in legacy locations stay.
    /// - Throws: As ``setAside(_:)``.
    @concurrent
    public nonisolated func removeDamaged(_ record: DamagedRecord) async throws {
        try await Self.cancellable("storage") { try await salvage.remove(record) }
    }

    // MARK: Damaged stores

    /// Moves a domain's damaged store out of the way, where it is kept, so that an empty one takes its place. To be called when a person has decided that a backup
    /// will not be restored.
    /// - Returns: Where the damaged store is kept.
    /// - Throws: ``StorageError``: `unsupported` when the domain's store is not of a kind that can be damaged as a whole.
    @concurrent
    @discardableResult
    public nonisolated func setAsideDamagedStore(of domain: StorageDomain) async throws -> String {
        try await Self.cancellable("\(domain)") {
            let recoverable: any RecoverableBackend = try store(of: domain, otherwise: "A store of this kind is not set aside as a whole.")
            return try await translatingErrors(key: "\(domain)") { () throws(BackendError) in try await recoverable.setAsideDamagedStore() }
        }
    }
}

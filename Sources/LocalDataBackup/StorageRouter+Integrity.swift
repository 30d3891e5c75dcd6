public import BackendContract
public import LocalData

extension StorageRouter {
    /// Checks a whole encrypted database: opens every row and every label as of one moment, and compares all of them with the sealed count and sum that each commit writes.
    /// So rows that were replaced by older ones, removed, exchanged or added behind the library's back are found. Nothing is changed.
    ///
    /// It takes a few microseconds for each row, on a thread of its own; reads and writes go on, and the database's log grows until it is done.
    ///
    /// A whole older file matches itself: it is found only where the configuration names an anchor (``StorageConfiguration/freshnessAnchors``).
    /// - Parameters:
    ///   - domain: An encrypted database, or a keychain that is kept in a sealed vault.
    ///   - progress: Called now and then while rows are checked, from the store's own thread: it must not block.
    /// - Returns: What was found; see `IntegrityReport.isSound`. Nil where there is no database yet.
    /// - Throws: ``StorageError``: `unsupported` for a domain without a sealed state; `locked`, `corrupted`, `rolledBack` and others when the database cannot be opened.
    @concurrent
    public nonisolated func verifyIntegrity(
        of domain: StorageDomain, progress: (@Sendable (IntegrityProgress) -> Void)? = nil
    ) async throws -> IntegrityReport? {
        try await Self.cancellable("\(domain)") {
            let store: any VerifiableStore = try store(of: domain, otherwise: "Only an encrypted database has a sealed state.")
            return try await translatingErrors(key: "\(domain)") { () throws(BackendError) in
                try await store.verifyIntegrity { progress?($0) }
            }
        }
    }

    /// Accepts the present rows and keys of an encrypted database as the latest. The sealed count and sum and the labels are computed from the rows; durable when this returns.
    ///
    /// Call it after damage was repaired, or after a person has accepted the loss: ``verifyIntegrity(of:progress:)`` no longer reports earlier losses. Check
    /// ``keyRecipients(of:)`` afterwards, since a removed recovery key may be a recipient again.
    /// - Parameter domain: An encrypted database, or a keychain that is kept in a sealed vault.
    /// - Throws: ``StorageError``: as ``verifyIntegrity(of:progress:)``. Nothing was changed then.
    @concurrent
    public nonisolated func acceptContents(of domain: StorageDomain) async throws {
        try await Self.cancellable("\(domain)") {
            let store: any VerifiableStore = try store(of: domain, otherwise: "Only an encrypted database has a sealed state.")
            try await translatingErrors(key: "\(domain)") { () throws(BackendError) in try await store.acceptContents() }
        }
    }

    /// Takes the file of an encrypted database for the latest, although its freshness anchor knows a later one: after a backup was restored on purpose. Until then the database
    /// is refused with `rolledBack`. What was changed since the backup is lost, and values that were removed since are there again.
    ///
    /// Commits are counted on from the anchor's number, so that neither the later file nor this one, as it is now, is accepted again. Durable in database and anchor when it
    /// returns.
    /// - Parameter domain: An encrypted database with an anchor.
    /// - Throws: ``StorageError``: `unsupported` without an anchor, `unavailable` when there is no file or the anchor cannot be reached.
    @concurrent
    public nonisolated func acceptOlderFile(of domain: StorageDomain) async throws {
        try await Self.cancellable("\(domain)") {
            let store: any AnchoredStore = try store(of: domain, otherwise: "Only an encrypted database has a sealed state.")
            try await translatingErrors(key: "\(domain)") { () throws(BackendError) in try await store.acceptOlderFile() }
        }
    }
}

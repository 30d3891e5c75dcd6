public import BackendContract
public import LocalData

extension StorageRouter {
    /// Verifies an encrypted database completely, and changes nothing.
    ///
    /// ```swift
    /// do {
    ///     guard let report = try await storage.verifyIntegrity(of: database) else { return print("There is no database yet.") }
    ///     print(report.isSound ? "\(report.rows) rows are sound." : "Damage: \(report)")
    /// } catch StorageError.corrupted { print("The database cannot be opened. Restore a backup.") }
    /// ```
    ///
    /// It opens every row and every label (the keyed hash of an attribute) in one snapshot. It compares them with the
    /// sealed count and sum that each commit writes. This detects rows that another program replaced with older ones,
    /// removed, exchanged or added.
    ///
    /// It takes a few microseconds for each row, on a separate thread. Reads and writes continue. The database's write-ahead log grows
    /// until the verification ends.
    ///
    /// A complete older copy of the file is consistent, so this cannot detect it. To detect it, configure a freshness
    /// anchor (`StorageConfiguration.freshnessAnchors`), which records the latest commit outside the file.
    /// - Parameters:
    ///   - domain: An encrypted database, or a keychain that is stored in a vault, an encrypted database.
    ///   - progress: Called repeatedly on the store's thread while rows are verified. It must not block.
    /// - Returns: The findings; see `IntegrityReport.isSound`. Nil if the database does not exist yet.
    /// - Throws: `StorageError`: `unsupported` for a domain without a sealed count and sum; `locked`, `corrupted`,
    ///   `rolledBack` and others if the database cannot be opened.
    @concurrent
    public nonisolated func verifyIntegrity(
        of domain: StorageDomain, progress: (@Sendable (IntegrityProgress) -> Void)? = nil
    ) async throws -> IntegrityReport? {
        try await call("verifyIntegrity", domain) {
            let store: any VerifiableStore = try store(of: domain, otherwise: "Only an encrypted database has a sealed state.")
            return try await translating("\(domain)", await store.verifyIntegrity { progress?($0) })
        }
    }

    /// Declares the present rows and keys of an encrypted database to be correct and complete. It computes the sealed
    /// count, the sealed sum and the labels from these rows. The change is durable when this returns.
    ///
    /// Call it after you repaired damage, or after a person accepted the loss: ``verifyIntegrity(of:progress:)`` no longer reports
    /// earlier losses. Check ``keyRecipients(of:)`` afterwards, because a removed recovery key may be a recipient again.
    ///
    /// ```swift
    /// try await storage.acceptContents(of: database)  // after a person has accepted the loss of rows
    /// ```
    /// - Parameter domain: An encrypted database, or a keychain that is stored in a vault, an encrypted database.
    /// - Throws: `StorageError`: the errors of ``verifyIntegrity(of:progress:)``. Nothing was changed after an error.
    @concurrent
    public nonisolated func acceptContents(of domain: StorageDomain) async throws {
        try await call("acceptContents", domain) {
            let store: any VerifiableStore = try store(of: domain, otherwise: "Only an encrypted database has a sealed state.")
            try await translatingErrors(key: "\(domain)") { () throws(BackendError) in try await store.acceptContents() }
        }
    }

    /// Accepts an older file of an encrypted database as the latest state, although the freshness anchor has recorded a
    /// later commit.
    ///
    /// Call it after an older copy of the file was restored on purpose. Before this call, the database fails with
    /// `rolledBack`. Changes that were made after this copy are lost. Values that were removed after this copy exist
    /// again.
    ///
    /// The commit number continues from the anchor's number. Therefore neither the later file nor an unchanged copy of this file is
    /// accepted again. The change is durable in the database and in the anchor when this returns.
    ///
    /// ```swift
    /// do { _ = try await storage.count(in: notes) } catch StorageError.rolledBack {
    ///     try await storage.acceptOlderFile(of: database)  // only if an older copy was restored on purpose
    /// }
    /// ```
    /// - Parameter domain: An encrypted database with an anchor.
    /// - Throws: `StorageError`: `unsupported` without an anchor, `unavailable` if there is no file or the anchor cannot be reached.
    @concurrent
    public nonisolated func acceptOlderFile(of domain: StorageDomain) async throws {
        try await call("acceptOlderFile", domain) {
            let store: any AnchoredStore = try store(of: domain, otherwise: "Only an encrypted database has a sealed state.")
            try await translatingErrors(key: "\(domain)") { () throws(BackendError) in try await store.acceptOlderFile() }
        }
    }
}

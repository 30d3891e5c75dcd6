import BackendContract

extension StorageRouter {
    /// Returns the migrations of the registered keys and collections. For each one, it returns the last run and the
    /// values that are not migrated yet. Writes nothing and opens no prompt.
    ///
    /// A chain of versions counts as one migration for each earlier version. If a location cannot be read,
    /// ``MigrationStatus/evidence`` contains it, and the migration is not safe to delete.
    ///
    /// ```swift
    /// for migration in try await storage.migrations() {
    ///     print(migration.id, migration.lastWorked.map { "last worked \($0)" } ?? "never worked", "\(migration.pending) values wait")
    ///     if migration.isSafeToDelete { print("No value on this machine needs it any more.") }
    /// }
    /// ```
    /// - Throws: ``StorageError`` with `cancelled`.
    @concurrent
    public nonisolated func migrations() async throws -> [MigrationStatus] {
        try await call("migrations") {
            var found: [MigrationStatus] = []
            let retirement = await Retirement(engine)
            for entry in history.registry.entries() {
                try Task.checkCancellation()
                found += await retirement.migrations(of: entry)
            }
            return found
        }
    }

    /// Returns the history of migrations from the migration ledger on this machine: the origin of each value, the
    /// number of runs, and the last errors. It first writes the notes of this process that are not in the ledger yet,
    /// and nothing else.
    ///
    /// ```swift
    /// let history = try await storage.history()
    /// for value in history.values { print("\(value.place) was made from \(value.sources) on \(value.date)") }
    /// for migration in history.migrations where migration.failures > 0 {
    ///     print("\(migration.id) failed \(migration.failures) times: \(migration.lastError ?? "")")
    /// }
    /// ```
    /// - Throws: ``StorageError`` when the ledger cannot be read. No value depends on the ledger.
    @concurrent
    public nonisolated func history() async throws -> MigrationHistory {
        try await call("history") {
            try await translatingErrors(key: "ledger") { () throws(BackendError) in try await history.ledger.history() }
        }
    }

    /// Returns the status of a conversion by `migrateAll(from:to:)`. It says how many records of the collection still
    /// have the type tag (the stored type name) of the older type.
    ///
    /// ```swift
    /// let status = try await storage.migration(from: "NoteV1", to: notes)
    /// if status.pending > 0 { try await storage.migrateAll(from: "NoteV1", to: notes) }
    /// ```
    /// - Throws: ``StorageError`` when the collection cannot be read.
    @concurrent
    public nonisolated func migration<Record>(
        from typeTag: String, to collection: StorageCollection<Record>
    ) async throws -> MigrationStatus {
        try await call("migration", collection) {
            let pending = try await recordQueries.countAll(collection, .all, typeTag: typeTag)
            let evidence = OlderCopies(holding: pending > 0 ? ["\(collection.domain)/\(collection.name)": pending] : [:])
            return await Retirement(engine).status("\(collection.name):\(typeTag)", collection.name, evidence)
        }
    }
}

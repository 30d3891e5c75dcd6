import BackendContract

extension StorageRouter {
    /// Every migration of the registered keys and collections: when it last did something, and what waits for it. Writes nothing and opens no prompt.
    ///
    /// A chain of versions is one migration for each earlier version. A place that cannot be read is part of the evidence, and the migration is not safe to delete then.
    /// - Throws: ``StorageError`` with `cancelled`.
    @concurrent
    public nonisolated func migrations() async throws -> [MigrationStatus] {
        try await Self.cancellable("storage") {
            var found: [MigrationStatus] = []
            let retirement = await Retirement(env)
            for entry in env.registry.entries() {
                try Task.checkCancellation()
                found += await retirement.migrations(of: entry)
            }
            return found
        }
    }

    /// What the ledger remembers of migrations: where each value came from, how often each migration ran, and how it last failed. Writes nothing but what was noted before.
    /// - Throws: ``StorageError`` when the ledger cannot be read. No value depends on it.
    @concurrent
    public nonisolated func history() async throws -> MigrationHistory {
        try await Self.cancellable("storage") {
            try await translatingErrors(key: "ledger") { () throws(BackendError) in try await env.ledger.history() }
        }
    }

    /// The state of `migrateAll(from:to:)` from the tag of an older type.
    /// - Throws: ``StorageError`` when the collection cannot be read.
    @concurrent
    public nonisolated func migration<Record>(
        from typeTag: String, to collection: StorageCollection<Record>
    ) async throws -> MigrationStatus {
        try await Self.cancellable(collection.name) {
            let pending = try await RecordQueries(env).countAll(collection, .all, typeTag: typeTag)
            let evidence = OlderCopies(holding: pending > 0 ? ["\(collection.domain)/\(collection.name)": pending] : [:])
            return await Retirement(env).status("\(collection.name):\(typeTag)", collection.name, evidence)
        }
    }
}

extension StorageRouter {
    /// Every migration of the registered keys and collections: when it last did something, and how many values wait for it. Writes nothing and opens no prompt.
    ///
    /// A chain of versions is one migration for each earlier version.
    /// - Throws: ``StorageError`` when a place cannot be read: then the answer is not known.
    @concurrent
    public nonisolated func migrations() async throws -> [MigrationStatus] {
        var found: [MigrationStatus] = []
        for entry in env.registry.entries() { found += try await Retirement(env).migrations(of: entry) }
        return found
    }

    /// The state of `migrateAll(from:to:)` from the tag of an older type.
    /// - Throws: ``StorageError`` when the collection cannot be read.
    @concurrent
    public nonisolated func migration<Record>(
        from typeTag: String, to collection: StorageCollection<Record>
    ) async throws -> MigrationStatus {
        let pending = try await RecordQueries(env).countAll(collection, .all, typeTag: typeTag)
        return await Retirement(env).status("\(collection.name):\(typeTag)", collection.name, pending: pending)
    }
}

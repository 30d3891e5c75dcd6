import BackendContract

/// What is known of each registered key and collection.
struct AuditRows: Sendable {
    let env: Environment

    init(_ env: Environment) { self.env = env }

    func row(_ entry: KeyRegistry.Entry) async -> StorageAudit.Row {
        if entry.key.collection != nil { return StorageAudit.Row(entry, await SweepRows(env).plan(entry)) }
        return await row(entry.key.base, entry)
    }

    private func row<Key: TypedKey>(_ key: Key, _ entry: KeyRegistry.Entry) async -> StorageAudit.Row {
        let found = await Inspector(env).inspect(Slot(key: key.typed, route: entry.route))
        let migration = found.origin?.migration
        var lastWorked: Double?
        if let migration { lastWorked = await env.ledger.lastWork(migration) }
        return StorageAudit.Row(
            key: entry.key.name, owner: entry.key.owner, description: entry.key.description, catalog: entry.catalog,
            domain: "\(entry.route.domain)", protection: entry.route.protection, state: found.state,
            serializer: found.record?.metadata.serializer, isForeign: found.record?.isForeign ?? false,
            bytes: found.record?.payload.byteCount ?? 0, modifiedAt: found.record?.metadata.modifiedAt, migration: migration,
            migrationLastWorked: lastWorked, provenance: (found.origin?.copies.keys.sorted()) ?? [],
            residue: found.older.map(\.copy.route.displayName), message: found.error?.message)
    }
}

extension StorageAudit.Row {
    /// What is known of a collection.
    fileprivate init(_ entry: KeyRegistry.Entry, _ row: MigrationReport.Row) {
        self.init(
            key: entry.key.name, owner: entry.key.owner, description: entry.key.description, catalog: entry.catalog,
            domain: "\(entry.route.domain)", protection: entry.route.protection, state: row.state, serializer: nil, isForeign: false,
            bytes: 0, modifiedAt: nil, migration: nil, migrationLastWorked: nil, provenance: [], residue: row.residue,
            pendingRecords: row.records, message: row.message)
    }
}

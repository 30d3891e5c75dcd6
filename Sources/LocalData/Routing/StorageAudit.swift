public import BackendContract
public import Foundation

/// What is kept where, key by key.
public struct StorageAudit: Sendable, Codable {
    /// One registered key.
    public struct Row: Sendable, Codable {
        /// The key's name.
        public var key: String
        /// The part of the program that answers for it.
        public var owner: String
        /// What it is.
        public var description: String
        /// The catalog that registered it.
        public var catalog: String
        /// Where it lives.
        public var domain: String
        /// How well it is protected there.
        public var protection: ProtectionLevel
        /// What was found: the states of a planned sweep.
        public var state: MigrationReport.State
        /// The serializer that wrote the value; nil for an absent one, and for one that another program wrote.
        public var serializer: String?
        /// Whether another program wrote the value that is in its place.
        public var isForeign: Bool
        /// The size of the value in bytes, as it is stored.
        public var bytes: Int
        /// When it was last written, in seconds since 1970, by the clock of that time.
        public var modifiedAt: Double?
        /// The migration that brought it; nil after a `set`.
        public var migration: String?
        /// When that migration last did something, in seconds since 1970.
        public var migrationLastWorked: Double?
        /// The older places that its record says it replaced.
        public var provenance: [String]
        /// Older places that still hold something.
        public var residue: [String]
        /// How many records of a collection wait to be moved or given a new shape; nil for a single key.
        public var pendingRecords: Int?
        /// What keeps it from being in order, for people.
        public var message: String?
    }

    /// The registered keys.
    public var rows: [Row]
    /// Values that were replaced without anybody having seen them.
    public var quarantine: [QuarantinedValue]
    /// Older copies that earlier runs could not remove, as `<destination>|<copy>`, with the reasons.
    public var recordedResidue: [String: String]
}

extension StorageRouter {
    /// Every registered key: where it is, how it is protected, where it came from, and what older copies remain. Writes nothing and opens no prompt.
    /// - Throws: ``StorageError`` when the quarantine cannot be listed. A key that cannot be looked at is a row that says so.
    public func audit() async throws -> StorageAudit {
        var rows: [StorageAudit.Row] = []
        for entry in engine.registry.entries() { rows.append(await engine.auditRow(entry)) }
        return StorageAudit(rows: rows, quarantine: try await engine.quarantine.list(), recordedResidue: await engine.ledger.residues())
    }

    /// The bytes of a quarantined value, as its serializer made them; a text as its UTF-8 bytes. What was sealed in its place is opened, if it opens.
    /// - Throws: ``StorageError``: `notFound`; for a sealed one what fetching the key throws.
    public func quarantinedData(_ value: QuarantinedValue) async throws -> Data { try await engine.quarantine.content(of: value.id) }

    /// Destroys a quarantined value, when somebody has seen it.
    public func discardQuarantined(_ value: QuarantinedValue) async throws { try await engine.quarantine.discard(value.id) }
}

extension MigrationEngine {
    fileprivate func auditRow(_ entry: KeyRegistry.Entry) async -> StorageAudit.Row {
        if entry.key.collection != nil { return StorageAudit.Row(entry, await plannedRow(entry)) }
        return await auditRow(opening: entry.key.base, entry)
    }

    private func auditRow<Key: TypedKey>(opening key: Key, _ entry: KeyRegistry.Entry) async -> StorageAudit.Row {
        let found = await inspect(key.typed, entry.route)
        let migration = found.origin?.migration
        var lastWorked: Double?
        if let migration { lastWorked = await ledger.lastWork(migration) }
        return StorageAudit.Row(
            key: entry.key.name, owner: entry.key.owner, description: entry.key.description, catalog: entry.catalog,
            domain: "\(entry.route.domain)",
            protection: entry.route.protection, state: found.state, serializer: found.record?.metadata.serializer,
            isForeign: found.record?.isForeign ?? false, bytes: found.record?.payload.byteCount ?? 0,
            modifiedAt: found.record?.metadata.modifiedAt,
            migration: migration, migrationLastWorked: lastWorked,
            provenance: (found.origin?.copies.keys.sorted()) ?? [],
            residue: found.older.map { "\($0.copy.route.domain)/\($0.copy.route.keyName)" },
            message: found.error?.message)
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

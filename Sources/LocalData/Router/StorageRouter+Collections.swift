import BackendContract
import BackendRuntime
import Foundation

/// Operations on the records of a collection. For other operations use a record's key: ``StorageCollection/key(_:)``.
extension StorageRouter {
    // MARK: Storing

    /// Stores a record under its id, and the records that it contains in references. When the call returns, they are as
    /// durable as their stores allow.
    ///
    /// ```swift
    /// do {
    ///     try await storage.set(note, in: notes, syncStatus: .notSynced, attributes: ["folder": "inbox"])
    /// } catch StorageError.incompatibleSchema {
    ///     // A later release of the program has stored this note. It is unchanged.
    /// }
    /// ```
    /// - Parameters:
    ///   - record: The record.
    ///   - collection: Its collection.
    ///   - syncStatus: The sync status; nil to keep the stored one.
    ///   - attributes: Texts that are stored with the record, by name, for filters. Attributes that are not passed keep
    ///     their texts; nil removes an attribute.
    ///   - lifetime: The time from now on during which the record is valid; nil for the lifetime of the collection.
    ///   - replacingLaterVersions: Whether to replace even a record of a later version than the collection's: see
    ///     ``set(_:for:lifetime:replacingLaterVersions:)``. It does not apply to the records in references.
    /// - Throws: ``StorageError``: `incompatibleSchema` when the id has a record of another type or of a later version;
    ///   nothing was changed then. The `outcome` of an error says whether the record may have been stored.
    @concurrent
    public nonisolated func set<Record>(
        _ record: Record, in collection: StorageCollection<Record>, syncStatus: SyncStatus? = nil, attributes: [String: String?] = [:],
        lifetime: Duration? = nil, replacingLaterVersions: Bool = false
    ) async throws {
        try await set(
            [record], in: collection, syncStatus: syncStatus, attributes: attributes, lifetime: lifetime,
            replacingLaterVersions: replacingLaterVersions)
    }

    /// Stores several records in one durable commit, or none of them. If two records have the same id, the later one is
    /// stored.
    ///
    /// ```swift
    /// do {
    ///     try await storage.set(imported, in: notes)  // all notes in one commit
    /// } catch StorageError.unsupported {
    ///     // A keyring cannot commit several records at once. The stored notes are unchanged.
    ///     for note in imported { try await storage.set(note, in: notes) }
    /// }
    /// ```
    /// - Parameters: See ``set(_:in:syncStatus:attributes:lifetime:replacingLaterVersions:)``. They apply to each
    ///   record.
    /// - Throws: ``StorageError``: `unsupported` when the store cannot commit several changes at once.
    @concurrent
    public nonisolated func set<Record>(
        _ records: some Sequence<Record>, in collection: StorageCollection<Record>, syncStatus: SyncStatus? = nil,
        attributes: [String: String?] = [:], lifetime: Duration? = nil, replacingLaterVersions: Bool = false
    ) async throws {
        try await call("set", collection, isStepwise: true) {
            _ = try entry(collection.placeholder)
            var facts = WriteAttributes(
                expiry: lifetime.map { .after($0) } ?? .begins, attributes: attributes, replacesLaterVersions: replacingLaterVersions)
            if let syncStatus { facts.attributes[StorageMetadata.syncStatus] = syncStatus.rawValue }
            var batch = StorageBatch()
            for record in records { batch.set(record, for: collection.key(try collection.id(of: record)), facts) }
            try await commit(batch)
        }
    }

    /// Reads, changes and writes a record as one step. The change is durable when the call returns.
    ///
    /// ```swift
    /// let isFound = try await storage.update(id, in: notes) { note in
    ///     note?.title = "Groceries"  // setting `note` to nil would remove the record
    ///     return note != nil
    /// }
    /// ```
    /// - Parameters:
    ///   - id: The record's id.
    ///   - collection: Its collection.
    ///   - body: Changes the record. It receives nil if there is no record. Setting the record to nil removes it. The
    ///     router calls `body` again if another process or task changed the record after it was read.
    @concurrent
    @discardableResult
    public nonisolated func update<Record: Identifiable, R: Sendable>(
        _ id: Record.ID, in collection: StorageCollection<Record>, _ body: @Sendable (inout Record?) throws -> R
    ) async throws -> R where Record.ID: Sendable {
        try await update(collection.key(for: id), body)
    }

    // MARK: Reading

    /// Gets the record of an id, or nil if there is none.
    ///
    /// ```swift
    /// if let note = try await storage.value(id, in: notes) {
    ///     show(note.title)
    /// } else {
    ///     show("There is no such note.")  // a damaged note throws `corrupted` or `undecodable` instead
    /// }
    /// ```
    /// - Throws: ``StorageError``: `incompatibleSchema` when the id has a record of another type.
    @concurrent
    public nonisolated func value<Record: Identifiable>(
        _ id: Record.ID, in collection: StorageCollection<Record>
    ) async throws -> Record? where Record.ID: Sendable {
        try await value(for: collection.key(for: id))
    }

    /// Gets the record of an id.
    ///
    /// ```swift
    /// do {
    ///     show(try await storage.get(id, in: notes).title)
    /// } catch StorageError.notFound {
    ///     show("There is no such note.")
    /// }
    /// ```
    /// - Throws: ``StorageError``: `notFound` when there is none.
    @concurrent
    public nonisolated func get<Record: Identifiable>(
        _ id: Record.ID, in collection: StorageCollection<Record>
    ) async throws -> Record where Record.ID: Sendable {
        if let record = try await value(id, in: collection) { return record }
        throw StorageError(.notFound, key: StorageCollection<Record>.text(of: id), "There is no such record in \(collection.name).")
    }

    /// Gets the record of an id with its metadata, even if the record has expired.
    ///
    /// ```swift
    /// if let stored = try await storage.storedValue(id, in: notes), !stored.isExpired {
    ///     print(stored.createdAt?.formatted() ?? "unknown", stored.attributes["folder"] ?? "no folder")
    /// }
    /// ```
    @concurrent
    public nonisolated func storedValue<Record: Identifiable>(
        _ id: Record.ID, in collection: StorageCollection<Record>
    ) async throws -> StoredValue<Record>? where Record.ID: Sendable {
        let key = collection.key(for: id)
        if try entry(key).key.mayBeOutdated { _ = try await value(for: key) }
        return try await storedValue(for: key)
    }

    /// Gets the record of a reference. If no such record is stored, it may still be inside the reference: a step of a
    /// chain of versions created it from a value of an earlier version, and that value is not rewritten yet. Then the
    /// record in the reference is returned.
    ///
    /// ```swift
    /// do {
    ///     let person = try await storage.resolve(author)
    ///     show(person.name)
    /// } catch StorageError.notFound {
    ///     show("The author was removed from the address book.")
    /// }
    /// ```
    /// - Throws: ``StorageError`` with `notFound`, which names the id, when there is no such record.
    @concurrent
    public nonisolated func resolve<Target>(_ reference: StorageReference<Target>) async throws -> Target {
        if let target = try await resolve(Optional(reference)) { return target }
        throw StorageError(
            StorageError.notFound, key: reference.id,
            "A reference leads to \(reference.id) in \(Target.collection.name), and there is no such record.")
    }

    /// Gets the record of an optional reference. Returns nil if there is no reference, or no such record.
    ///
    /// ```swift
    /// let person = try await storage.resolve(note.author)  // nil for a note without an author, and for an author who was removed
    /// show(person?.name ?? "unknown")
    /// ```
    @concurrent
    public nonisolated func resolve<Target>(_ reference: StorageReference<Target>?) async throws -> Target? {
        guard let reference else { return nil }
        return try await value(for: Target.collection.key(reference.id)) ?? reference.pending
    }

    // MARK: Backups

    /// Restores the bytes that the records of a collection had before a chain of versions changed them. The chain must
    /// keep backups. The latest backup of each record is restored, as by ``restoreBackup(for:version:)``. Each restored
    /// record is durable. A removed record stays removed.
    ///
    /// After an interruption, repeat the call to restore the remaining records. Records without a backup do not change.
    ///
    /// ```swift
    /// do {
    ///     print("Restored \(try await storage.restoreBackups(in: notes)) notes")
    /// } catch let error as StorageError {
    ///     warn(error.message)  // some notes may be restored: repeat the call to restore the others
    /// }
    /// ```
    /// - Returns: The number of restored records.
    /// - Throws: ``StorageError``. Records that were restored before the error remain restored.
    @concurrent
    @discardableResult
    public nonisolated func restoreBackups<Record>(in collection: StorageCollection<Record>) async throws -> Int {
        try await call("restoreBackups", collection, isStepwise: true) {
            _ = try entry(collection.placeholder)
            return try await CollectionBackups(engine: engine, collection: collection).restore()
        }
    }

    // MARK: Removing

    /// Purges the backups of earlier versions of a collection's records. Call it when these backups are not needed any
    /// more. The change is durable when the call returns.
    ///
    /// ```swift
    /// do {
    ///     try await storage.purgeBackups(in: notes)
    /// } catch let error as StorageError {
    ///     warn(error.message)  // repeat the call to purge the remaining backups
    /// }
    /// ```
    /// - Throws: ``StorageError``. Repeat the call to purge the remaining backups.
    @concurrent
    public nonisolated func purgeBackups<Record>(in collection: StorageCollection<Record>) async throws {
        try await call("purgeBackups", collection, isStepwise: true) {
            _ = try entry(collection.placeholder)
            try await CollectionBackups(engine: engine, collection: collection).discard()
        }
    }

    /// Removes the record of an id and every older copy of it. Records in its references are kept. The removal is
    /// durable when the call returns. The call can be repeated safely.
    ///
    /// ```swift
    /// do {
    ///     try await storage.remove(id, in: notes)  // succeeds too if there is no such note
    /// } catch StorageError.residueRemains {
    ///     // The note is removed and never returns. A sweep deletes the older copy that remains.
    ///     await storage.sweep()
    /// }
    /// ```
    @concurrent
    public nonisolated func remove<Record: Identifiable>(
        _ id: Record.ID, in collection: StorageCollection<Record>
    ) async throws where Record.ID: Sendable {
        try await remove(collection.key(for: id))
    }
}

extension StorageBatch {
    /// Stores a record, and the records that it contains in references, when the batch is committed.
    ///
    /// ```swift
    /// try await storage.batch { changes in
    ///     try changes.set(note, in: notes, syncStatus: .notSynced)
    ///     changes.set(["EUR": 1.08], for: .rates)  // in the same database, so in the same commit
    /// }
    /// ```
    /// - Parameters: See ``StorageRouter/set(_:in:syncStatus:attributes:lifetime:replacingLaterVersions:)``.
    /// - Throws: ``StorageError`` when the record's id is derived from its content, and the content cannot be encoded.
    public mutating func set<Record>(
        _ record: Record, in collection: StorageCollection<Record>, syncStatus: SyncStatus? = nil, replacingLaterVersions: Bool = false
    ) throws {
        var facts = WriteAttributes(replacesLaterVersions: replacingLaterVersions)
        if let syncStatus { facts.attributes[StorageMetadata.syncStatus] = syncStatus.rawValue }
        set(record, for: collection.key(try collection.id(of: record)), facts)
    }

    /// Removes a record when the batch is committed.
    ///
    /// ```swift
    /// try await storage.batch { changes in
    ///     changes.remove(id, in: notes)
    ///     try changes.set(note, in: notes)
    /// }
    /// ```
    public mutating func remove<Record: Identifiable>(_ id: Record.ID, in collection: StorageCollection<Record>) where Record.ID: Sendable {
        remove(collection.key(for: id))
    }
}

import BackendContract
import BackendRuntime
import Foundation

/// What can be done with the records of a collection; everything else goes through a record's key: ``StorageCollection/key(_:)``.
extension StorageRouter {
    // MARK: Storing

    /// Stores a record under its id; durable, as far as the domain's store is, when it returns. Records that it refers to, and was made with, are stored with it.
    /// - Parameters:
    ///   - record: The record.
    ///   - collection: Its collection.
    ///   - syncStatus: How far it has come on its way to another machine; kept as it is when not given.
    ///   - attributes: Texts to keep beside it, to be asked for; those that are not named stay as they are, nil removes one.
    ///   - lifetime: How long it stays valid from now on; what the collection says when not given.
    ///   - replacingLaterVersions: Whether to replace a record of a later version than the collection's, too: see ``set(_:for:replacingLaterVersions:)``. It does not hold
    ///     for the records that it refers to.
    /// - Throws: ``StorageError``: `incompatibleSchema` when the id has a record of another type, or of a later version; nothing was changed then. Its `outcome` says
    ///   whether the record may have been stored.
    @concurrent
    public nonisolated func set<Record>(
        _ record: Record, in collection: StorageCollection<Record>, syncStatus: SyncStatus? = nil, attributes: [String: String?] = [:],
        lifetime: Duration? = nil, replacingLaterVersions: Bool = false
    ) async throws {
        try await Self.cancellable(collection.name, isStepwise: true) {
            try await set(
                [record], in: collection, syncStatus: syncStatus, attributes: attributes, lifetime: lifetime,
                replacingLaterVersions: replacingLaterVersions)
        }
    }

    /// Stores many records in one durable commit, or none of them. A later record of the same id replaces an earlier one.
    /// - Parameters: As of ``set(_:in:syncStatus:attributes:lifetime:replacingLaterVersions:)``, for each of them.
    /// - Throws: ``StorageError``: `unsupported` when the store cannot commit several changes at once.
    @concurrent
    public nonisolated func set<Record>(
        _ records: some Sequence<Record>, in collection: StorageCollection<Record>, syncStatus: SyncStatus? = nil,
        attributes: [String: String?] = [:], lifetime: Duration? = nil, replacingLaterVersions: Bool = false
    ) async throws {
        try await Self.cancellable(collection.name, isStepwise: true) {
            _ = try entry(collection.placeholder)
            var facts = WriteAttributes(
                expiry: lifetime.map { .after($0) } ?? .begins, attributes: attributes, replacesLaterVersions: replacingLaterVersions)
            if let syncStatus { facts.attributes[StorageMetadata.syncStatus] = syncStatus.rawValue }
            var batch = StorageBatch()
            for record in records { batch.set(record, for: collection.key(try collection.id(of: record)), facts) }
            try await commit(batch)
        }
    }

    /// Reads, changes and writes a record as one step; durable when it returns.
    /// - Parameters:
    ///   - id: The record's id.
    ///   - collection: Its collection.
    ///   - body: Changes the record, nil when it is absent; setting it to nil removes it. It may run again when another process or task changed the record meanwhile.
    @concurrent
    @discardableResult
    public nonisolated func update<Record: Identifiable, R: Sendable>(
        _ id: Record.ID, in collection: StorageCollection<Record>, _ body: @Sendable (inout Record?) throws -> R
    ) async throws -> R where Record.ID: Sendable {
        try await update(collection.key(for: id), body)
    }

    // MARK: Reading

    /// The record of an id, or nil when there is none.
    /// - Throws: ``StorageError``: `incompatibleSchema` when the id has a record of another type.
    @concurrent
    public nonisolated func value<Record: Identifiable>(
        _ id: Record.ID, in collection: StorageCollection<Record>
    ) async throws -> Record? where Record.ID: Sendable {
        try await value(for: collection.key(for: id))
    }

    /// The record of an id.
    /// - Throws: ``StorageError``: `notFound` when there is none.
    @concurrent
    public nonisolated func get<Record: Identifiable>(
        _ id: Record.ID, in collection: StorageCollection<Record>
    ) async throws -> Record where Record.ID: Sendable {
        if let record = try await value(id, in: collection) { return record }
        throw StorageError(
            StorageError.notFound, key: StorageCollection<Record>.text(of: id), "There is no such record in \(collection.name).")
    }

    /// The record of an id with what is known of it beside its content, also when it has expired.
    @concurrent
    public nonisolated func storedValue<Record: Identifiable>(
        _ id: Record.ID, in collection: StorageCollection<Record>
    ) async throws -> StoredValue<Record>? where Record.ID: Sendable {
        try await Self.cancellable(collection.name) {
            let key = collection.key(for: id)
            if try entry(key).key.mayBeOutdated { _ = try await value(for: key) }
            return try await storedValue(for: key)
        }
    }

    /// The record that a reference leads to; where there is none yet, since it is part of an older value that was read and not written in its new shape, that part.
    /// - Throws: ``StorageError`` with `notFound`, naming the id, when there is none.
    @concurrent
    public nonisolated func resolve<Target>(_ reference: StorageReference<Target>) async throws -> Target {
        if let target = try await resolve(Optional(reference)) { return target }
        throw StorageError(
            StorageError.notFound, key: reference.id,
            "A reference leads to \(reference.id) in \(Target.collection.name), and there is no such record.")
    }

    /// The record that an optional reference leads to; nil without a reference, and for one that leads nowhere.
    @concurrent
    public nonisolated func resolve<Target>(_ reference: StorageReference<Target>?) async throws -> Target? {
        guard let reference else { return nil }
        return try await value(for: Target.collection.key(reference.id)) ?? reference.pending
    }

    // MARK: Backups

    /// Puts back the bytes that the records of a collection had before its chain of versions changed them, if the chain keeps them: each as
    /// ``restoreBackup(for:version:)`` does, the latest backup of each, one after the other and durable.
    ///
    /// A call that was interrupted is repeated: it goes on where it was. Records that have no backup stay as they are.
    /// - Returns: How many were restored.
    /// - Throws: ``StorageError``; those that were restored before stay so.
    @concurrent
    @discardableResult
    public nonisolated func restoreBackups<Record>(in collection: StorageCollection<Record>) async throws -> Int {
        try await Self.cancellable(collection.name, isStepwise: true) {
            _ = try entry(collection.placeholder)
            return try await CollectionBackups(env: env, collection: collection).restore()
        }
    }

    // MARK: Removing

    /// Removes what is kept of earlier versions of a collection's records, once they are not needed any more; durable when it returns.
    /// - Throws: ``StorageError``; repeating it goes on where it was.
    @concurrent
    public nonisolated func purgeBackups<Record>(in collection: StorageCollection<Record>) async throws {
        try await Self.cancellable(collection.name, isStepwise: true) {
            _ = try entry(collection.placeholder)
            try await CollectionBackups(env: env, collection: collection).discard()
        }
    }

    /// Removes the record of an id, and every older copy of it; durable when it returns. Repeating it is harmless. What it refers to stays.
    @concurrent
    public nonisolated func remove<Record: Identifiable>(
        _ id: Record.ID, in collection: StorageCollection<Record>
    ) async throws where Record.ID: Sendable {
        try await remove(collection.key(for: id))
    }
}

extension StorageBatch {
    /// Stores a record when the batch is committed, and the records that it refers to and was made with.
    /// - Parameters: As of ``StorageRouter/set(_:in:syncStatus:attributes:lifetime:replacingLaterVersions:)``.
    /// - Throws: ``StorageError`` when the record's id is made of its content and that cannot be encoded.
    public mutating func set<Record>(
        _ record: Record, in collection: StorageCollection<Record>, syncStatus: SyncStatus? = nil, replacingLaterVersions: Bool = false
    ) throws {
        var facts = WriteAttributes(replacesLaterVersions: replacingLaterVersions)
        if let syncStatus { facts.attributes[StorageMetadata.syncStatus] = syncStatus.rawValue }
        set(record, for: collection.key(try collection.id(of: record)), facts)
    }

    /// Removes a record when the batch is committed.
    public mutating func remove<Record: Identifiable>(_ id: Record.ID, in collection: StorageCollection<Record>) where Record.ID: Sendable {
        remove(collection.key(for: id))
    }
}

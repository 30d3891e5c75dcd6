import BackendContract
import BackendRuntime
public import Foundation

/// Whether a migration is still needed: what has to be known before its code is removed from a program.
public struct MigrationStatus: Sendable, Hashable {
    /// The migration's name in the ledger.
    public let id: String
    /// The key or collection that it brings values to.
    public let key: String
    /// When it last did something on this machine; nil if it never did.
    public let lastWorked: Date?
    /// How many values on this machine it would have to bring over now.
    public let pending: Int

    /// Whether nothing on this machine waits for it. Of other machines, nobody here can tell.
    public var isSafeToDelete: Bool { pending == 0 }
}

extension StorageRouter {
    /// Every migration of the registered keys and collections: when it last did something, and how many values wait for it. Writes nothing and opens no prompt.
    ///
    /// A chain of versions is one migration for each earlier version.
    /// - Throws: ``StorageError`` when a place cannot be looked at: then it cannot be told.
    @concurrent
    public nonisolated func migrations() async throws -> [MigrationStatus] {
        var found: [MigrationStatus] = []
        for entry in engine.registry.entries() { found += try await engine.migrations(entry) }
        return found
    }

    /// The state of `migrateAll(from:to:)` from the tag of an older type.
    /// - Throws: ``StorageError`` when the collection cannot be looked at.
    @concurrent
    public nonisolated func migration<Record>(
        from typeTag: String, to collection: StorageCollection<Record>
    ) async throws -> MigrationStatus {
        let id = "\(collection.name):\(typeTag)"
        let (_, backend) = try engine.routes.backend(for: collection.domain, key: collection.name)
        let query = StorageQuery(collection.namespace, [.typeTag(typeTag)])
        let pending = try await translatingErrors(key: collection.name) { () throws(BackendError) in try await backend.count(query) }
        return await engine.status(id, collection.name, pending: pending)
    }
}

extension MigrationEngine {
    fileprivate func status(_ id: String, _ key: String, pending: Int) async -> MigrationStatus {
        let lastWorked = await ledger.lastWork(id)
        return MigrationStatus(id: id, key: key, lastWorked: lastWorked.map(Date.init(timeIntervalSince1970:)), pending: pending)
    }

    fileprivate func migrations(_ entry: KeyRegistry.Entry) async throws -> [MigrationStatus] {
        if let collection = entry.key.collection { return try await migrations(of: collection, entry) }
        return try await migrations(opening: entry.key.base, entry)
    }

    private func migrations<Collection: TypedCollection>(
        of collection: Collection, _ entry: KeyRegistry.Entry
    ) async throws -> [MigrationStatus] {
        let collection = collection.typed
        var found: [MigrationStatus] = []
        for place in collection.olderPlaces {
            guard let source = place.source as? any RecordSource<Collection.Record> else { continue }
            let pending = try await source.pending(for: collection, self)
            found.append(await status(source.id(for: collection), collection.name, pending: pending))
        }
        for version in collection.template.evolution?.older ?? [] {
            let pending = try await countStored(collection, version: version)
            found.append(await status(Self.evolutionID(collection.name, from: version), collection.name, pending: pending))
        }
        return found
    }

    private func migrations<Key: TypedKey>(opening key: Key, _ entry: KeyRegistry.Entry) async throws -> [MigrationStatus] {
        var found: [MigrationStatus] = []
        for migration in key.migrations {
            var pending = 0
            for source in migration.sources {
                let route = try routes.route(for: source)
                // A change of shape in place waits for what does not decode as the key's type.
                guard route.slot != entry.route.slot else {
                    if case .failed = await inspect(key.typed, entry.route).state { pending += 1 }
                    if case .pending = await inspect(key.typed, entry.route).state { pending += 1 }
                    continue
                }
                if case .value = try await standing(route) { pending += 1 }
            }
            found.append(await status(migration.id, entry.key.name, pending: pending))
        }
        if let evolution = key.evolution {
            var stored: Int?
            if case .value(let record) = try await standing(entry.route) { stored = record.metadata.schemaVersion ?? evolution.base }
            for version in evolution.older {
                found.append(await status(Self.evolutionID(key.name, from: version), entry.key.name, pending: stored == version ? 1 : 0))
            }
        }
        return found
    }
}

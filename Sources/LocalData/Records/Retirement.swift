import BackendContract
import BackendRuntime
import Foundation

/// Which migrations of registered keys and collections are still needed.
struct Retirement: Sendable {
    let env: Environment

    init(_ env: Environment) { self.env = env }

    func status(_ id: String, _ key: String, pending: Int) async -> MigrationStatus {
        let lastWorked = await env.ledger.lastWork(id)
        return MigrationStatus(id: id, key: key, lastWorked: lastWorked.map(Date.init(timeIntervalSince1970:)), pending: pending)
    }

    /// The migrations of an entry; each earlier version of a chain counts as one.
    func migrations(of entry: KeyRegistry.Entry) async throws -> [MigrationStatus] {
        if let collection = entry.key.collection { return try await migrations(of: collection) }
        return try await migrations(of: entry.key.base, entry.route)
    }

    private func migrations<Collection: TypedCollection>(of collection: Collection) async throws -> [MigrationStatus] {
        let collection = collection.typed
        var found: [MigrationStatus] = []
        for location in collection.legacyLocations {
            guard let source = location.source as? any RecordMoving<Collection.Record> else { continue }
            found.append(await status(source.id(for: collection), collection.name, pending: try await source.pending(for: collection, env)))
        }
        for version in collection.template.evolution?.older ?? [] {
            let pending = try await RecordQueries(env).count(collection, version: version)
            found.append(await status(Converter.ledgerID(collection.name, from: version), collection.name, pending: pending))
        }
        return found
    }

    private func migrations<Key: TypedKey>(of key: Key, _ own: Route) async throws -> [MigrationStatus] {
        var found: [MigrationStatus] = []
        for migration in key.migrations {
            var pending = 0
            if migration.keepsSources, case .absent = try await own.probe() {
                for source in migration.sources where try await env.routes.route(for: source).probe().record != nil { pending += 1 }
            }
            for source in migration.legacyLocations {
                let route = try env.routes.route(for: source)
                if route.slot == own.slot {
                    // A change of shape in place waits for what does not decode as the key's type.
                    switch await Inspector(env).inspect(Slot(key: key.typed, route: own)).state {
                    case .failed, .pending: pending += 1
                    default: break
                    }
                } else if case .value = try await route.probe() {
                    pending += 1
                }
            }
            found.append(await status(migration.id, key.name, pending: pending))
        }
        if let evolution = key.evolution {
            var stored: Int?
            if case .value(let record) = try await own.probe() { stored = record.metadata.schemaVersion ?? evolution.base }
            for version in evolution.older {
                let pending = stored == version ? 1 : 0
                found.append(await status(Converter.ledgerID(key.name, from: version), key.name, pending: pending))
            }
        }
        return found
    }
}

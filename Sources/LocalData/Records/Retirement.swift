import BackendContract
import BackendRuntime
import Foundation

/// Finds which migrations of registered keys and collections are still needed.
struct Retirement: EnginePart, Sendable {
    let engine: Engine
    /// The history of migrations from the ledger; nil if the ledger cannot be read.
    let past: MigrationHistory?

    init(_ engine: Engine) async {
        self.engine = engine
        past = try? await engine.history.ledger.history()
    }

    func status(_ id: String, _ key: String, _ evidence: OlderCopies) -> MigrationStatus {
        let known = past?.migrations.first { $0.id == id }
        return MigrationStatus(id: id, key: key, lastWorked: known?.lastWorked, history: known, evidence: evidence)
    }

    /// Returns the status of each migration of an entry. A chain of versions counts as one migration for each earlier version.
    func migrations(of entry: KeyRegistry.Entry) async -> [MigrationStatus] {
        if let collection = entry.key.collection { return await migrations(of: collection, entry.route) }
        return await migrations(of: entry.key.base, entry.route)
    }

    private func migrations<Collection: TypedCollection>(of collection: Collection, _ own: Route) async -> [MigrationStatus] {
        let collection = collection.typed
        var found: [MigrationStatus] = []
        for location in collection.legacyLocations {
            guard let source = location.source as? any RecordMoving<Collection.Record> else { continue }
            let evidence = await OlderPlaces(engine: engine).look(at: [location.key], of: own.slot)
            found.append(status(source.id(for: collection), collection.name, evidence))
        }
        for version in collection.template.evolution?.older ?? [] {
            let evidence = await counting(own) {
                var count = 0
                for filter in RecordFilter.versions(version) {
                    count += try await RecordQueries(engine: engine).countAll(collection, filter)
                }
                return count
            }
            found.append(status(Converter.ledgerID(collection.name, from: version), collection.name, evidence))
        }
        return found
    }

    private func migrations<Key: TypedKey>(of key: Key, _ own: Route) async -> [MigrationStatus] {
        var found: [MigrationStatus] = []
        for migration in key.migrations {
            found.append(status(migration.id, key.name, await evidence(of: migration, Slot(key: key.typed, route: own))))
        }
        for version in key.evolution?.older ?? [] {
            let evidence = await counting(own) {
                switch try await own.probe() {
                case .value(let record): (record.metadata.schemaVersion ?? key.evolution?.base) == version ? 1 : 0
                case .corrupt: 1
                default: 0
                }
            }
            found.append(status(Converter.ledgerID(key.name, from: version), key.name, evidence))
        }
        return found
    }

    private func evidence<Value>(of migration: AnyStorageMigration, _ slot: Slot<Value>) async -> OlderCopies {
        if migration.keepsSources { return await evidence(ofCopy: migration, slot) }
        var evidence = await OlderPlaces(engine: engine).look(at: migration.sources, of: slot.id)
        if case .custom = migration.form, migration.sources.isEmpty {
            evidence.unreadable[migration.id] = "It is a custom migration that declares no sources, so it is unknown which values it reads."
        }
        let isInPlace = migration.sources.contains { (try? slots.routes.route(for: $0).slot) == slot.id }
        guard isInPlace else { return evidence }
        // The migration converts a value within its slot. It is still needed while the stored value does not decode as the key's type.
        let own = await Inspector(engine: engine).inspect(slot)
        switch own.state {
        case .failed, .pending: evidence.holding[slot.route.displayName] = 1
        case .blocked: evidence.unreadable[slot.route.displayName] = own.error?.message ?? "It cannot be read now."
        default: break
        }
        return evidence
    }

    /// Returns the evidence for a migration that copies its sources. The copy is made once, so the migration is needed only while the
    /// destination is proven to be empty, without a tombstone.
    private func evidence<Value>(ofCopy migration: AnyStorageMigration, _ slot: Slot<Value>) async -> OlderCopies {
        do {
            guard case .absent = try await slot.route.probe() else { return OlderCopies() }
        } catch { return OlderCopies(unreadable: [slot.route.displayName: OlderPlaces.reason(error)]) }
        return await OlderPlaces(engine: engine).look(at: migration.sources, of: slot.id)
    }

    private func counting(_ place: Route, _ body: () async throws -> Int) async -> OlderCopies {
        do {
            let count = try await body()
            return OlderCopies(holding: count > 0 ? [place.displayName: count] : [:])
        } catch { return OlderCopies(unreadable: [place.displayName: OlderPlaces.reason(error)]) }
    }
}

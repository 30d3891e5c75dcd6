import BackendContract
import BackendRuntime

/// Collections in sweeps and plans: a row each.
extension MigrationEngine {
    /// Brings every record of a collection to its place and shape.
    func sweptRow<Collection: TypedCollection>(of collection: Collection, _ entry: KeyRegistry.Entry) async -> MigrationReport.Row {
        let start = runtime.clock.now
        var row = Self.row(entry)
        do {
            let work = try await settleRecords(collection.typed, try await context(.sweep, entry.route))
            row.records = work.moved + work.converted + work.expired + work.reconciled
            row.bytes = work.bytes
            row.residue = work.residue
            row.state =
                work.moved > 0
                ? .moved : work.converted > 0 ? .converted : work.reconciled > 0 ? .resolved : work.expired > 0 ? .expired : .unchanged
            if work.moved > 0 { row.from = entry.key.olderPlaces.map { "\($0.domain)/\($0.name)" }.joined(separator: " + ") }
            try work.throwFirst()
        } catch let error as StorageError {
            row.state = Self.isPassing(error) ? .blocked : .failed
            row.message = error.message
            row.errorCode = error.code.name
        } catch {
            row.state = .blocked
            row.message = "The sweep was cancelled."
            row.errorCode = StorageError.cancelled.name
        }
        row.seconds = Double(start.duration(to: runtime.clock.now).wholeNanoseconds) / 1e9
        return row
    }

    /// What a sweep would do with a collection.
    func plannedRow<Collection: TypedCollection>(of collection: Collection, _ entry: KeyRegistry.Entry) async -> MigrationReport.Row {
        var row = Self.row(entry)
        do {
            var records = try await pending(collection.typed)
            for version in collection.typed.template.evolution?.older ?? [] {
                records += try await countStored(collection.typed, version: version)
            }
            row.records = records
            row.state = records > 0 ? .pending : .unchanged
        } catch let error as StorageError {
            row.state = Self.isPassing(error) ? .blocked : .failed
            row.message = error.message
            row.errorCode = error.code.name
        } catch {
            row.state = .blocked
        }
        return row
    }

    /// How many records of a collection are stored in the shape of a version.
    func countStored<Record>(_ collection: StorageCollection<Record>, version: Int) async throws -> Int {
        try await count(collection, .attribute(StorageMetadata.versionAttribute, String(version)))
    }

    private static func row(_ entry: KeyRegistry.Entry) -> MigrationReport.Row {
        MigrationReport.Row(
            key: entry.key.name, owner: entry.key.owner, to: "\(entry.route.domain)", protection: entry.route.protection, bytes: 0,
            state: .unchanged, residue: [], seconds: 0)
    }
}

import BackendContract
import BackendRuntime

extension MigrationEngine {
    /// What is known of a key without changing anything.
    struct Inspection: Sendable {
        var state: MigrationReport.State
        var record: StorageRecord?
        var origin: RecordOrigin?
        /// Older places that hold something, and whether it is a copy of the value.
        var older: [(copy: SourceRecord, isCopy: Bool)] = []
        var error: StorageError?
    }

    /// Looks at a key's place and at every older one; writes nothing, asks no migration of the program's own, and opens no prompt. Steps of a chain of versions are run on a copy.
    func inspect<Value>(_ key: StorageKey<Value>, _ route: Route) async -> Inspection {
        do { return try await inspectThrowing(key, route) } catch let error as StorageError {
            return Inspection(state: Self.isPassing(error) ? .blocked : .failed, error: error)
        } catch {
            return Inspection(state: .blocked)
        }
    }

    private func inspectThrowing<Value>(_ key: StorageKey<Value>, _ route: Route) async throws -> Inspection {
        let probe = try await standing(route)
        let sources = try await readableSources(of: key, route)
        var inspection = Inspection(state: .absent)
        switch probe {
        case .value(let record):
            inspection.record = record
            inspection.origin = try await records.origin(of: record.metadata, route)
            do {
                inspection.state = .unchanged
                if record.metadata.isExpired(at: runtime.clock.wallSeconds) {
                    inspection.state = .expired
                } else if try await records.decodeTelling(record, key, route).isOutdated {
                    inspection.state = .pending
                }
            } catch let error as StorageError where Self.meansUndecodable(error) {
                inspection.state = key.hasMigration ? .pending : .failed
                inspection.error = error
                inspection.older = sources.found.map { ($0, false) }
                return inspection
            }
        case .tombstone(let tombstone):
            inspection.state = .removed
            inspection.origin = try await records.origin(of: tombstone.metadata, route)
        case .corrupt(let corruption):
            inspection.state = sources.found.isEmpty ? .failed : .pending
            inspection.error = route.corrupted(corruption)
            return inspection
        default: break
        }
        inspection.older = sources.found.map { ($0, inspection.origin?.names($0.route.placeName, $0.record) == true) }
        if inspection.state == .absent, !inspection.older.isEmpty { inspection.state = .pending }
        if inspection.state != .pending, inspection.older.contains(where: { !$0.isCopy }) { inspection.state = .conflict }
        if let place = sources.unreadable.first {
            inspection.state = .blocked
            inspection.error = StorageError(
                StorageError.unavailable, key: key.name, "An older place, \(place.domain), cannot be looked at now.")
        }
        return inspection
    }

    /// What a sweep would do with a key.
    func plannedRow(_ entry: KeyRegistry.Entry) async -> MigrationReport.Row {
        if let collection = entry.key.collection { return await plannedRow(of: collection, entry) }
        return await plannedRow(opening: entry.key.base, entry)
    }

    private func plannedRow<Key: TypedKey>(opening key: Key, _ entry: KeyRegistry.Entry) async -> MigrationReport.Row {
        let found = await inspect(key.typed, entry.route)
        let copies = found.older.map(\.copy)
        return MigrationReport.Row(
            key: entry.key.name, owner: entry.key.owner,
            from: copies.isEmpty ? nil : copies.map { "\($0.route.domain)/\($0.route.keyName)" }.joined(separator: " + "),
            to: "\(entry.route.domain)",
            protectionBefore: copies.map(\.route.protection).min(), protection: entry.route.protection,
            bytes: found.record?.payload.byteCount ?? copies.first?.record.payload.byteCount ?? 0, state: found.state,
            residue: found.older.filter(\.isCopy).map { "\($0.copy.route.domain)/\($0.copy.route.keyName)" }, message: found.error?.message,
            errorCode: found.error?.code.name, seconds: 0)
    }
}

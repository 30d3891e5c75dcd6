import BackendContract

/// Reports the state of a key without changing anything.
struct Inspector: EnginePart, Sendable {
    let engine: Engine

    /// The result of an inspection.
    struct Inspection: Sendable {
        var state: MigrationReport.State
        var record: StorageRecord?
        var origin: RecordOrigin?
        /// The records in legacy locations, and whether each is a copy that the value replaced.
        var older: [(copy: SourceRecord, isCopy: Bool)] = []
        var error: StorageError?
    }

    /// Reads the slot of a key and all its legacy locations. Writes nothing, runs no custom migration and opens no prompt. The steps of a
    /// chain of versions run on a copy of the value.
    func inspect<Value>(_ slot: Slot<Value>) async -> Inspection {
        do { return try await inspectThrowing(slot) } catch let error as StorageError {
            return Inspection(state: error.isTransient ? .blocked : .failed, error: error)
        } catch { return Inspection(state: .blocked) }
    }

    private func inspectThrowing<Value>(_ slot: Slot<Value>) async throws -> Inspection {
        let (key, route) = (slot.key, slot.route)
        let probe = try await route.probe()
        let sources = try await LegacyLocations(engine: engine).read(for: slot.untyped)
        var inspection = Inspection(state: .absent)
        switch probe {
        case .value(let record):
            inspection.record = record
            inspection.origin = try await coder.origin(of: record.metadata, route)
            do {
                inspection.state = .unchanged
                if coder.isExpired(record) {
                    inspection.state = .expired
                } else if try await coder.read(record, slot).isOutdated {
                    inspection.state = .pending
                }
            } catch let error as StorageError where error.meansUndecodable {
                inspection.state = key.hasMigration ? .pending : .failed
                inspection.error = error
                inspection.older = sources.found.map { ($0, false) }
                return inspection
            }
        case .tombstone(let tombstone):
            inspection.state = .removed
            inspection.origin = try await coder.origin(of: tombstone.metadata, route)
        case .corrupt(let corruption):
            inspection.state = sources.found.isEmpty ? .failed : .pending
            inspection.error = route.corrupted(corruption)
            return inspection
        default: break
        }
        for source in sources.found {
            inspection.older.append((source, await origins.match(source, inspection.origin) == .exact))
        }
        if inspection.state == .absent, !inspection.older.isEmpty { inspection.state = .pending }
        if inspection.state != .pending, inspection.older.contains(where: { !$0.isCopy }) { inspection.state = .conflict }
        if let place = sources.unreadable.first {
            inspection.state = .blocked
            inspection.error = StorageError(.unavailable, key: key.name, "A legacy location, \(place.domain), cannot be read now.")
        }
        return inspection
    }
}

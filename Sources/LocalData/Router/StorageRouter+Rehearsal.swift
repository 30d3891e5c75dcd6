import BackendContract

/// Reads that are repeated in a rehearsal. A full or read-only store prevents a migration, but the value is there and can be read.
extension StorageRouter {
    /// Repeats a failed read in a rehearsal, if its migration could not be written. The result is the value that the migration
    /// would have written.
    /// - Parameters:
    ///   - name: The name of the key or collection.
    ///   - error: The error of the read.
    ///   - read: The read, in a router for a rehearsal.
    /// - Throws: `error` if it has another cause, if the rehearsal ends with `cannotTell`, or if the value refers to records that were not
    ///   stored. Otherwise, the error of the repeated read.
    nonisolated func rehearsing<Answer>(
        _ name: String, after error: any Error, _ read: (StorageRouter) async throws -> Answer
    ) async throws -> Answer {
        guard program.rehearsal == nil, (error as? StorageError)?.meansUnwritable == true else { throw error }
        let rehearsal = rehearsing()
        let answer: Answer
        do { answer = try await read(rehearsal) } catch StorageError.cannotTell { throw error }
        if rehearsal.program.rehearsal?.hasStoredReferences == true { throw error }
        let code = (error as? StorageError)?.code ?? StorageError.migrationFailed
        history.events.send(
            .readUnmigrated(code),
            "A value was read in a legacy location, or in an earlier version. It could not be written, and stays pending.",
            ["code": "\(code.name)"])
        return answer
    }

    /// Reads a value, and reads it again in a rehearsal if its migration cannot be written.
    nonisolated func answering<Value, Answer>(
        _ key: StorageKey<Value>, _ read: (ValueReader, Slot<Value>) async throws -> Answer
    ) async throws -> Answer {
        let slot = try entry(key)
        do { return try await read(valueReader, slot) } catch {
            return try await rehearsing(slot.name, after: error) { rehearsal in
                try await read(rehearsal.valueReader, try rehearsal.slots.routes.slot(for: slot.key))
            }
        }
    }

    /// Reads in a rehearsal the value of a key whose migration could not be written.
    nonisolated func rehearsed<Value>(_ slot: Slot<Value>, after error: any Error) async throws -> ValueReader.Reading<Value> {
        try await rehearsing(slot.name, after: error) { rehearsal in
            try await rehearsal.valueReader.readWritten(try rehearsal.slots.routes.slot(for: slot.key))
        }
    }

    /// Moves the records of a collection to their slots, before they are read.
    /// - Returns: The router that reads the records: this one, or one for a rehearsal if the records could not be moved. Also the older
    ///   records that cannot be read.
    nonisolated func gathering<Record>(
        _ collection: StorageCollection<Record>
    ) async throws -> (router: StorageRouter, unreadable: [RecordWork.Failure]) {
        do { return (self, try await recordGatherer.gatherBeforeReading(collection)) } catch {
            return try await rehearsing(collection.name, after: error) { rehearsal in
                (rehearsal, try await rehearsal.recordGatherer.gatherBeforeReading(collection))
            }
        }
    }
}

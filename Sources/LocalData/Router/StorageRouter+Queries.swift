import BackendContract

/// The interface of a router for the product `LocalDataQueries`.
extension StorageRouter {
    /// Reads records of a collection with a reader. Records in legacy locations are first moved to the collection. If
    /// they cannot be moved, the reader reads them in a rehearsal, unless the call also writes.
    /// - Parameters:
    ///   - operation: The name of the call: see ``StorageOperation/name``.
    ///   - isWriting: Whether the call changes records.
    package nonisolated func matching<Record, R>(
        _ operation: String, in collection: StorageCollection<Record>, isWriting: Bool = false,
        _ body: (MatchReader<Record>) async throws -> R
    ) async throws -> R {
        try await call(operation, collection, isStepwise: isWriting) {
            _ = try entry(collection.placeholder)
            let (router, unreadable) =
                isWriting ? (self, try await recordGatherer.gatherBeforeReading(collection)) : try await gathering(collection)
            return try await body(
                MatchReader(
                    engine: router.engine, collection: collection, unreadable: unreadable))
        }
    }

    /// Removes records that a query has found, if they still belong to its result.
    /// - Returns: The number of records that were removed.
    package nonisolated func remove<Record>(
        _ found: [FoundRecord<Record>], from collection: StorageCollection<Record>, if isWanted: @Sendable (Record) -> Bool
    ) async throws -> Int {
        let remover = RecordRemover(engine: engine, collection: collection)
        if try await remover.removeTogether(found.map { ($0.id, $0.revision) }) { return found.count }
        var count = 0
        for record in found {
            do {
                try await update(try entry(collection.key(record.id))) { value in
                    guard let present = value, isWanted(present) else { throw NoLongerWanted() }
                    value = nil
                }
                count += 1
            } catch is NoLongerWanted { continue } catch let error as StorageError { throw error.after(count) }
        }
        return count
    }

    /// Thrown to leave a record unchanged.
    private struct NoLongerWanted: Error {}

    /// Removes every record of a collection.
    package nonisolated func removeAllRecords<Record>(of collection: StorageCollection<Record>, onDamage: DamagePolicy) async throws {
        try await call("clear", collection, isStepwise: true) {
            _ = try entry(collection.placeholder)
            let unreadable = try await recordGatherer.gatherBeforeReading(collection)
            let remover = RecordRemover(engine: engine, collection: collection)
            try await remover.removeAll(unreadable, onDamage: onDamage)
        }
    }

    /// Encrypts the content of a cursor, so that only this router can read it.
    package nonisolated func sealedCursor(_ content: [UInt8], of collection: StorageCollection<some Codable & Sendable>) throws -> [UInt8] {
        try cursorSeal.seal(content, Self.context(of: collection), configuration.runtime)
    }

    /// Decrypts the content of a cursor; nil if this router did not encrypt it for the same collection.
    package nonisolated func openedCursor(_ bytes: [UInt8], of collection: StorageCollection<some Codable & Sendable>) -> [UInt8]? {
        cursorSeal.open(bytes, Self.context(of: collection))
    }

    private static func context(of collection: StorageCollection<some Codable & Sendable>) -> [UInt8] {
        Array("\(collection.domain)/\(collection.name)".utf8)
    }
}

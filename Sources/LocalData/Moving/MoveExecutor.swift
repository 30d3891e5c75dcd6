import BackendContract

/// Moves that are carried out together: those of a page, or the one of a single key. Their destinations are in one store.
struct Moves: Sendable {
    /// The changes that write the destinations.
    var writes: [Committer.Change] = []
    /// Changes of the same commit that no observer sees: backups, and checks that a removal epoch is unchanged.
    var companions: [Committer.Change] = []
    /// The copies that the written values replace. They are deleted once the values are certain to last.
    var copies: [SourceRecord] = []
    /// The destination of the value that replaces each copy.
    var destinations: [Route] = []
    /// Whether a store may compare the bytes that it wrote, instead of opening them.
    var comparesBytes = true
}

/// The only code that writes the destinations of migrations and deletes their sources.
///
/// The order of the steps is safe: store the records to which the values refer, commit the values under preconditions, read them back, and
/// only then delete the copies. A run that is killed in between is continued by the next one.
struct MoveExecutor: EnginePart, Sendable {
    let engine: Engine

    /// The result of moves that were carried out.
    struct Outcome: Sendable {
        /// The record that the first write stored; empty if that write deleted a record.
        let records: [StorageRecord]
        /// The weakest durability of the written values.
        let durability: StorageDurability
        /// For each copy, its location with the reason as text if it remains; otherwise an empty list.
        let residues: [[String]]

        var residue: [String] { residues.flatMap(\.self) }
        /// The stored record of a single write.
        var record: StorageRecord { records[0] }
    }

    /// Writes the values of moves, and then deletes the copies that they replace.
    /// - Parameter check: Checks a record that was read back, with the index of its write. Throws if the record is not as expected.
    /// - Returns: Nil if one of the slots has changed since it was read. If the store has atomic batches, nothing was written then.
    /// - Throws: ``StorageError``; with the outcome `unknown` if a value could not be read back.
    func run(_ moves: Moves, check: (Int, StorageRecord) async throws -> Void = { _, _ in }) async throws -> Outcome? {
        await outcome(try await write(moves, check: check), moves)
    }

    private func outcome(_ receipt: Committer.Receipt, _ moves: Moves) async -> Outcome? {
        guard receipt.isCommitted else { return nil }
        return Outcome(
            records: moves.writes.prefix(1).compactMap { receipt.record(of: $0, at: 0) }, durability: receipt.durability,
            residues: await purge(moves.copies, for: moves.destinations, achieved: receipt.durability))
    }

    /// Writes the values of moves, and deletes no copy.
    func write(_ moves: Moves, check: (Int, StorageRecord) async throws -> Void = { _, _ in }) async throws -> Committer.Receipt {
        try await slots.committer.commit(
            Committer.MoveCommit(changes: moves.writes + moves.companions, comparesBytes: moves.comparesBytes), check: check)
    }

    /// Writes one encoded value, checks that it decodes, and then deletes the copies that it replaces.
    /// - Parameters:
    ///   - companions: Changes of the same commit; see ``Moves/companions``.
    ///   - copies: The copies that the value replaces.
    /// - Returns: Nil if the slot or the removal epoch has changed since it was read.
    func run<Value>(
        _ prepared: EncodedValue, _ slot: Slot<Value>, origin: RecordOrigin?, if precondition: StorageMutation.Precondition,
        with companions: [Committer.Change?] = [], replacing copies: [SourceRecord] = [], for holder: ReferenceHolder
    ) async throws -> Outcome? {
        let moves = Moves(
            writes: [try await put(prepared, origin: origin, if: precondition, for: holder)], companions: companions.compactMap(\.self),
            copies: copies, destinations: copies.map { _ in slot.route })
        let receipt = try await write(moves) { _ = try await coder.decode($1, slot) }
        if case .corrupt(let corruption)? = receipt.conflict { throw slot.route.corrupted(corruption) }
        return await outcome(receipt, moves)
    }

    /// Returns the change that writes an encoded value. First stores the records to which the value refers.
    /// Reason: "A referenced record is stored before its holder" in Docs/Decisions/Evolution.md.
    func put(
        _ prepared: EncodedValue, origin: RecordOrigin?, if precondition: StorageMutation.Precondition,
        for holder: @autoclosure () -> ReferenceHolder
    ) async throws -> Committer.Change {
        try await ReferenceWriter(engine: engine).store(prepared.references, for: holder())
        return Committer.Change(try await coder.complete(prepared, origin: origin).operation, prepared.route, if: precondition)
    }

    /// Replaces a record by a tombstone, or by the same value with another origin. No copy may be deleted before the caller has made the
    /// result durable.
    /// - Returns: The new revision and its durability; nil if the slot has changed since it was read.
    func restate(
        _ operation: StorageMutation.Operation, at route: Route, over revision: StorageRevision
    ) async throws -> (revision: StorageRevision, durability: StorageDurability)? {
        let receipt = try await slots.committer.commit([Committer.Change(operation, route, if: .revision(revision))])
        guard case .applied(let revision?, let durability) = receipt.results[0] else { return nil }
        return (revision, durability)
    }
}

extension EnginePart {
    var executor: MoveExecutor { MoveExecutor(engine: engine) }
    var mover: Mover { Mover(engine: engine) }
    var converter: Converter { Converter(engine: engine) }
    var settler: Settler { Settler(engine: engine) }
    var valuePreparer: ValuePreparer { ValuePreparer(engine: engine) }
}

import BackendContract

/// Reads and changes the removal epoch of a collection that takes its records from legacy locations. The epoch shows whether tombstones
/// were dropped since a move read its source.
///
/// A tombstone prevents a move from bringing a removed record back. Once a sweep has proven that the legacy locations of the record are
/// empty, only a move that read its source before that could bring it back. Therefore the sweep rewrites the collection's mark in the
/// commit that drops the tombstones. Each move reads the mark before its source, and its put has the precondition that the mark is
/// unchanged.
///
/// The epoch is the revision of the mark. Its number, in the mark's attributes, is only for people.
struct RemovalEpochs: EnginePart, Sendable {
    let engine: Engine

    /// The attribute of a mark that counts the epochs.
    static let attribute = "LocalData.removalEpoch"

    /// Returns the check of the present epoch, for the commit that moves a record to a slot. Call this before the source is read.
    /// - Returns: Nil if no tombstone is dropped while records can be moved to the slot: its store has no atomic batches, or it is not the
    ///   slot of a record of a collection with legacy locations.
    func current(for slot: UntypedSlot) async throws -> Committer.Change? {
        guard slot.route.capabilities.atomicBatch, let collection = slot.key.membership?.gathered else { return nil }
        let mark = try mark(of: collection)
        return .check(mark, if: try await mark.probe().unchanged)
    }

    /// Returns the route of a collection's mark.
    func mark(of collection: some TypedCollection) throws -> Route { try slots.routes.slot(for: collection.typed.placeholder).route }

    /// Returns the change that begins the next epoch: a rewrite of the mark.
    func next(of mark: Route) async throws -> Committer.Change {
        let probe = try await mark.probe()
        if case .corrupt(let corruption) = probe { throw mark.corrupted(corruption) }
        var attributes = probe.metadata?.attributes ?? [:]
        attributes[Self.attribute] = String((attributes[Self.attribute].flatMap(Int.init) ?? 0) + 1)
        let metadata = try await coder.tombstone(over: probe.metadata, attributes: attributes, mark)
        return Committer.Change(.tombstone(metadata), mark, if: probe.unchanged)
    }
}

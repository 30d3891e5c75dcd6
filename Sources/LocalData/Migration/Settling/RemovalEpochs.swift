import BackendContract

/// The removal epoch of a collection that takes its records from older ones: it tells whether tombstones were dropped since a mover read its source.
///
/// A tombstone keeps a mover from bringing a removed record back. Once a sweep has proven that the older places of the record are empty, only a mover that read its source
/// before that could still do so. The sweep therefore rewrites the collection's mark in the commit that drops the tombstones, and each mover's put depends on the mark
/// being as it was before the mover read its source. The epoch is the mark's revision; its number, in the mark's attributes, is for people.
struct RemovalEpochs: Sendable {
    let slots: SlotAccess
    let coder: RecordCoder

    init(_ slots: SlotAccess, _ coder: RecordCoder) { (self.slots, self.coder) = (slots, coder) }

    /// The attribute of a mark that counts how often tombstones were dropped.
    static let attribute = "LocalData.removalEpoch"

    /// What a put that moves a record to a slot depends on; nil where tombstones are never dropped. Called before the source is read.
    func current(for slot: UntypedSlot) async throws -> Committer.Change? {
        guard slot.route.capabilities.atomicBatch, let collection = slot.key.membership?.gathered else { return nil }
        let mark = try mark(of: collection)
        return .check(mark, if: try await mark.probe().unchanged)
    }

    /// The place of a collection's mark.
    func mark(of collection: any TypedCollection) throws -> Route {
        func open<Collection: TypedCollection>(_ collection: Collection) throws -> Route {
            try slots.routes.slot(for: collection.typed.placeholder).route
        }
        return try open(collection)
    }

    /// The change that begins another epoch.
    func next(of mark: Route) async throws -> Committer.Change {
        let probe = try await mark.probe()
        if case .corrupt(let corruption) = probe { throw mark.corrupted(corruption) }
        var attributes = probe.metadata?.attributes ?? [:]
        attributes[Self.attribute] = String((attributes[Self.attribute].flatMap(Int.init) ?? 0) + 1)
        let metadata = try await coder.tombstone(over: probe.metadata, attributes: attributes, mark)
        return Committer.Change(.tombstone(metadata), mark, if: probe.unchanged)
    }
}

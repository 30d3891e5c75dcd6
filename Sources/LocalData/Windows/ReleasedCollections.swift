import BackendContract

/// The older collections whose release windows are over, as the mark of a collection lists them. They are no longer kept up
/// to date, even if a program still declares the window as open.
///
/// A stored record states the end of its window in its origin. A new record has no origin yet, so its writer reads this list.
struct ReleasedCollections {
    private static let attribute = "LocalData.released"

    private var names: [String]

    /// - Parameter metadata: The metadata of the mark.
    init(in metadata: StorageMetadata?) {
        names = metadata?.attributes[Self.attribute]?.split(separator: "\n").map(String.init) ?? []
    }

    /// Returns whether the window of an older collection is over.
    /// - Parameter older: The mark of the older collection.
    func contains(_ older: Route) -> Bool { names.contains(older.place.text) }

    /// Returns the change that adds an older collection to the mark of a collection; nil if the mark lists it already.
    static func noting(_ older: Route, in mark: Route, _ coder: RecordCoder) async throws -> Committer.Change? {
        let probe = try await mark.probe()
        if case .corrupt(let corruption) = probe { throw mark.corrupted(corruption) }
        var attributes = probe.metadata?.attributes ?? [:]
        var released = ReleasedCollections(in: probe.metadata)
        if released.contains(older) { return nil }
        released.names.append(older.place.text)
        attributes[attribute] = released.names.joined(separator: "\n")
        let metadata = try await coder.tombstone(over: probe.metadata, attributes: attributes, mark)
        return Committer.Change(.tombstone(metadata), mark, if: probe.unchanged)
    }
}

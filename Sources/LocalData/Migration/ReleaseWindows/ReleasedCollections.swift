import BackendContract

/// What the mark of a collection says of release windows that are over: the older collections that are not kept up to date any more, whatever a program says.
///
/// A record says so itself. One that is new cannot: its writer looks here.
struct ReleasedCollections {
    private static let attribute = "LocalData.released"

    private var names: [String]

    /// - Parameter metadata: The metadata of the mark.
    init(in metadata: StorageMetadata?) {
        names = metadata?.attributes[Self.attribute]?.split(separator: "\n").map(String.init) ?? []
    }

    /// - Parameter older: The mark of an older collection.
    func contains(_ older: Route) -> Bool { names.contains(older.place.text) }

    /// The change of a mark after which it names an older collection.
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

import BackendContract

/// Makes report rows for retired keys: one for each slot or collection that is not proven to be empty.
struct RetiredRows: EnginePart, Sendable {
    let engine: Engine

    /// Returns the rows of the retired keys of catalogs, in the order of these catalogs.
    /// - Parameter catalogs: The ids of the catalogs.
    func rows(of catalogs: [String]) async -> [MigrationReport.Row] {
        var rows: [MigrationReport.Row] = []
        for entry in catalogs.flatMap({ history.registry.retired(of: $0) }) { if let row = await row(entry) { rows.append(row) } }
        return rows
    }

    /// Returns the row of a retired key; nil if its slot or collection is proven to be empty.
    func row(_ entry: KeyRegistry.Entry) async -> MigrationReport.Row? {
        var row = MigrationReport.Row(
            key: entry.key.name, owner: entry.key.owner ?? "", to: entry.route.domain, protection: entry.route.protection, bytes: 0,
            state: .leftOver, residue: [], duration: .zero)
        do {
            let count = try await OlderPlaces(engine: engine).count(entry.key, entry.route)
            if count == 0 { return nil }
            row.records = entry.key.collection == nil ? nil : count
            row.message = "The key is retired, and \(entry.route.displayName) still holds a value. Remove it when nothing needs it."
        } catch {
            row.state = .cannotTell
            row.message = "The key is retired, and it is not certain whether it still has a value. \(OlderPlaces.reason(error))"
            row.errorCode = (error as? StorageError)?.code
        }
        return row
    }
}

public import LocalData
public import LocalDataQueries

extension StoredRecords {
    /// Begins to follow the records that match a query, in its order. Returns at once, and reads nothing itself.
    ///
    /// ```swift
    /// let newest = RecordQuery(in: notes, where: \.title != "", orderedBy: .ascending(\.title), limit: 20)
    /// let list = StoredRecords(newest, in: storage)
    /// if case .failed(let error) = list.state { print(error.localizedDescription) }
    /// ```
    ///
    /// With a limit, a removal may require another read of the collection. Until it ends, ``records`` has the earlier records.
    /// - Parameters:
    ///   - query: The query. Records that its order does not distinguish are in the order of their ids.
    ///   - storage: The router. The object keeps it until it is released.
    ///   - onDamage: The handling of damaged records. With `throw`, a damaged record leads to the state `failed`.
    public convenience init(_ query: RecordQuery<Record>, in storage: StorageRouter, onDamage: DamagePolicy = .throw) {
        let plan = RecordPlan(
            query.collection, matches: { query.matches($0) }, precedes: { query.precedes($0, $1) }, limit: query.limit)
        self.init(plan, storage, onDamage)
    }
}

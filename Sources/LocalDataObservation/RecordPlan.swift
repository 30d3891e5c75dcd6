import LocalData

/// Which records of a collection an object shows, and in which order.
struct RecordPlan<Record: Codable & Sendable>: Sendable {
    let collection: StorageCollection<Record>
    let matches: @Sendable (Record) -> Bool
    let precedes: @Sendable (_ first: Record, _ second: Record) -> Bool
    /// The largest number of records; nil for all.
    let limit: Int?

    /// All records of a collection, in the order of their ids.
    init(_ collection: StorageCollection<Record>) {
        self.init(collection, matches: { _ in true }, precedes: { _, _ in false }, limit: nil)
    }

    init(
        _ collection: StorageCollection<Record>, matches: @escaping @Sendable (Record) -> Bool,
        precedes: @escaping @Sendable (Record, Record) -> Bool, limit: Int?
    ) {
        (self.collection, self.matches, self.precedes) = (collection, matches, precedes)
        self.limit = limit.map { max(0, $0) }
    }
}

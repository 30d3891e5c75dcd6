import BackendContract
import LocalData

/// The sorted records of a plan, kept up to date by changes.
///
/// With a limit, the list keeps up to twice as many records: the first ones of all that match. So most removals need no read.
struct RecordList<Record: Codable & Sendable> {
    private typealias Entry = (id: StorageAddress, record: Record)

    private let plan: RecordPlan<Record>
    /// The first of the records that match, sorted; all of them if `isPartial` is false.
    private var entries: [Entry] = []
    /// The records of `entries` by id, and those that are not sorted in yet.
    private var byID: [StorageAddress: Record] = [:]
    /// Whether there may be further records that match, after those in `entries`.
    private var isPartial = false
    /// Whether `entries` must be made of `byID`.
    private var isUnsorted = false

    /// The largest number of changes that are sorted in one by one.
    private static var mostSingle: Int { 32 }

    init(_ plan: RecordPlan<Record>) { self.plan = plan }

    /// The records to show.
    var records: [Record] { entries.prefix(plan.limit ?? .max).map(\.record) }

    /// Whether records may be missing that only a read can find.
    var needsRead: Bool { isPartial && entries.count < plan.limit ?? 0 }

    /// Applies changes in their order.
    /// - Parameter isCurrent: Whether the records are shown next. Otherwise sorting may wait.
    mutating func apply(_ updates: [RecordFollower<Record>.Update], isCurrent: Bool) {
        let areMany = plan.limit == nil && (isUnsorted || !isCurrent || updates.count > Self.mostSingle)
        for update in updates {
            let id = StorageAddress(update.id)
            let record = update.new.flatMap { plan.matches($0) ? $0 : nil }
            if areMany {
                byID[id] = record
                isUnsorted = true
            } else {
                remove(id)
                if let record { insert(record, id) }
            }
        }
        if isUnsorted, isCurrent {
            entries = byID.map { ($0.key, $0.value) }.sorted { precedes($0, $1) }
            isUnsorted = false
        }
    }

    /// The order of the plan. Records that it does not order are ordered by their ids.
    private func precedes(_ first: Entry, _ second: Entry) -> Bool {
        if plan.precedes(first.record, second.record) { return true }
        return !plan.precedes(second.record, first.record) && first.id.precedes(second.id)
    }

    /// The place of an entry, by binary search: the number of entries that precede it.
    private func place(of entry: Entry) -> Int {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if precedes(entries[middle], entry) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private mutating func remove(_ id: StorageAddress) {
        guard let record = byID.removeValue(forKey: id) else { return }
        let place = place(of: (id, record))
        // An order that contradicts itself must not remove another record.
        if place < entries.count, entries[place].id == id { entries.remove(at: place) } else { entries.removeAll { $0.id == id } }
    }

    private mutating func insert(_ record: Record, _ id: StorageAddress) {
        let place = place(of: (id, record))
        // Records that were dropped may precede this one.
        if isPartial, place == entries.count { return }
        entries.insert((id, record), at: place)
        byID[id] = record
        guard let limit = plan.limit, entries.count > max(1, 2 * limit) else { return }
        byID[entries.removeLast().id] = nil
        isPartial = true
    }
}

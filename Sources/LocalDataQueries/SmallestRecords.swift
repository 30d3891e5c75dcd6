import LocalData

/// The first records of an order, of all records that were added. It holds a limited number of them, as a heap whose root
/// is the last one.
struct SmallestRecords<Record: Sendable>: Sendable {
    typealias Found = FoundRecord<Record>

    private let limit: Int
    private let precedes: @Sendable (Found, Found) -> Bool
    private var heap: [Found] = []

    /// - Parameters:
    ///   - limit: The highest number of records.
    ///   - precedes: Returns whether a record comes before another one. No two records are equal.
    init(_ limit: Int, _ precedes: @escaping @Sendable (Found, Found) -> Bool) { (self.limit, self.precedes) = (limit, precedes) }

    /// The records, in their order.
    var sorted: [Found] { heap.sorted(by: precedes) }

    /// Adds a record, and drops the last one if there are too many.
    mutating func add(_ record: Found) {
        if heap.count < limit {
            heap.append(record)
            rise(heap.count - 1)
        } else if let last = heap.first, precedes(record, last) {
            heap[0] = record
            sink(0)
        }
    }

    private mutating func rise(_ start: Int) {
        var child = start
        while child > 0, precedes(heap[(child - 1) / 2], heap[child]) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    private mutating func sink(_ start: Int) {
        var parent = start
        while true {
            var last = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && precedes(heap[last], heap[child]) { last = child }
            if last == parent { return }
            heap.swapAt(parent, last)
            parent = last
        }
    }
}

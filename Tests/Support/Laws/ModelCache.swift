/// A simple cache of sizes, with which a test compares a real cache.
package struct ModelCache {
    /// The rule that chooses the value to evict.
    package enum Policy: CaseIterable, Sendable {
        case leastRecentlyUsed, oldestFirst
    }

    private let policy: Policy
    private let maximumBytes: Int
    private var values: [String: (size: Int, turn: Int)] = [:]
    /// The values in the order of their turns. An entry counts only if the value still has this turn.
    private var queue: [(id: String, turn: Int)] = []
    private var first = 0
    private var turn = 0
    package private(set) var bytes = 0
    package private(set) var hits = 0
    package private(set) var misses = 0

    /// Creates an empty cache.
    package init(_ policy: Policy, maximumBytes: Int) { (self.policy, self.maximumBytes) = (policy, maximumBytes) }

    package var count: Int { values.count }

    package func contains(_ id: String) -> Bool { values[id] != nil }

    /// Reads a value.
    /// - Returns: Whether the cache has it.
    package mutating func read(_ id: String) -> Bool {
        guard let value = values[id] else {
            misses += 1
            return false
        }
        hits += 1
        if policy == .leastRecentlyUsed { makeNewest(id, value.size) }
        return true
    }

    /// Stores a value.
    /// - Returns: The evicted values, in their order.
    package mutating func store(_ id: String, size: Int) -> [String] {
        remove(id)
        guard size <= maximumBytes else { return [] }
        var evicted: [String] = []
        while bytes + size > maximumBytes {
            let oldest = queue[first]
            first += 1
            guard values[oldest.id]?.turn == oldest.turn else { continue }
            remove(oldest.id)
            evicted.append(oldest.id)
        }
        bytes += size
        makeNewest(id, size)
        return evicted
    }

    package mutating func remove(_ id: String) { bytes -= values.removeValue(forKey: id)?.size ?? 0 }

    private mutating func makeNewest(_ id: String, _ size: Int) {
        turn += 1
        values[id] = (size, turn)
        queue.append((id, turn))
    }
}

/// Numbers whose frequency follows Zipf's law: the number n is chosen in proportion to 1 / (n + 1).
package struct ZipfNumbers {
    private let sums: [Double]
    private var generator: SeededGenerator

    /// Creates a source of numbers below a limit.
    package init(below limit: Int, seed: UInt64) {
        var sum = 0.0
        sums = (1...limit).map { rank in
            sum += 1 / Double(rank)
            return sum
        }
        generator = SeededGenerator(seed)
    }

    /// Returns the next number.
    package mutating func next() -> Int {
        let wanted = Double.random(in: 0..<(sums.last ?? 1), using: &generator)
        var (low, high) = (0, sums.count - 1)
        while low < high {
            let middle = (low + high) / 2
            if sums[middle] > wanted { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

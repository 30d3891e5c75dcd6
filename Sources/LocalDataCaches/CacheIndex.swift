import BackendContract

/// A position in the order in which values were stored and used.
struct UseStamp: Hashable, Comparable {
    /// The number of the last commit of the cache before the use.
    var commit: UInt64 = 0
    /// The number of the use since that commit; 0 for the commit itself.
    var use: UInt64 = 0

    static func < (left: Self, right: Self) -> Bool { (left.commit, left.use) < (right.commit, right.use) }
}

/// The values of a cache with their sizes, in the order of eviction. It is a linked list, so that each change takes the
/// same time however many values there are.
struct CacheIndex {
    /// A value of the cache.
    struct Entry {
        let address: StorageAddress
        /// The size: see ``CacheLimit/bytes-property``.
        let size: Int
        /// The time of expiry in seconds since 1970; nil for a value that never expires.
        let expiresAt: Double?
        var stamp: UseStamp
        fileprivate var earlier: Int?
        fileprivate var later: Int?

        init(_ address: StorageAddress, size: Int, expiresAt: Double?, stamp: UseStamp) {
            (self.address, self.size, self.expiresAt, self.stamp) = (address, size, expiresAt, stamp)
        }
    }

    private var entries: [Entry?] = []
    private var free: [Int] = []
    private var places: [StorageAddress: Int] = [:]
    private var first: Int?
    private var last: Int?
    private var now = UseStamp()

    /// The sum of the sizes.
    private(set) var bytes = 0
    /// The number of values.
    var count: Int { places.count }
    /// A time before which no value expires; nil if no value expires. It may be earlier than the first expiry, because
    /// the removal of a value does not change it.
    private(set) var earliestExpiry: Double?

    /// Creates an index.
    /// - Parameter entries: The values in any order.
    init(_ entries: [Entry] = []) {
        for entry in entries.sorted(by: { $0.stamp == $1.stamp ? $0.address.precedes($1.address) : $0.stamp < $1.stamp }) { put(entry) }
    }

    subscript(_ address: StorageAddress) -> Entry? { places[address].flatMap { entries[$0] } }

    /// Adds a value as the newest one, in place of the value with the same address.
    mutating func put(_ entry: Entry) {
        remove(entry.address)
        now = max(now, entry.stamp)
        bytes += entry.size
        if let expiry = entry.expiresAt { earliestExpiry = min(earliestExpiry ?? expiry, expiry) }
        let place = free.popLast() ?? entries.count
        if place == entries.count { entries.append(entry) } else { entries[place] = entry }
        places[entry.address] = place
        append(place)
    }

    /// Removes a value, if there is one.
    mutating func remove(_ address: StorageAddress) {
        guard let place = places.removeValue(forKey: address), let entry = entries[place] else { return }
        detach(entry)
        entries[place] = nil
        free.append(place)
        bytes -= entry.size
    }

    /// Makes a value the newest one.
    /// - Returns: Whether the index contains the value.
    mutating func use(_ address: StorageAddress) -> Bool {
        guard let place = places[address], let entry = entries[place] else { return false }
        now.use += 1
        detach(entry)
        entries[place]?.stamp = now
        append(place)
        return true
    }

    private mutating func append(_ place: Int) {
        entries[place]?.earlier = last
        entries[place]?.later = nil
        if let last { entries[last]?.later = place } else { first = place }
        last = place
    }

    private mutating func detach(_ entry: Entry) {
        if let earlier = entry.earlier { entries[earlier]?.later = entry.later } else { first = entry.later }
        if let later = entry.later { entries[later]?.earlier = entry.earlier } else { last = entry.earlier }
    }

    // MARK: Choosing values

    /// Returns the values to evict so that the cache is within a limit, in the order of eviction.
    /// - Parameters:
    ///   - new: The value that is stored next; nil for none. It replaces the value with its address.
    ///   - gone: Other values that are removed anyway.
    func victims(of limit: CacheLimit, for new: Entry?, besides gone: [StorageAddress]) -> [StorageAddress] {
        var excluded = Set(gone)
        if let new { excluded.insert(new.address) }
        var (bytes, count) = (bytes + (new?.size ?? 0), count + (new == nil ? 0 : 1))
        for address in excluded {
            guard let entry = self[address] else { continue }
            (bytes, count) = (bytes - entry.size, count - 1)
        }
        var victims: [StorageAddress] = []
        var next = first
        while !limit.admits(bytes: bytes, count: count), let place = next, let entry = entries[place] {
            next = entry.later
            if excluded.contains(entry.address) { continue }
            victims.append(entry.address)
            (bytes, count) = (bytes - entry.size, count - 1)
        }
        return victims
    }

    /// Returns the values that have expired, in the order of eviction.
    func expired(at time: Double) -> [StorageAddress] { inOrder { $0.expiresAt.map { $0 <= time } ?? false }.map(\.address) }

    /// Returns all addresses in the order of eviction.
    var addresses: [StorageAddress] { inOrder { _ in true }.map(\.address) }

    /// Computes ``earliestExpiry`` from all values.
    mutating func computeEarliestExpiry() { earliestExpiry = entries.lazy.compactMap { $0?.expiresAt }.min() }

    /// Returns the values that were used since they were stored, at most a given number of them: the newest ones.
    func used(_ limit: Int) -> [Entry] {
        var used: [Entry] = []
        var next = last
        while let place = next, let entry = entries[place], used.count < limit {
            if entry.stamp.use > 0 { used.append(entry) }
            next = entry.earlier
        }
        return used
    }

    private func inOrder(_ condition: (Entry) -> Bool) -> [Entry] {
        var found: [Entry] = []
        var next = first
        while let place = next, let entry = entries[place] {
            if condition(entry) { found.append(entry) }
            next = entry.later
        }
        return found
    }
}

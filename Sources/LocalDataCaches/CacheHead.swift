import BackendContract

/// The record that each commit of a cache replaces, on the condition that it is unchanged. So the commits of all
/// processes have an order, and each process detects the commits of others.
///
/// It contains the latest changes. A process that missed only these updates its index from them, without a scan.
struct CacheHead: Equatable {
    /// A change of one value.
    struct Change: Equatable {
        let commit: UInt64
        let id: String
        /// The size of the new value; nil if the value was removed.
        let size: Int?
        let expiresAt: Double?
    }

    /// Random bits that identify the store. A store that was deleted and created again has others.
    let store: UInt64
    /// The number of the last commit.
    private(set) var commit: UInt64
    /// Every commit with this number or a later one has all of its changes in the list.
    private(set) var first: UInt64
    private(set) var changes: [Change] = []

    /// The largest number of changes in the list.
    static let maximumChanges = 64

    /// Creates the head of an empty cache, or of one whose head was lost.
    /// - Parameter commit: The number of the last commit.
    init(store: UInt64, commit: UInt64 = 0) { (self.store, self.commit, first) = (store, commit, commit + 1) }

    /// Returns the head after one more commit.
    func after(_ made: [(id: String, size: Int?, expiresAt: Double?)]) -> CacheHead {
        var head = self
        head.commit += 1
        head.changes += made.map { Change(commit: head.commit, id: $0.id, size: $0.size, expiresAt: $0.expiresAt) }
        while head.changes.count > Self.maximumChanges, let oldest = head.changes.first?.commit {
            head.changes.removeAll { $0.commit == oldest }
            head.first = oldest + 1
        }
        return head
    }

    /// Returns the changes after an older head; nil if the list does not contain all of them.
    func changes(since older: CacheHead) -> [Change]? {
        guard store == older.store, commit >= older.commit, first <= older.commit + 1 else { return nil }
        return changes.filter { $0.commit > older.commit }
    }
}

extension CacheHead {
    private static let format: UInt8 = 1

    /// The stored form.
    var bytes: [UInt8] {
        var writer = ByteWriter()
        writer.byte(Self.format)
        for number in [store, commit, first, UInt64(changes.count)] { writer.fixed(number) }
        for change in changes {
            writer.fixed(change.commit)
            writer.counted(change.id.utf8)
            writer.byte((change.size == nil ? 0 : 1) | (change.expiresAt == nil ? 0 : 2))
            if let size = change.size { writer.fixed(UInt64(size)) }
            if let expiresAt = change.expiresAt { writer.fixed(expiresAt.bitPattern) }
        }
        return writer.bytes
    }

    /// Decodes the stored form.
    /// - Throws: `RecordDamage` for bytes that are no head.
    init(_ bytes: [UInt8]) throws(RecordDamage) {
        var reader = ByteReader(bytes[...])
        guard try reader.byte() == Self.format else { throw RecordDamage("has another format") }
        store = try reader.fixed(UInt64.self)
        commit = try reader.fixed(UInt64.self)
        first = try reader.fixed(UInt64.self)
        let count = try reader.fixed(UInt64.self)
        guard count <= UInt64(Self.maximumChanges), commit < .max, first <= commit + 1 else { throw RecordDamage("has wrong numbers") }
        for _ in 0..<count {
            let commit = try reader.fixed(UInt64.self)
            let id = try reader.text()
            let flags = try reader.byte()
            let size = flags & 1 == 0 ? nil : Int(exactly: try reader.fixed(UInt64.self))
            let expiresAt = flags & 2 == 0 ? nil : Double(bitPattern: try reader.fixed(UInt64.self))
            changes.append(Change(commit: commit, id: id, size: size, expiresAt: expiresAt))
        }
        guard reader.isAtEnd else { throw RecordDamage("is too long") }
    }
}

/// The stored form of the order in which values were used.
enum UseOrder {
    private static let format: UInt8 = 1
    /// The largest number of values in the order. The order of older uses is lost when the process ends.
    static let maximumCount = 4_096

    static func bytes(of entries: [CacheIndex.Entry]) -> [UInt8] {
        var writer = ByteWriter()
        writer.byte(format)
        writer.fixed(UInt32(entries.count))
        for entry in entries {
            writer.counted(entry.address.name.utf8)
            writer.fixed(entry.stamp.commit)
            writer.fixed(entry.stamp.use)
        }
        return writer.bytes
    }

    /// Decodes the stored form. Bytes that are no such form give an empty order.
    static func stamps(in bytes: [UInt8]) -> [String: UseStamp] {
        do throws(RecordDamage) {
            var reader = ByteReader(bytes[...])
            guard try reader.byte() == format else { return [:] }
            var stamps: [String: UseStamp] = [:]
            for _ in 0..<min(try reader.fixed(UInt32.self), UInt32(maximumCount)) {
                let id = try reader.text()
                stamps[id] = UseStamp(commit: try reader.fixed(UInt64.self), use: try reader.fixed(UInt64.self))
            }
            return stamps
        } catch { return [:] }
    }
}

/// What a database says of itself, sealed: how often it was changed, and which rows it has.
///
/// It is written once in each transaction. Rows that were replaced by older ones, removed or added behind the library's back do not match
/// it; an older file has an older one.
package struct CommitState: Hashable, Sendable {
    /// How many transactions were committed since the database was made.
    package var commits: Int64 = 0
    /// The rows, by their terms.
    package var rows = CountedSum()
    /// Whether a freshness anchor was recorded for the database: then a missing anchor was lost.
    package var isAnchored = false

    /// The number of bytes of a state.
    package static let length = 8 + CountedSum.length + 1

    /// The state of a new database.
    package init() {}

    /// The commits in 8 bytes, the rows, and a byte that is 1 if the database is anchored, and else 0.
    package var bytes: [UInt8] {
        withUnsafeBytes(of: commits.bigEndian) { Array($0) } + rows.bytes + [isAnchored ? 1 : 0]
    }

    /// Reads ``bytes``; nil for anything else.
    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.length, let rows = CountedSum(bytes: Array(bytes[8..<8 + CountedSum.length])), bytes[bytes.count - 1] <= 1
        else { return nil }
        commits = bytes.withUnsafeBytes { Int64(bigEndian: $0.loadUnaligned(as: Int64.self)) }
        self.rows = rows
        isAnchored = bytes[bytes.count - 1] == 1
    }
}

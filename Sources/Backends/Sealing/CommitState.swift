/// The sealed state of a database: the number of its commits, its rows, its header and its keys.
///
/// It is written once in each transaction. Rows that were replaced by older ones, removed or added behind the library's back do not match
/// it, nor do older tables of keys; an older file has an older one.
package struct CommitState: Hashable, Sendable {
    /// How many transactions were committed since the database was made.
    package var commits: Int64 = 0
    /// The rows, by their terms.
    package var rows = CountedSum()
    /// Whether a freshness anchor was recorded for the database: then a missing anchor was lost.
    package var isAnchored = false
    /// The tag of the header and of the data keys: see ``Keyset/tag(header:tables:)``.
    package var header = [UInt8](repeating: 0, count: Self.tagLength)

    private static let tagLength = 32
    /// The number of bytes of a state.
    package static let length = 8 + CountedSum.length + 1 + tagLength

    /// The state of a new database, before its header is known.
    package init() {}

    /// The state of a new database with the tag of its header.
    package init(header: [UInt8]) { self.header = header }

    /// The commits in 8 bytes, the rows, a byte that is 1 if the database is anchored and else 0, and the tag of the header.
    package var bytes: [UInt8] {
        withUnsafeBytes(of: commits.bigEndian) { Array($0) } + rows.bytes + [isAnchored ? 1 : 0] + header
    }

    /// Reads ``bytes``; nil for anything else.
    package init?(bytes: [UInt8]) {
        let flag = 8 + CountedSum.length
        guard bytes.count == Self.length, let rows = CountedSum(bytes: Array(bytes[8..<flag])), bytes[flag] <= 1 else { return nil }
        commits = bytes.withUnsafeBytes { Int64(bigEndian: $0.loadUnaligned(as: Int64.self)) }
        self.rows = rows
        isAnchored = bytes[flag] == 1
        header = Array(bytes[(flag + 1)...])
    }
}

/// A summary of a database's state: the number of its commits, a keyed sum over its rows, and a tag of its header and
/// keys. The database stores it sealed.
///
/// Each transaction writes the state once. If another program replaces rows with older ones, removes or adds rows, or
/// restores older key tables, the content does not match the state any more. An older copy of the whole file matches,
/// because it contains the older state too. Only a freshness anchor detects such a copy: it records the latest state
/// outside the file.
package struct CommitState: Hashable, Sendable {
    /// The number of transactions that were committed since the database was created.
    package var commits: Int64 = 0
    /// The number of rows and the sum of their terms. A term is a keyed hash of a row.
    package var rows = CountedSum()
    /// Whether a program with a freshness anchor has committed to the database. If so, an anchor that is empty now has
    /// lost its content.
    package var isAnchored = false
    /// The tag of the header and of the data keys, see ``Keyset/tag(header:tables:)``.
    package var header = [UInt8](repeating: 0, count: Self.tagLength)

    private static let tagLength = 32
    /// The number of bytes of a state.
    package static let length = 8 + CountedSum.length + 1 + tagLength

    /// The state of a new database, before its header is known.
    package init() {}

    /// The state of a new database with the tag of its header.
    package init(header: [UInt8]) { self.header = header }

    /// The encoded state: the number of commits in 8 bytes, the number of rows and the sum of their terms, a byte that
    /// is 1 if ``isAnchored`` is true and otherwise 0, and the tag.
    package var bytes: [UInt8] {
        withUnsafeBytes(of: commits.bigEndian) { Array($0) } + rows.bytes + [isAnchored ? 1 : 0] + header
    }

    /// Decodes a state that the property `bytes` encoded. Returns nil if the argument is not an encoded state.
    package init?(bytes: [UInt8]) {
        let flag = 8 + CountedSum.length
        guard bytes.count == Self.length, let rows = CountedSum(bytes: Array(bytes[8..<flag])), bytes[flag] <= 1 else { return nil }
        commits = bytes.withUnsafeBytes { Int64(bigEndian: $0.loadUnaligned(as: Int64.self)) }
        self.rows = rows
        isAnchored = bytes[flag] == 1
        header = Array(bytes[(flag + 1)...])
    }
}

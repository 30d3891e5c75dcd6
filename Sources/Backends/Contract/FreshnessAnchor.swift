/// Where the latest state of an encrypted database is recorded, away from the database: whoever puts back an older file does not put back
/// the anchor with it.
///
/// An anchor holds one ``FreshnessMark``, or none at first. Two programs may use it at the same time, so it is changed by comparison only.
/// Errors are ``BackendError``: a lock is `locked`, a place that cannot be reached `unavailable`. While the anchor cannot be read, the
/// database is not opened.
public protocol FreshnessAnchor: Sendable {
    /// The place in words, for errors.
    var name: String { get }

    /// The mark; nil when it is proven that there is none.
    /// - Throws: ``BackendError`` when that cannot be known, and `corrupted` for something that is not a mark.
    func load() async throws(BackendError) -> FreshnessMark?

    /// Replaces the mark in one step, durably, if it still is the one that is known.
    /// - Parameters:
    ///   - mark: The new mark.
    ///   - known: The mark that it replaces; nil if there was none.
    /// - Returns: False if the anchor holds another mark by now; nothing was changed then.
    /// - Throws: ``BackendError``.
    func store(_ mark: FreshnessMark, replacing known: FreshnessMark?) async throws(BackendError) -> Bool

    /// Unlocks the place, which may open a prompt. Does nothing unless the anchor says otherwise.
    /// - Throws: ``BackendError``.
    func unlock() async throws(BackendError)
}

extension FreshnessAnchor {
    /// Does nothing: the place cannot be locked.
    public func unlock() async throws(BackendError) {}
}

/// What an anchor records of a database: which one, how many transactions were committed, and a keyed digest of its state then. It says
/// nothing about the content.
public struct FreshnessMark: Hashable, Sendable, CustomStringConvertible {
    /// The database's id, 16 bytes.
    public let database: [UInt8]
    /// The number of committed transactions.
    public let commits: Int64
    /// The digest of the state, 32 bytes.
    public let digest: [UInt8]

    /// Creates a mark.
    public init(database: [UInt8], commits: Int64, digest: [UInt8]) {
        (self.database, self.commits, self.digest) = (database, commits, digest)
    }

    /// One line of text: `LocalData-freshness-1`, the database's id, the number of commits in decimal and the digest, with a space between
    /// them; bytes in hexadecimal.
    public var text: String {
        "LocalData-freshness-1 \(hexadecimalText(of: database)) \(commits) \(hexadecimalText(of: digest))"
    }

    /// Reads ``text``, with or without a newline at its end; nil for anything else.
    public init?(text: String) {
        let line = text.hasSuffix("\n") ? text.dropLast() : text[...]
        let parts = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 4, parts[0] == "LocalData-freshness-1", let database = bytes(ofHexadecimal: parts[1]), database.count == 16,
            let commits = Int64(parts[2]), commits >= 0, let digest = bytes(ofHexadecimal: parts[3]), digest.count == 32
        else { return nil }
        self.init(database: database, commits: commits, digest: digest)
    }

    /// ``text``.
    public var description: String { text }
}

extension BackendError.Code {
    /// A database is older than its freshness anchor, or not the one that the anchor knows.
    package static let rolledBack = BackendError.Code("rolledBack")
}

/// A place outside an encrypted database that holds a description of its latest state. An older database file that was
/// restored does not match the anchor, so the restore is detected.
///
/// ```swift
/// actor MemoryAnchor: FreshnessAnchor {
///     private var mark: FreshnessMark?
///     nonisolated let name = "anchor in memory"
///
///     func load() throws(BackendError) -> FreshnessMark? { mark }
///     func store(_ mark: FreshnessMark, replacing known: FreshnessMark?) throws(BackendError) -> Bool {
///         guard self.mark == known else { return false }  // another process was faster
///         self.mark = mark
///         return true
///     }
/// }
/// ```
///
/// An anchor holds one mark (``FreshnessMark``), which describes the latest state. At first it holds no mark. Two
/// processes may use an anchor at the same time, so every change is a compare-and-swap.
///
/// The methods throw ``BackendError``: `locked` for a locked anchor, `unavailable` for an anchor that cannot be
/// reached. While the anchor cannot be read, the database is not opened.
public protocol FreshnessAnchor: Sendable {
    /// The name of the anchor, for error messages.
    var name: String { get }

    /// Reads the mark.
    /// - Returns: The mark; nil only if the anchor was read and is empty.
    /// - Throws: ``BackendError`` when the anchor cannot be read. The code is `corrupted` if its content is not a mark.
    func load() async throws(BackendError) -> FreshnessMark?

    /// Replaces the mark atomically if the anchor still holds the expected one. The new mark is durable when the call returns.
    /// - Parameters:
    ///   - mark: The new mark.
    ///   - known: The expected current mark; nil if the anchor is expected to be empty.
    /// - Returns: False, without a change, if the anchor holds another mark.
    /// - Throws: ``BackendError``.
    func store(_ mark: FreshnessMark, replacing known: FreshnessMark?) async throws(BackendError) -> Bool

    /// Unlocks the anchor, which may open a prompt. The default implementation does nothing.
    /// - Throws: ``BackendError``.
    func unlock() async throws(BackendError)
}

extension FreshnessAnchor {
    /// Does nothing: the default for an anchor that cannot be locked.
    public func unlock() async throws(BackendError) {}
}

/// The state of a database, as an anchor stores it: the database's id, the number of commits and a keyed digest.
///
/// The mark reveals nothing about the content.
///
/// ```swift
/// guard let mark = try await anchor.load() else { return print("The anchor is empty.") }
/// print("\(mark.commits) commits")
/// print(FreshnessMark(text: mark.text) == mark)  // true: an anchor can store the text
/// ```
public struct FreshnessMark: Hashable, Sendable, CustomStringConvertible {
    /// The id of the database, 16 bytes.
    public let database: [UInt8]
    /// The number of committed transactions.
    public let commits: Int64
    /// The keyed digest of the state after these commits, 32 bytes.
    public let digest: [UInt8]

    /// Creates a mark.
    public init(database: [UInt8], commits: Int64, digest: [UInt8]) {
        (self.database, self.commits, self.digest) = (database, commits, digest)
    }

    /// The mark as one line of text, separated by spaces: `LocalData-freshness-1`, the database id, the number of commits in decimal, and
    /// the digest. The id and the digest are hexadecimal.
    public var text: String {
        "LocalData-freshness-1 \(hexadecimalText(of: database)) \(commits) \(hexadecimalText(of: digest))"
    }

    /// Parses ``text``, with or without a newline at its end. Returns nil for any other text.
    public init?(text: String) {
        let line = text.hasSuffix("\n") ? text.dropLast() : text[...]
        let parts = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 4, parts[0] == "LocalData-freshness-1", let database = bytes(ofHexadecimal: parts[1]), database.count == 16,
            let commits = Int64(parts[2]), commits >= 0, let digest = bytes(ofHexadecimal: parts[3]), digest.count == 32
        else { return nil }
        self.init(database: database, commits: commits, digest: digest)
    }

    /// Equals ``text``.
    public var description: String { text }
}

extension BackendError.Code {
    /// The code for a database file that is older than the state in its freshness anchor, or that is another database.
    package static let rolledBack = BackendError.Code("rolledBack")
}

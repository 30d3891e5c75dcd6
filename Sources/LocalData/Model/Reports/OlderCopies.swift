/// The older copies of a value or of a collection's records that still exist, and the locations that cannot be read.
///
/// The library searches every location that the migrations of the key or collection read, and every location that the
/// migrations of those locations read. Use the answer to decide whether a migration can be deleted from the program.
///
/// ```swift
/// for row in audit.rows {
///     switch row.olderCopies.answer {
///     case .none: print("\(row.key) has no older copy.")
///     case .some: print("\(row.key) has \(row.olderCopies.count) older copies: \(row.olderCopies.holding)")
///     case .cannotTell: print("\(row.key): read these locations first: \(row.olderCopies.unreadable)")
///     }
/// }
/// ```
public struct OlderCopies: Sendable, Codable, Hashable {
    /// The answer to the question whether older copies exist.
    public enum Answer: String, Sendable, Codable {
        /// Proven: every location is empty, or contains only a tombstone (the record of a removal).
        case none
        /// At least one location contains a value.
        case some
        /// No value was found, but at least one location cannot be read.
        case cannotTell
    }

    /// The number of values in each location that contains any. Damaged values count.
    public var holding: [String: Int]
    /// The locations that cannot be read now, with the reasons.
    public var unreadable: [String: String]

    /// Creates a result from its parts.
    public init(holding: [String: Int] = [:], unreadable: [String: String] = [:]) {
        self.holding = holding
        self.unreadable = unreadable
    }

    /// Whether older copies exist.
    public var answer: Answer { holding.isEmpty ? (unreadable.isEmpty ? .none : .cannotTell) : .some }

    /// The number of values that were found.
    public var count: Int { holding.values.reduce(0, +) }
}

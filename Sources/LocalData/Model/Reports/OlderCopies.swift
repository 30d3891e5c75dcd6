/// What is known of the older copies of a value or of a collection's records: the answer of a look at every place that their migrations read, through the migrations of those
/// places too.
public struct OlderCopies: Sendable, Codable, Hashable {
    /// What a look can answer.
    public enum Answer: String, Sendable, Codable {
        /// Proven: every place is empty, or holds the mark of a removal.
        case none
        /// Refuted: a place holds something.
        case some
        /// No place is known to hold anything, and one of them cannot be read.
        case cannotTell
    }

    /// The places that hold something, and how many values: damaged bytes count.
    public var holding: [String: Int]
    /// The places that cannot be read now, with the reasons.
    public var unreadable: [String: String]

    /// Creates an answer.
    public init(holding: [String: Int] = [:], unreadable: [String: String] = [:]) {
        self.holding = holding
        self.unreadable = unreadable
    }

    /// The answer.
    public var answer: Answer { holding.isEmpty ? (unreadable.isEmpty ? .none : .cannotTell) : .some }

    /// How many values are known to be there.
    public var count: Int { holding.values.reduce(0, +) }
}

/// A law that a backend broke. It never contains a value or a part of one, only kinds and sizes.
public struct LawViolation: Error, Hashable, Sendable, CustomStringConvertible {
    /// The law's name.
    public var law: String
    /// What the law demands.
    public var expected: String
    /// What happened instead.
    public var found: String

    /// Creates a violation; the law that is being checked fills in its own name.
    public init(law: String = "", expected: String, found: String) {
        self.law = law
        self.expected = expected
        self.found = found
    }

    /// The law, what it demands and what happened, in one sentence.
    public var description: String { "The law \"\(law)\" is broken: expected \(expected); found \(found)." }
}

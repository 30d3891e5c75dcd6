/// The error of a backend that breaks a law, a rule that every backend must keep.
///
/// The error states the kinds and sizes of values, and never contains a part of a value.
///
/// ```swift
/// do { try await BackendLaw.all[0].verify(on: bench) } catch let violation as LawViolation {
///     print(violation.law, violation.expected, violation.found)
/// }
/// ```
public struct LawViolation: Error, Hashable, Sendable, CustomStringConvertible {
    /// The name of the law.
    public var law: String
    /// The expected behaviour.
    public var expected: String
    /// The observed behaviour.
    public var found: String

    /// Creates a violation. ``BackendLaw/verify(on:)`` sets the name of the law.
    public init(law: String = "", expected: String, found: String) {
        self.law = law
        self.expected = expected
        self.found = found
    }

    /// The law, the expected behaviour and the observed behaviour in one sentence.
    public var description: String { "The law \"\(law)\" is broken: expected \(expected); found \(found)." }
}

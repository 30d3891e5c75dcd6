public import Foundation

/// A value that was replaced before anybody saw it, kept until a person decides.
public struct QuarantinedValue: Sendable, Codable, Identifiable {
    /// The name of the entry: it follows from the content, so that keeping the same bytes again changes nothing.
    public let id: String
    /// The name of the key; empty for a copy of a whole file, and for an entry that is damaged.
    public let key: String
    /// Where the value stood; empty for an entry that is damaged.
    public let place: String
    /// Why it is here.
    public let reason: String
    /// Whether it is sealed here, as it was better protected than a plain file where it stood.
    public let isSealed: Bool
    /// When it was put here; nil for an entry that is damaged: it does not say.
    public let since: Date?
}

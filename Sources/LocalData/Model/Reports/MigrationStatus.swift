public import Foundation

/// Whether a migration is still needed: what has to be known before its code is removed from a program.
public struct MigrationStatus: Sendable, Hashable, Codable {
    /// The migration's name in the ledger.
    public let id: String
    /// The key or collection that it brings values to.
    public let key: String
    /// When it last did something on this machine; nil if it never did.
    public let lastWorked: Date?
    /// How often it ran on this machine, and how it last failed; nil if the ledger knows nothing of it.
    public let history: MigrationHistory.Migration?
    /// What the places hold that it reads, and the places that these are filled from.
    public let evidence: OlderCopies

    /// How many values on this machine it would have to bring over now: those that are known to be there.
    public var pending: Int { evidence.count }

    /// Whether it is proven that nothing on this machine waits for it: each place that it reads, and each place that those are filled from, was read and is empty. A damaged value counts,
    /// and so does a place that cannot be read. Other machines are not known here.
    public var isSafeToDelete: Bool { evidence.answer == .none }
}

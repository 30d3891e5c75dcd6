public import Foundation

/// Whether a migration is still needed: what has to be known before its code is removed from a program.
public struct MigrationStatus: Sendable, Hashable {
    /// The migration's name in the ledger.
    public let id: String
    /// The key or collection that it brings values to.
    public let key: String
    /// When it last did something on this machine; nil if it never did.
    public let lastWorked: Date?
    /// How many values on this machine it would have to bring over now.
    public let pending: Int

    /// Whether nothing on this machine waits for it. Other machines are not known here.
    public var isSafeToDelete: Bool { pending == 0 }
}

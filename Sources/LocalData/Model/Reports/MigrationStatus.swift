public import Foundation

/// Says whether a migration is still needed on this machine. Check it before you delete the migration's code.
///
/// ```swift
/// for migration in try await storage.migrations() {
///     print(migration.id, migration.lastWorked.map { "last worked \($0)" } ?? "never worked", "\(migration.pending) values wait")
///     if migration.isSafeToDelete { print("No value on this machine needs it any more.") }
/// }
/// ```
///
/// Other machines are not considered. Collect the answers of many machines, or keep the code for as long as you support
/// the old release.
public struct MigrationStatus: Sendable, Hashable, Codable {
    /// The migration's name in the migration ledger, which records the migrations on this machine.
    public let id: String
    /// The key or collection that is the destination of the migration.
    public let key: String
    /// The time of the last run that changed something on this machine; nil if there is none.
    public let lastWorked: Date?
    /// The history of the migration on this machine; nil if the ledger has no entry for it.
    public let history: MigrationHistory.Migration?
    /// The values that still exist in the sources of the migration. If a source has migrations too, their sources are
    /// included.
    public let evidence: OlderCopies

    /// The number of values on this machine that wait for the migration, as far as they could be read.
    public var pending: Int { evidence.count }

    /// Whether the migration is proven to be unnecessary on this machine. Each source that ``evidence`` covers must
    /// have been read, and must contain no value.
    ///
    /// A damaged value and an unreadable location count as values. Other machines are not considered.
    public var isSafeToDelete: Bool { evidence.answer == .none }
}

/// The result of one run of a migration: whether it succeeded, and the locations that the value was moved from.
///
/// The router returns it for a forced migration. A custom migration (``StorageMigration``) returns it too.
///
/// ```swift
/// let result = try await storage.forceMigration(for: .city)
/// guard result.isSuccess else { return print(result.errors) }
/// print("\(result.key ?? "") was moved from \(result.sources), in \(result.duration)")
/// ```
public struct MigrationResult: Sendable {
    /// Whether the migration succeeded. A run that had nothing to do succeeds.
    public var isSuccess: Bool
    /// The destination's name.
    public var key: String?
    /// The locations that the value was moved from; empty when nothing was moved.
    public var sources: [StoragePlace]
    /// The state of the value after the run; nil for a migration that the program implements.
    public var state: MigrationReport.State?
    /// The number of records of a collection that were moved or converted, or whose conflicts were resolved; nil for a
    /// single value.
    public var records: Int?
    /// The stored size of the value in bytes.
    public var bytes: Int
    /// The duration of the run.
    public var duration: Duration
    /// The errors of the run.
    public var errors: [any Error]
    /// Further details for people.
    public var metadata: [String: String]

    /// Creates a result.
    public init(
        success: Bool, key: String? = nil, sources: [StoragePlace] = [], state: MigrationReport.State? = nil, records: Int? = nil,
        bytes: Int = 0,
        duration: Duration = .zero, errors: [any Error] = [],
        metadata: [String: String] = [:]
    ) {
        isSuccess = success
        (self.key, self.sources, self.state, self.records, self.bytes) = (key, sources, state, records, bytes)
        (self.duration, self.errors, self.metadata) = (duration, errors, metadata)
    }
}

/// What one run of one migration did.
public struct MigrationResult: Sendable {
    /// Whether the migration did what it should; having had nothing to do counts.
    public var isSuccess: Bool
    /// The destination's name.
    public var key: String?
    /// Where the value came from; empty when nothing was moved.
    public var sources: [StoragePlace]
    /// What became of the value; nil for a migration of the program's own.
    public var state: MigrationReport.State?
    /// How many records of a collection were moved, converted or decided; nil for a single value.
    public var records: Int?
    /// The size of the value in bytes, as it is stored.
    public var bytes: Int
    /// How long the run took.
    public var duration: Duration
    /// What went wrong.
    public var errors: [any Error]
    /// Further facts, for people.
    public var metadata: [String: String]

    /// Creates a result.
    public init(
        success: Bool, key: String? = nil, sources: [StoragePlace] = [], state: MigrationReport.State? = nil, records: Int? = nil,
        bytes: Int = 0,
        duration: Duration = .zero, errors: [any Error] = [],
        metadata: [String: String] = [:]
    ) {
        isSuccess = success
        self.key = key
        self.sources = sources
        self.state = state
        self.records = records
        self.bytes = bytes
        self.duration = duration
        self.errors = errors
        self.metadata = metadata
    }
}

/// What one run of one migration did.
public struct MigrationResult: Sendable {
    /// Whether the migration did what it should; having had nothing to do counts.
    public var success: Bool
    /// The destination's name.
    public var key: String?
    /// Where the value came from; nil when nothing was moved.
    public var source: String?
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
        success: Bool, key: String? = nil, source: String? = nil, bytes: Int = 0, duration: Duration = .zero, errors: [any Error] = [],
        metadata: [String: String] = [:]
    ) {
        self.success = success
        self.key = key
        self.source = source
        self.bytes = bytes
        self.duration = duration
        self.errors = errors
        self.metadata = metadata
    }
}

/// What a migration may do beyond the safe default.
public struct MigrationOptions: Hashable, Sendable {
    /// What to do when a source cannot be reached.
    public enum UnavailableSource: Hashable, Sendable {
        /// Fail: a lower-priority source is never used in its place.
        case fail
        /// Go on as if it were absent.
        case skip
    }

    /// What to do when a source cannot be reached. A *locked* source always fails.
    public var whenSourceUnavailable: UnavailableSource
    /// Whether the value may go to a place that protects it less, or keeps it shorter, than where it is.
    public var allowsWeakerProtection: Bool
    /// Whether bytes that are replaced in their own slot are quarantined first.
    public var keepsReplacedBytes: Bool
    /// Whether a source that protects the value less than its new place does is kept up to date all the same, while the migration has a ``ReleaseWindow``. Plan, report and audit
    /// name the weaker copy.
    public var keepsWeakerCopy: Bool
    /// Whether a source is kept up to date also in a store that holds bare values, such as a keyring in another program's style. What an earlier release writes there is known by its
    /// content then: a write of the content that stands there already is not seen.
    public var comparesByContent: Bool

    /// Creates options; everything that is not given is the safe default.
    public init(
        whenSourceUnavailable: UnavailableSource = .fail, allowsWeakerProtection: Bool = false, keepsReplacedBytes: Bool = false,
        keepsWeakerCopy: Bool = false, comparesByContent: Bool = false
    ) {
        self.whenSourceUnavailable = whenSourceUnavailable
        self.allowsWeakerProtection = allowsWeakerProtection
        self.keepsReplacedBytes = keepsReplacedBytes
        self.keepsWeakerCopy = keepsWeakerCopy
        self.comparesByContent = comparesByContent
    }
}

/// What happens when a legacy location holds something else than the destination. Applied by a sweep or a forced migration, never by a read.
public enum ConflictPolicy<Value: Sendable>: Sendable {
    /// The destination stays; what the legacy location holds is quarantined.
    case destinationWins
    /// The legacy location's value replaces the destination's, which is quarantined.
    /// While a legacy location is locked or unavailable, changes of the value are refused: what it holds would undo them.
    case sourceWins
    /// A closure decides: it is given the destination's value (nil after a removal) and the legacy location's, and returns what the destination is to
    /// hold; nil removes it. Both are quarantined before anything is replaced.
    case merge(@Sendable (_ destination: Value?, _ source: Value) throws -> Value?)
}

/// The options of a migration. Each default is the safe choice.
public struct MigrationOptions: Hashable, Sendable {
    /// The reaction if a source cannot be reached. A source is a location from which the migration takes the value.
    public enum UnavailableSource: Hashable, Sendable {
        /// Throws the error. The router never uses a source of lower priority instead.
        case fail
        /// Treats the source as absent.
        case skip
    }

    /// The reaction to a source that cannot be reached. A *locked* source always throws an error.
    public var whenSourceUnavailable: UnavailableSource
    /// Whether the value may be moved to a store with weaker protection, or with weaker durability, than its source.
    public var allowsWeakerProtection: Bool
    /// Whether the old bytes are quarantined when a transformation replaces a value in the key's own slot.
    public var keepsReplacedBytes: Bool
    /// Whether a ``ReleaseWindow`` may keep a source up to date that protects the value less than the destination does.
    /// Plans, reports and audits list the weaker copy.
    public var keepsWeakerCopy: Bool
    /// Whether a ``ReleaseWindow`` may keep a source up to date in a store without metadata, such as a keyring in
    /// another program's style.
    ///
    /// The router then identifies the values of an earlier release by their content. If an earlier release writes the
    /// same content again, the router does not detect it.
    public var comparesByContent: Bool

    /// Creates options. Each omitted option has the safe default.
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

/// The policy for a legacy location whose value differs from that of the destination. A sweep or a forced migration
/// applies it; a read never does.
public enum ConflictPolicy<Value: Sendable>: Sendable {
    /// The destination keeps its value. The value of the legacy location is quarantined.
    case destinationWins
    /// The value of the legacy location replaces the value of the destination, which is quarantined.
    ///
    /// While a legacy location is locked or unavailable, the router refuses changes of the value. Otherwise the legacy
    /// location's value would replace them later.
    case sourceWins
    /// A closure returns the value of the destination, or nil to remove it. It receives the value of the destination
    /// (nil after a removal) and that of the legacy location. Both values are quarantined before anything is replaced.
    case merge(@Sendable (_ destination: Value?, _ source: Value) throws -> Value?)
}

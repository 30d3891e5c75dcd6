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
    /// Whether a transformation of the value in the key's own slot keeps the old bytes. They are kept in the
    /// quarantine, until a person decides about them.
    public var keepsReplacedBytes: Bool
    /// Whether a ``ReleaseWindow`` may keep a copy of the value in a source with less protection than the destination.
    /// Plans, reports and audits list this copy.
    public var keepsWeakerCopy: Bool
    /// Whether a ``ReleaseWindow`` may keep a copy of the value in a source without metadata, such as keyring items in
    /// the format of another program.
    ///
    /// The router then identifies the values of an earlier release by their content. If an earlier release writes the
    /// same content again, the router does not detect it.
    public var comparesByContent: Bool

    /// Creates options. Each omitted option has the safe default.
    public init(
        whenSourceUnavailable: UnavailableSource = .fail, allowsWeakerProtection: Bool = false, keepsReplacedBytes: Bool = false,
        keepsWeakerCopy: Bool = false, comparesByContent: Bool = false
    ) {
        (self.whenSourceUnavailable, self.allowsWeakerProtection) = (whenSourceUnavailable, allowsWeakerProtection)
        (self.keepsReplacedBytes, self.keepsWeakerCopy) = (keepsReplacedBytes, keepsWeakerCopy)
        self.comparesByContent = comparesByContent
    }
}

/// The policy for a legacy location whose value differs from the value of the destination. Earlier versions of the
/// program stored the value in the legacy location. A sweep of all keys, or a forced migration of one key, applies the
/// policy. A read never does.
public enum ConflictPolicy<Value: Sendable>: Sendable {
    /// The destination keeps its value. The value of the legacy location is moved to the quarantine.
    case destinationWins
    /// The value of the legacy location replaces the value of the destination. The replaced value is kept in the
    /// quarantine.
    ///
    /// While a legacy location is locked or unavailable, the router refuses changes of the value. Otherwise the value
    /// of the legacy location would replace the changed value later.
    case sourceWins
    /// A closure returns the new value of the destination, or nil to remove it. It receives the value of the
    /// destination (nil after a removal) and the value of the legacy location. Both values are quarantined before
    /// anything is replaced.
    case merge(@Sendable (_ destination: Value?, _ source: Value) throws -> Value?)
}

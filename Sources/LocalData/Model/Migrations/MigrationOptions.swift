/// The options of one migration. Each default is the safe choice.
///
/// Set an option only if a migration is refused without it and the loss that the option allows is acceptable.
///
/// ```swift
/// let keyring: StorageKey<String> = StorageKeyGroup(owner: "Weather", domain: .keychain).key("page", "The last page, in version 1")
/// let page: StorageKey<String> = settings.key("page", "The last page")
///     .moved(from: keyring, options: MigrationOptions(whenSourceUnavailable: .skip, allowsWeakerProtection: true))
/// // Without the second option, `get` throws weakerProtection, and the value stays in the keyring.
/// ```
public struct MigrationOptions: Hashable, Sendable {
    /// The reaction if a source cannot be reached. A source is a location from which the migration takes the value.
    ///
    /// ```swift
    /// let options = MigrationOptions(whenSourceUnavailable: .skip)  // a source that cannot be reached counts as absent
    /// ```
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

/// The rule for a legacy location whose value differs from the value of the destination.
///
/// Such a conflict occurs if an earlier version of the program ran again and stored another value in the legacy
/// location. A value that was there before the program changed the key is no conflict: the change has replaced it. A
/// sweep of all keys, or a forced migration of one key, applies the policy. A read never does. The default is
/// ``destinationWins``.
///
/// ```swift
/// let recent: StorageKey<[String]> = settings.key("recent", "The cities that were shown last")
///     .moved(from: older.key("recent", "The cities, in version 1"))
///     .resolvingConflicts(.merge { mine, older in (mine ?? []) + older.filter { !(mine ?? []).contains($0) } })
/// ```
///
/// If a merge throws, the sweep reports the key as failed, and both values stay.
public enum ConflictPolicy<Value: Sendable>: Sendable {
    /// The destination keeps its value. The value of the legacy location is moved to the quarantine.
    case destinationWins
    /// The value of the legacy location replaces the value of the destination. The replaced value is kept in the
    /// quarantine. The new value keeps its time of expiry. If it has none, it expires when the replaced value would have.
    ///
    /// While a legacy location is locked or unavailable, the router refuses changes of the value. Otherwise the value
    /// of the legacy location would replace the changed value later.
    case sourceWins
    /// A closure returns the new value of the destination, or nil to remove it. It receives the value of the
    /// destination (nil after a removal) and the value of the legacy location. Both values are quarantined before
    /// anything is replaced. The new value expires when the first of the two would have expired.
    case merge(@Sendable (_ destination: Value?, _ source: Value) throws -> Value?)
}

import LocalData

/// What a rotation of a source's key has done, and what it could not do.
public struct KeyRotationReport: Hashable, Sendable {
    /// How many databases were given to the new key.
    public let databases: Int
    /// How many values, removals and quarantined values were sealed again.
    public let values: Int
    /// How many older keys the source keeps, for what is sealed with them.
    public let olderKeys: Int
    /// What is still sealed with an older key, or could not be looked at, and why. The next call tries it again.
    public let remaining: [String]

    init(_ outcome: KeyRotation.Outcome) {
        (databases, values) = (outcome.databases, outcome.values)
        (olderKeys, remaining) = (outcome.olderKeys, outcome.remaining)
    }

    /// Whether everything that the registered catalogs lead to is sealed with the new key.
    public var isComplete: Bool { remaining.isEmpty }
}

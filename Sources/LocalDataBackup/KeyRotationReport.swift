/// What a rotation of a source's key has done, and what it could not do.
public struct KeyRotationReport: Hashable, Sendable {
    /// How many databases were given to the new key.
    public internal(set) var databases = 0
    /// How many values, removals and quarantined values were sealed again.
    public internal(set) var values = 0
    /// How many older keys the source keeps, for what is sealed with them.
    public let olderKeys: Int
    /// What is still sealed with an older key, or could not be looked at, and why. The next call tries it again.
    public internal(set) var remaining: [String] = []

    init(olderKeys: Int) { self.olderKeys = olderKeys }

    /// Whether everything that the registered catalogs lead to is sealed with the new key.
    public var isComplete: Bool { remaining.isEmpty }
}

/// How a value comes to its place: one of the ways that a key can declare.
package enum ValueKind: String, Label {
    /// From a property list into a database.
    case simple
    /// The same, over a place between, which an older version of the program uses.
    case chain
    /// From another shape.
    case transforming
    /// From another shape, in the same slot.
    case inPlace
    /// Of two values.
    case merging
    /// Only from a version on.
    case conditional
    /// By a migration of one's own, with the means that the library gives.
    case custom
    /// By a migration of one's own that reads, sets and removes.
    case byHand
    /// Two keys from one older place.
    case shared
    /// From one of two places, in order of preference.
    case several
    /// From a place that protects it better, which is refused.
    case weaker
    /// Into the keyring, whose items are each a file.
    case keyring
    /// Into a property list, sealed.
    case sealed

    /// Whether the key's place is in a store whose new items a power cut can tear.
    var tears: Bool { [.inPlace, .conditional, .several, .keyring].contains(self) }

    /// The rules for conflicts that are tried.
    var policies: [Policy] {
        switch self {
        case .simple, .transforming, .several, .keyring, .sealed: [.destinationWins, .destinationWins, .sourceWins, .merge]
        default: [.destinationWins]
        }
    }
}

/// The rule for conflicts of a key.
package enum Policy: String, Label { case destinationWins, sourceWins, merge }

/// A kind of migration that a key can declare.
package enum ValueKind: String, Label {
    /// From a property list into a database.
    case simple
    /// From a property list into a database, over an intermediate location that an older version of the program uses.
    case chain
    /// From a value of another type.
    case transforming
    /// From a value of another type in the same slot.
    case inPlace
    /// From two values, which are merged.
    case merging
    /// A migration with a condition: it applies only in newer versions of the program.
    case conditional
    /// By a custom migration that moves the value with a function of the library.
    case custom
    /// By a custom migration that reads, sets and removes with separate calls.
    case byHand
    /// Two keys that take their values from the same legacy location.
    case shared
    /// From the first of two legacy locations that has a value.
    case several
    /// From a location with better protection. The library refuses this.
    case weaker
    /// Into the keyring, which saves each item as a separate file.
    case keyring
    /// Into a sealed value of a property list.
    case sealed

    /// Whether the key's slot may be in a store in which a power cut can leave a new item incomplete.
    var tears: Bool { [.inPlace, .conditional, .several, .keyring].contains(self) }

    /// The conflict policies that are tried. A policy that occurs twice is drawn more often.
    var policies: [Policy] {
        switch self {
        case .simple, .transforming, .several, .keyring, .sealed: [.destinationWins, .destinationWins, .sourceWins, .merge]
        default: [.destinationWins]
        }
    }
}

/// The conflict policy of a key. It chooses between a value in the destination and another value in a legacy location.
package enum Policy: String, Label { case destinationWins, sourceWins, merge }

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
    /// From a location with better protection, with the option that allows this.
    case lowered
    /// From a keyring that other programs write to, into a property list, with the option that allows less protection.
    case loweredForeign

    /// Whether the key's slot may be in a store in which a power cut can leave a new item incomplete.
    var tears: Bool { [.inPlace, .conditional, .several, .keyring].contains(self) }

    /// Whether the migration may store a value with less protection than its legacy location had. Such a kind is drawn as a
    /// variant of ``weaker``, so that a seed of another kind keeps it.
    var allowsWeakerProtection: Bool { self == .lowered || self == .loweredForeign }

    /// The conflict policies that are tried. A policy that occurs twice is drawn more often.
    var policies: [Policy] {
        switch self {
        case .simple, .transforming, .several, .keyring, .sealed: [.destinationWins, .destinationWins, .sourceWins, .merge]
        case .lowered, .loweredForeign: [.destinationWins, .sourceWins, .sourceWins, .merge]
        default: [.destinationWins]
        }
    }
}

/// The conflict policy of a key. It chooses between a value in the destination and another value in a legacy location.
package enum Policy: String, Label { case destinationWins, sourceWins, merge }

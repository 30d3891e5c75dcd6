/// How programs of several versions come after each other.
package enum WindowKind: String, Label {
    /// Programs of version 2, and of version 1, one after the other and at once; others that know nothing of LocalData, too.
    case window
    /// Version 1 and version 2 by turns, each alone.
    case downgrade
    /// Programs of both versions at once, all of them writing; perhaps one that ends the window meanwhile.
    case rolling
}

/// The stores between which a value moves, the older place first, and its shapes.
package enum WindowStores: String, Label {
    case listToDatabase, listToList, listToRing, databaseToDatabase, ringToRing
    /// A whole number that becomes a record of one text.
    case numbers
    /// A text that becomes a record of two, of which version 1 knows one.
    case enriched
    /// The records of a collection, in a list and in a database.
    case records

    /// The rules for conflicts that are tried.
    var policies: [Policy] {
        switch self {
        case .numbers: [.destinationWins, .sourceWins]
        case .enriched: [.destinationWins]
        default: [.destinationWins, .destinationWins, .sourceWins, .merge]
        }
    }

    /// Whether programs that know nothing of LocalData can write the older place.
    var isShared: Bool { ![.databaseToDatabase, .ringToRing, .records].contains(self) }

    /// Whether nothing of a value may be seen in the plain: elsewhere, the older place is kept in the plain on purpose.
    var isSecret: Bool { [.databaseToDatabase, .ringToRing].contains(self) }
}

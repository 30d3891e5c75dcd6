/// The order in which programs of several versions run while a value moves.
package enum WindowKind: String, Label {
    /// Programs of versions 1 to 3, one after the other or at the same time, and programs that do not use LocalData.
    case window
    /// Programs of version 1 and version 2 alternately, each alone.
    case downgrade
    /// Programs of versions 1 and 2 at the same time, in some runs with version 3, which ends the release window.
    case rolling

    /// Whether each program runs alone.
    var isByTurns: Bool { self == .downgrade }

    /// The versions of the programs of each round.
    /// - Parameter draw: Returns a random number below a bound.
    func versions(_ draw: (Int) -> Int) -> [[Int]] {
        func pick<T>(_ all: [T]) -> T { all[draw(all.count)] }
        switch self {
        case .window: return (0..<(1 + draw(3))).map { _ in pick([[2], [1], [2, 1], [2, 1], [2, 2], [2, 3]]) }
        case .downgrade: return (0..<(2 + draw(4))).map { [$0 % 2 + 1] }
        case .rolling: return [[1, 2, pick([1, 2, 2, 3])] + (draw(3) == 0 ? [pick([1, 2])] : [])]
        }
    }
}

/// The two stores between which a value moves, the legacy one first.
package enum WindowStores: String, Label {
    case listToDatabase, listToList, listToRing, databaseToDatabase, ringToRing
    /// In version 1 a whole number, and later a record with one text.
    case numbers
    /// In version 1 a text, and later a record with two texts. Version 1 knows only the first one.
    case enriched
    /// The records of a collection, which move from a property list into a database.
    case records

    /// The conflict policies that are tried. A policy that occurs twice is drawn more often.
    var policies: [Policy] {
        switch self {
        case .numbers: [.destinationWins, .sourceWins]
        case .enriched: [.destinationWins]
        default: [.destinationWins, .destinationWins, .sourceWins, .merge]
        }
    }

    /// Whether programs without LocalData can write the legacy location.
    var isShared: Bool { [.listToDatabase, .listToList, .listToRing, .numbers, .enriched].contains(self) }

    /// Whether no store may hold a value in plaintext. Other runs keep a plaintext legacy location on purpose.
    var isSecret: Bool { [.databaseToDatabase, .ringToRing].contains(self) }
}

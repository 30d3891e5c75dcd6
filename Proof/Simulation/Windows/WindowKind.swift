/// How programs of several versions come after each other, and what a version changes: the place of a value, or its shape in the same slot.
package enum WindowKind: String, Label {
    // MARK: A value that moves to another place

    /// Programs of version 1 and 2, in turn and at once, and programs that do not use LocalData.
    case window
    /// Version 1 and version 2 by turns, each alone.
    case downgrade
    /// Programs of both versions write at once; in some runs one of them ends the window.
    case rolling

    // MARK: A value that changes its shape in one slot

    /// Version 1 and version 2 by turns, each alone.
    case downgradeInPlace
    /// Programs of both versions at once, all of them writing.
    case rollingInPlace
    /// Programs of versions 1, 2 and 3 at once; version 3 keeps the shapes of both others.
    case thirdInPlace
    /// Programs of all versions at once; for version 3 the window is over, or it has dropped the window.
    case endingInPlace

    /// Whether the value changes its shape in one slot.
    var isInPlace: Bool {
        switch self {
        case .window, .downgrade, .rolling: false
        case .downgradeInPlace, .rollingInPlace, .thirdInPlace, .endingInPlace: true
        }
    }

    /// Whether each program runs alone.
    var isByTurns: Bool { self == .downgrade || self == .downgradeInPlace }

    var stores: [WindowStores] { WindowStores.allCases.filter { $0.isInPlace == isInPlace } }

    /// The versions of the programs of each round.
    /// - Parameter draw: Gives a number below a bound.
    func versions(_ draw: (Int) -> Int) -> [[Int]] {
        func pick<T>(_ all: [T]) -> T { all[draw(all.count)] }
        func rounds(_ all: [[Int]], most: Int = 2) -> [[Int]] { (0..<(1 + draw(most))).map { _ in pick(all) } }
        switch self {
        case .window: return rounds([[2], [1], [2, 1], [2, 1], [2, 2], [2, 3]], most: 3)
        case .downgrade: return (0..<(2 + draw(4))).map { [$0 % 2 + 1] }
        case .rolling: return [[1, 2, pick([1, 2, 2, 3])] + (draw(3) == 0 ? [pick([1, 2])] : [])]
        case .downgradeInPlace: return (0..<(2 + draw(4))).map { [$0 % 2 == 0 ? 2 : 1] }
        case .rollingInPlace: return [[2]] + rounds([[1, 2], [1, 2, 2], [2, 2], [1, 1, 2]])
        case .thirdInPlace: return [pick([[2], [3]])] + rounds([[1, 2, 3], [2, 3], [1, 3], [1, 2], [3, 3], [2]])
        case .endingInPlace: return [[2]] + rounds([[1, 2], [1, 2, 3], [2, 3], [1, 3]])
        }
    }
}

/// The stores of a value: two between which it moves, the legacy one first; or one, in which it changes its shape.
package enum WindowStores: String, Label {
    case listToDatabase, listToList, listToRing, databaseToDatabase, ringToRing
    /// A whole number that becomes a record of one text.
    case numbers
    /// A text that becomes a record of two, of which version 1 knows one.
    case enriched
    /// The records of a collection, in a list and in a database.
    case records

    case list, database
    /// A list with a text that becomes a record. Programs without LocalData write it, too.
    case bare
    /// A database, and a key without a merge: nothing is kept beside its value.
    case plain
    /// A keyring, which commits one change at a time.
    case ring

    var isInPlace: Bool { [.list, .database, .bare, .plain, .ring].contains(self) }

    /// The rules for conflicts that are tried.
    var policies: [Policy] {
        switch self {
        case .numbers: [.destinationWins, .sourceWins]
        case .enriched: [.destinationWins]
        default: [.destinationWins, .destinationWins, .sourceWins, .merge]
        }
    }

    /// Whether programs without LocalData can write the legacy location, or the slot.
    var isShared: Bool { [.listToDatabase, .listToList, .listToRing, .numbers, .enriched, .bare].contains(self) }

    /// Whether no store may hold a value in the plain. Other runs keep a legacy location in the plain on purpose.
    var isSecret: Bool { [.databaseToDatabase, .ringToRing, .database, .plain, .ring].contains(self) }

    /// Whether newer shapes are kept beside an older one in the same store.
    var keepsBeside: Bool { self != .plain && self != .ring }
    var merges: Bool { self != .plain }
}

/// The keys of the program after version 2.
package enum WindowLater: String, Label {
    /// It has the same key, and the window is over for it.
    case over
    /// Its chain of shapes is the same, and it has neither window nor merge.
    case dropped
    /// It knows one shape more.
    case third
}

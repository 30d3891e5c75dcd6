/// How programs of several versions come after each other.
package enum InPlaceKind: String, Label {
    /// Version 1 and version 2 by turns, each alone.
    case downgrade
    /// Programs of both versions at once, all of them writing.
    case rolling
    /// The same with a version 3, which keeps the shapes of both.
    case third
    /// The same with a program for which the window is over, or that has dropped it.
    case ending
}

/// The store of a value, and what can be kept beside it.
package enum InPlaceStores: String, Label {
    case list, database
    /// A text that becomes a record: programs that know nothing of LocalData write it, too.
    case bare
    /// A database, and a key without a merge: nothing is kept beside its value.
    case plain
    /// A keyring, which commits one change at a time.
    case ring

    /// Whether newer shapes are kept beside an older one.
    var keepsBeside: Bool { self != .plain && self != .ring }
    var merges: Bool { self != .plain }
    /// Whether nothing of a value may be seen in the plain.
    var isSecret: Bool { [.database, .plain, .ring].contains(self) }
}

/// What the program after version 2 is.
package enum InPlaceLater: String, Label {
    /// It has the same key, and the window is over for it.
    case over
    /// Its chain is the same, and it has neither window nor merge.
    case dropped
    /// It knows one shape more.
    case third
}

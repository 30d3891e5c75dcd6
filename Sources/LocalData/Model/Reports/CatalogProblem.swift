/// Something that is wrong with a catalog, found from its keys alone when it is registered: nothing was read.
public struct CatalogProblem: Sendable, Codable, Hashable, CustomStringConvertible {
    /// What is wrong.
    public enum Kind: String, Sendable, Codable, CaseIterable {
        /// Two keys mean one slot.
        case duplicateKey
        /// A key's owner or description is empty.
        case incompleteKey
        /// The backend cannot hold the name of a key or source, or the name leads nowhere.
        case unusablePlace
        /// A key is protected less than its catalog demands.
        case belowMinimumProtection
        /// The sources of a key lead in a circle.
        case circle
        /// A source of a key is a key that the program still uses: a sweep would empty it.
        case liveSource
        /// A retired key is still in use.
        case retiredKeyInUse
        /// A key's place protects less, or keeps values shorter, than a source: its values are never moved.
        case weakerDestination
        /// No value can come from a source: its store is not in this build, or ends with the process, or an earlier source is the same place.
        case unreachableSource
        /// A key's release window cannot be kept: its legacy location has no room for it, protects less, or belongs to another key too. Or it ends at
        /// a version, and the configuration has no version.
        case unusableWindow
        /// A key's release window is over, and can be taken out of the program.
        case endedWindow

        /// Whether the catalog is refused. The others depend on the machine and its configuration: reads of the key report them, and lose nothing.
        public var refusesCatalog: Bool { ![.weakerDestination, .unreachableSource, .endedWindow].contains(self) }
    }

    /// What is wrong.
    public var kind: Kind
    /// The key's name.
    public var key: String
    /// The part of the program that answers for the key.
    public var owner: String
    /// The place that it is about: the domain and the name.
    public var place: String
    /// What is wrong, in a sentence.
    public var message: String
    /// What to do, in a sentence.
    public var remedy: String
    /// The code of the error that refuses the catalog.
    public var errorCode: StorageError.Code

    init(
        _ kind: Kind, _ key: AnyStorageKey, at place: String, _ code: StorageError.Code, _ message: String, _ remedy: String
    ) {
        self.kind = kind
        self.key = key.name
        owner = key.owner ?? ""
        self.place = place
        self.message = message
        self.remedy = remedy
        errorCode = code
    }

    /// The key, its place, and both sentences.
    public var description: String { "\(key) (\(place)): \(message) \(remedy)" }
}

/// Every problem of a catalog: below the ``StorageError`` that refuses it.
struct CatalogProblems: Error {
    let problems: [CatalogProblem]
}

extension StorageError {
    /// The problems of a catalog that was refused: all of them; empty for any other error.
    public var catalogProblems: [CatalogProblem] { (underlying as? CatalogProblems)?.problems ?? [] }

    /// The error that refuses a catalog: the code and key of its first problem, and all of them in words.
    init(_ problems: [CatalogProblem], of catalog: String) {
        let first = problems[0]
        self.init(
            first.errorCode, key: first.key,
            problems.map(\.description).joined(separator: " ") + " Nothing of \(catalog) was registered.",
            underlying: CatalogProblems(problems: problems))
    }
}

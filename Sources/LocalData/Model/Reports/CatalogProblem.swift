/// An error in the declaration of a catalog's keys, such as two keys with one slot.
///
/// The router finds it from the keys alone when the catalog is registered, and reads no data. Fix the declaration as
/// ``remedy`` says.
///
/// ```swift
/// do {
///     let report = try await storage.registerCatalog(AppKeys())
///     for problem in report.problems { print("Accepted, but: \(problem)") }
/// } catch let error as StorageError {
///     for problem in error.catalogProblems { print("\(problem.kind.rawValue): \(problem.message) \(problem.remedy)") }
/// }
/// ```
///
/// A *source* of a key is a legacy location from which the key takes its value. A *sweep* migrates all keys of a
/// catalog. In a *release window*, LocalData keeps the legacy location up to date for an earlier version of the
/// program.
public struct CatalogProblem: Sendable, Codable, Hashable, CustomStringConvertible {
    /// The kind of error.
    public enum Kind: String, Sendable, Codable, CaseIterable {
        /// Two keys have the same slot.
        case duplicateKey
        /// A key's owner or description is empty.
        case incompleteKey
        /// A key or source cannot be used: the backend does not accept its name, or its domain has no store.
        case unusablePlace
        /// A key has less protection than its catalog demands.
        case belowMinimumProtection
        /// The sources of a key form a cycle.
        case circle
        /// A source of a key is a key that the program still uses. A sweep would empty it.
        case liveSource
        /// A retired key is still in use.
        case retiredKeyInUse
        /// A key's destination has weaker protection or weaker durability than a source. The values of the source are
        /// not moved.
        case weakerDestination
        /// A source never provides a value. Its store is not in this build, its store is in memory, or an earlier
        /// source has the same slot.
        case unreachableSource
        /// A key's release window does not work. For example, the legacy location cannot store the metadata, has less
        /// protection, or is a source of another key too. Or the window ends at a version, but the configuration states
        /// no version, so that the window never ends.
        case unusableWindow
        /// A key's release window is over, and can be removed from the program.
        case endedWindow

        // Reason: "A catalog is checked as a whole before anything is read" in Docs/Decisions/Migration.md.
        /// Whether the router refuses a catalog that has a problem of this kind.
        ///
        /// It accepts a catalog with the problem `weakerDestination`, `unreachableSource` or `endedWindow`, and lists
        /// the problem in ``MigrationReport/problems``. These problems lose no value. They may occur on one machine
        /// only, where the program must still start, or after an update to a version in which a window is over.
        public var refusesCatalog: Bool { ![.weakerDestination, .unreachableSource, .endedWindow].contains(self) }
    }

    /// The kind of error.
    public var kind: Kind
    /// The key's name.
    public var key: String
    /// The part of the program that is responsible for the key.
    public var owner: String
    /// The affected location: the domain and the name.
    public var place: String
    /// A sentence that describes the error.
    public var message: String
    /// A sentence that says what to do.
    public var remedy: String
    /// The code of the ``StorageError`` that refuses the catalog.
    public var errorCode: StorageError.Code

    init(_ kind: Kind, _ key: AnyStorageKey, at place: String, _ code: StorageError.Code, _ message: String, _ remedy: String) {
        self.kind = kind
        self.key = key.name
        owner = key.owner ?? ""
        (self.place, self.message, self.remedy) = (place, message, remedy)
        errorCode = code
    }

    /// The key, the location and both sentences.
    public var description: String { "\(key) (\(place)): \(message) \(remedy)" }
}

/// All problems of a catalog. It is the underlying error of the ``StorageError`` that refuses the catalog.
struct CatalogProblems: Error {
    let problems: [CatalogProblem]
}

extension StorageError {
    /// All problems of a catalog that was refused; empty for other errors.
    ///
    /// ```swift
    /// do {
    ///     let report = try await storage.registerCatalog(AppKeys())
    ///     for problem in report.problems { print("Accepted, but: \(problem)") }
    /// } catch let error as StorageError {
    ///     for problem in error.catalogProblems { print("\(problem.kind.rawValue): \(problem.message) \(problem.remedy)") }
    /// }
    /// ```
    public var catalogProblems: [CatalogProblem] { (underlying as? CatalogProblems)?.problems ?? [] }

    /// Creates the error that refuses a catalog. It has the code and key of the first problem, and its message contains
    /// all problems.
    init(_ problems: [CatalogProblem], of catalog: String) {
        let first = problems[0]
        self.init(
            first.errorCode, key: first.key,
            problems.map(\.description).joined(separator: " ") + " Nothing of \(catalog) was registered.",
            underlying: CatalogProblems(problems: problems))
    }
}

/// Whether a change that failed may have happened.
public enum MutationOutcome: String, Hashable, Sendable, Codable {
    /// It did not happen.
    case notApplied
    /// It happened; something after it failed.
    case applied
    /// It may have happened; look before repeating it.
    case unknown
}

/// A call that a backend could not carry out. It never holds a value, nor a part of one.
public struct BackendError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What went wrong. Open: new codes break no `switch`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name.
        public let name: String

        /// Creates a code. The names of the static members are reserved.
        public init(_ name: String) { self.name = name }

        /// The store is locked.
        public static let locked = Code("locked")
        /// The store cannot be reached.
        public static let unavailable = Code("unavailable")
        /// The machine refused access.
        public static let accessDenied = Code("accessDenied")
        /// Other users can change a file or a folder that has to be trusted, or secrets would be sent unencrypted.
        public static let untrusted = Code("untrusted")
        /// There is no room left.
        public static let noSpace = Code("noSpace")
        /// The deadline passed.
        public static let timedOut = Code("timedOut")
        /// The person declined to unlock.
        public static let promptDismissed = Code("promptDismissed")
        /// Several items answer to one name.
        public static let ambiguous = Code("ambiguous")
        /// The value is larger than the store can hold.
        public static let tooLarge = Code("tooLarge")
        /// The store cannot use this name.
        public static let invalidName = Code("invalidName")
        /// The stored bytes are damaged.
        public static let corrupted = Code("corrupted")
        /// The caller was cancelled.
        public static let cancelled = Code("cancelled")
        /// The backend cannot do this at all.
        public static let unsupported = Code("unsupported")
        /// Any other failure of input or output.
        public static let failed = Code("failed")

        /// The code's name.
        public var description: String { name }
    }

    /// What went wrong.
    public var code: Code
    /// Whether the change may have happened.
    public var outcome: MutationOutcome
    /// What happened and what to do next, in sentences for a person; no part of any value.
    public var reason: String

    /// Creates an error.
    public init(_ code: Code, _ reason: String, outcome: MutationOutcome = .notApplied) {
        self.code = code
        self.outcome = outcome
        self.reason = reason
    }

    /// What to do with a value that is too large.
    package static let splitting = "Split it, or keep it in a file and store the name of the file."

    /// The error of a value that is larger than a store takes.
    /// - Parameters:
    ///   - size: The value's size in bytes, metadata included.
    ///   - limit: The most bytes that the store takes.
    ///   - store: The store, with its article.
    ///   - remedy: What to do instead, in a sentence.
    package static func tooLarge(
        _ size: Int, limit: Int, _ store: String, remedy: String = BackendError.splitting
    ) -> BackendError {
        BackendError(
            .tooLarge, "The value has \(size) bytes with its metadata, and \(store) takes at most \(limit). \(remedy) Nothing was changed.")
    }

    /// The code and the sentence; never a value.
    public var description: String { "\(code): \(reason)" }
}

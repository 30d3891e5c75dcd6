/// Whether a failed change may have been applied.
///
/// Each error of LocalData has an outcome. Check it before you repeat a change:
///
/// ```swift
/// switch error.outcome {
/// case .notApplied: print("Nothing was changed.")
/// case .applied: print("The change was made. A later step failed.")
/// case .unknown: print("Read the value before you repeat the change.")
/// }
/// ```
public enum MutationOutcome: String, Hashable, Sendable, Codable {
    /// The change was not applied.
    case notApplied
    /// The change was applied; a later step failed.
    case applied
    /// The change may have been applied. Read the value again before you repeat the change.
    case unknown
}

/// The error of a failed backend call: its kind, its cause and remedy, and whether a change may have been applied.
///
/// It contains no part of any value. A router converts it to a `StorageError` with the code of the same name.
///
/// ```swift
/// let error = BackendError(.unavailable, "The server does not answer. Check the network, and try again.", outcome: .unknown)
/// if error.outcome == .unknown { print("Read the slot before you repeat the change.") }
/// ```
public struct BackendError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure. More codes may be added, so handle unfamiliar codes in a `default` case.
    ///
    /// ```swift
    /// switch error.code {
    /// case .locked, .promptDismissed: print("Try again when the user can unlock the store.")
    /// case .noSpace: print("The previous content is unchanged.")
    /// default: print(error.reason)  // later versions may have more codes
    /// }
    /// ```
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name.
        public let name: String

        /// Creates a code. Do not use the name of one of the static members.
        public init(_ name: String) { self.name = name }

        /// The store is locked.
        public static let locked = Code("locked")
        /// The store cannot be reached.
        public static let unavailable = Code("unavailable")
        /// The operating system denied access.
        public static let accessDenied = Code("accessDenied")
        /// Another user can change a file or folder that the store must trust, or secrets would go over the session bus
        /// unencrypted.
        public static let untrusted = Code("untrusted")
        /// The disk or the store is full.
        public static let noSpace = Code("noSpace")
        /// The deadline passed.
        public static let timedOut = Code("timedOut")
        /// The user dismissed the prompt for unlocking.
        public static let promptDismissed = Code("promptDismissed")
        /// Several items of a keyring match one name.
        public static let ambiguous = Code("ambiguous")
        /// The value is larger than the store can hold.
        public static let tooLarge = Code("tooLarge")
        /// The store cannot use this name.
        public static let invalidName = Code("invalidName")
        /// The stored bytes are damaged.
        public static let corrupted = Code("corrupted")
        /// The caller was cancelled.
        public static let cancelled = Code("cancelled")
        /// The backend does not support the operation.
        public static let unsupported = Code("unsupported")
        /// Any other I/O failure.
        public static let failed = Code("failed")

        /// The code's name.
        public var description: String { name }
    }

    /// The kind of failure.
    public var code: Code
    /// Whether the change may have been applied.
    public var outcome: MutationOutcome
    /// The cause and the remedy, in sentences for the user. Contains no part of any value.
    public var reason: String

    /// Creates an error.
    public init(_ code: Code, _ reason: String, outcome: MutationOutcome = .notApplied) {
        self.code = code
        self.outcome = outcome
        self.reason = reason
    }

    /// The default remedy in the error for a value that is too large. A store can replace it by its own.
    static let splitting = "Split it, or keep it in a file and store the name of the file."

    /// Creates the error for a value that is larger than the store accepts.
    /// - Parameters:
    ///   - size: The size of the value in bytes, including its metadata.
    ///   - limit: The maximum number of bytes that the store accepts.
    ///   - store: The name of the store with its article, for example "this store".
    ///   - remedy: A sentence that recommends an alternative.
    package static func tooLarge(
        _ size: Int, limit: Int, _ store: String, remedy: String = BackendError.splitting
    ) -> BackendError {
        BackendError(
            .tooLarge, "The value has \(size) bytes with its metadata, and \(store) takes at most \(limit). \(remedy) Nothing was changed.")
    }

    /// The code and the reason. Contains no part of any value.
    public var description: String { "\(code): \(reason)" }
}

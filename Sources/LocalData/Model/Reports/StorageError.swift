public import BackendContract

/// What the router throws: what went wrong, of which key, whether a change may have happened, and what to do next. Never a value.
///
/// ```swift
/// do { … } catch StorageError.locked { … } catch StorageError.notFound { … }
/// ```
public struct StorageError: Error, Sendable, CustomStringConvertible, CustomReflectable {
    /// What went wrong. Open: new codes break no `switch`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name.
        public let name: String

        /// Creates a code; the names of the static members are taken.
        public init(_ name: String) { self.name = name }

        /// The code's name.
        public var description: String { name }

        /// Lets `catch StorageError.locked` match.
        public static func ~= (code: Code, error: any Error) -> Bool { (error as? StorageError)?.code == code }
    }

    /// What went wrong.
    public let code: Code
    /// The key's name, or what else the error is about.
    public let keyName: String
    /// Whether a change may have happened.
    public let outcome: MutationOutcome
    /// What happened and what to do next.
    public let message: String
    /// The error below this one, if there is one.
    public let underlying: (any Error)?

    /// Creates an error.
    public init(_ code: Code, key: String, _ message: String, outcome: MutationOutcome = .notApplied, underlying: (any Error)? = nil) {
        self.code = code
        keyName = key
        self.outcome = outcome
        self.message = message
        self.underlying = underlying
    }

    /// The code, the key's name and the sentence; never a value.
    public var description: String { "\(code) (\(keyName)): \(message)" }

    /// The parts that a dump may show. Of the error below only the type: what a program's own code threw may quote a value.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "code": code.name, "keyName": keyName, "outcome": outcome.rawValue, "message": message,
                "underlying": underlying.map { String(describing: type(of: $0)) } ?? "none",
            ])
    }
}

extension StorageError {
    /// The value is absent, proven, and the key has no default.
    public static let notFound = Code("notFound")
    /// The stored bytes are not a value of the key's type; they are left as they are.
    public static let undecodable = Code("undecodable")
    /// The value could not be turned into bytes.
    public static let encodingFailed = Code("encodingFailed")
    /// The store is locked.
    public static let locked = Code("locked")
    /// The store cannot be reached, or is not part of this build.
    public static let unavailable = Code("unavailable")
    /// The stored bytes are damaged; they are left as they are.
    public static let corrupted = Code("corrupted")
    /// Something else was changed at the same time, again and again.
    public static let conflict = Code("conflict")
    /// The value was removed, and an older copy of it could not be.
    public static let residueRemains = Code("residueRemains")
    /// The machine refused access.
    public static let accessDenied = Code("accessDenied")
    /// There is no room left.
    public static let noSpace = Code("noSpace")
    /// The deadline passed.
    public static let timedOut = Code("timedOut")
    /// The person declined to unlock.
    public static let promptDismissed = Code("promptDismissed")
    /// Several items answer to the name.
    public static let ambiguous = Code("ambiguous")
    /// The value is larger than the store can hold.
    public static let tooLarge = Code("tooLarge")
    /// The name cannot be used.
    public static let invalidName = Code("invalidName")
    /// Two keys mean the same slot.
    public static let duplicateKey = Code("duplicateKey")
    /// The configuration demands registered keys, and this one is not, or a registered key lacks what it must say.
    public static let unregisteredKey = Code("unregisteredKey")
    /// A catalog's key says too little of itself: its owner or description is empty.
    public static let incompleteKey = Code("incompleteKey")
    /// What is stored was sealed with a key that is not there.
    public static let encryptionKeyMissing = Code("encryptionKeyMissing")
    /// The sealing key that is there is another one.
    public static let encryptionKeyMismatch = Code("encryptionKeyMismatch")
    /// The stored shape has a version that this program does not know.
    public static let incompatibleSchema = Code("incompatibleSchema")
    /// A chain of versions cannot be used as it was put together; nothing was read or written.
    public static let invalidEvolution = Code("invalidEvolution")
    /// A migration failed; the old value is where it was.
    public static let migrationFailed = Code("migrationFailed")
    /// A value would be protected less, or last shorter, than where it is.
    public static let weakerProtection = Code("weakerProtection")
    /// The shared router exists already.
    public static let alreadyBootstrapped = Code("alreadyBootstrapped")
    /// The caller was cancelled while a change was under way.
    public static let cancelled = Code("cancelled")
    /// The store cannot do this at all.
    public static let unsupported = Code("unsupported")
}

extension StorageError {
    /// The router's form of a backend's error; a caller's cancellation that changed nothing stays a `CancellationError`.
    static func from(_ error: BackendError, key: String) -> any Error {
        if error.code == .cancelled && error.outcome == .notApplied { return CancellationError() }
        let code = error.code == .failed ? unavailable : Code(error.code.name)
        return StorageError(code, key: key, error.reason, outcome: error.outcome, underlying: error)
    }

    /// The error of a locked store.
    static func locked(_ key: String, _ domain: StorageDomain) -> StorageError {
        StorageError(locked, key: key, "\(domain) is locked. Unlock it (StorageRouter.unlock) and try again; nothing was changed.")
    }
}

/// Runs work on a backend and throws what the router may throw.
func translatingErrors<R>(key: String, _ body: () async throws(BackendError) -> R) async throws -> R {
    do throws(BackendError) { return try await body() } catch { throw StorageError.from(error, key: key) }
}

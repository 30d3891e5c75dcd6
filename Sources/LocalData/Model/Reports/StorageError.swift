public import BackendContract
public import Foundation

/// The error that LocalData throws: what went wrong, for which key, whether a change may have happened, and what to do
/// next.
///
/// Catch a single code, or compare ``code``. Show ``errorDescription`` to users.
///
/// ```swift
/// do {
///     print(try await storage.get(.apiToken))
/// } catch StorageError.notFound {
///     print("There is no token yet.")
/// } catch let error as StorageError where error.code == .locked || error.code == .promptDismissed {
///     print("Continue without the token. Try again after the user has unlocked the keyring.")
/// } catch {
///     print(error.localizedDescription)  // a sentence for users, with the next step; it contains no value
/// }
/// ```
///
/// After a failed change, ``outcome`` says what is stored. Read the value before you repeat a change whose outcome is
/// `unknown`:
///
/// ```swift
/// do { try await storage.set("Graz", for: .city) } catch let error as StorageError where error.outcome == .unknown {
///     guard try await storage.value(for: .city) != "Graz" else { return }  // the change was applied
///     try await storage.set("Graz", for: .city)
/// }
/// ```
///
/// An error never contains a value.
public struct StorageError: LocalizedError, Sendable, CustomStringConvertible, CustomReflectable {
    /// The kind of error. Later versions may add codes. A code is encoded as its name.
    ///
    /// ```swift
    /// let rateLimited = StorageError.Code("com.example.rateLimited")  // a code of the program, for its key source or migration
    /// do { throw StorageError(rateLimited, key: "payments", "The key service is busy. Try again in a minute.") } catch rateLimited {
    ///     print("wait")
    /// }
    /// ```
    public struct Code: Hashable, Sendable, Codable, CustomStringConvertible {
        // Reason: "A code names the case that a caller handles" in Docs/Decisions/ToolAndErrors.md.
        /// The code's name.
        public let name: String

        /// Creates a code. The names of the static members are reserved.
        public init(_ name: String) { self.name = name }

        /// Decodes a code from its name.
        public init(from decoder: any Decoder) throws { name = try decoder.singleValueContainer().decode(String.self) }

        /// Encodes the code's name.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(name)
        }

        /// The code's name.
        public var description: String { name }

        /// Makes `catch StorageError.locked` match.
        public static func ~= (code: Code, error: any Error) -> Bool { (error as? StorageError)?.code == code }
    }

    /// The kind of error.
    public let code: Code
    /// The key's name, or the name of another affected object.
    public let keyName: String
    /// Whether a change may have happened.
    public let outcome: MutationOutcome
    /// A description of the error, and of the next step for the user.
    public let message: String
    /// The cause of this error, if there is one.
    public let underlying: (any Error)?

    /// Creates an error.
    public init(_ code: Code, key: String, _ message: String, outcome: MutationOutcome = .notApplied, underlying: (any Error)? = nil) {
        self.code = code
        keyName = key
        (self.outcome, self.message, self.underlying) = (outcome, message, underlying)
    }

    /// The message for users: the key's name, what happened and what to do next. It never contains a value.
    public var errorDescription: String? {
        let named = keyName.isEmpty ? message : "\(keyName): \(message)"
        return outcome == .unknown ? "\(named) The outcome is unknown: read the value before you retry." : named
    }

    /// The code, the key's name and the message. It never contains a value.
    public var description: String { "\(code) (\(keyName)): \(message)" }

    /// The properties that `dump` shows. Of the underlying error, it shows only the type: an error from the program's
    /// code may contain a value.
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
    /// Converts a backend's error. A cancellation without a change becomes a `CancellationError`.
    package static func from(_ error: BackendError, key: String) -> any Error {
        if error.code == .cancelled && error.outcome == .notApplied { return CancellationError() }
        let code = error.code == .failed ? unavailable : Code(error.code.name)
        return StorageError(code, key: key, error.reason, outcome: error.outcome, underlying: error)
    }

    /// The error for a locked store.
    static func locked(_ key: String, _ domain: StorageDomain) -> StorageError {
        StorageError(locked, key: key, "\(domain) is locked. Unlock it (StorageRouter.unlock) and try again; nothing was changed.")
    }

    /// The error for a cancelled caller.
    /// - Parameter isStepwise: Whether the call may have completed some of its steps. Otherwise nothing was changed.
    package static func cancelled(_ key: String, isStepwise: Bool = false) -> StorageError {
        isStepwise
            ? StorageError(cancelled, key: key, "The caller was cancelled. Repeat the call to do what is left.", outcome: .unknown)
            : StorageError(cancelled, key: key, "The caller was cancelled. Nothing was changed.")
    }

    /// Returns the error of a call of several steps, of which this one failed. If some were completed, the outcome is `unknown`.
    package func after(_ completed: Int) -> StorageError {
        guard completed > 0 || outcome == .applied, outcome != .unknown else { return self }
        return StorageError(code, key: keyName, "\(message) \(completed) changes came first.", outcome: .unknown, underlying: underlying)
    }

    /// The error for a store that the program has locked.
    static func lockedByProgram(_ key: String) -> StorageError {
        StorageError(
            locked, key: key, "The program has locked its storage. Unlock it (StorageRouter.unlock) and try again; nothing was changed.")
    }

    /// The error for a call on a router that was shut down.
    static func shutDown(_ key: String) -> StorageError {
        StorageError(shutDown, key: key, "The router was shut down. Make a new one to go on; nothing was changed.")
    }
}

extension BackendError: LocalizedError {
    /// The message for users: what happened and what to do next. It never contains a value.
    public var errorDescription: String? { reason }
}

/// Runs work on a backend, and converts a `BackendError` to an error that the router may throw.
package func translatingErrors<R>(key: String, _ body: () async throws(BackendError) -> R) async throws -> R {
    do throws(BackendError) { return try await body() } catch { throw StorageError.from(error, key: key) }
}

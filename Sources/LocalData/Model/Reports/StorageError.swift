public import BackendContract
public import Foundation

/// What the router throws: what went wrong, of which key, whether a change may have happened, and what to do next. Never a value.
///
/// ```swift
/// do { … } catch StorageError.locked { … } catch let error as StorageError where error.code == .notFound { … }
/// ```
///
/// `localizedDescription` is a sentence for a person: ``errorDescription``.
public struct StorageError: LocalizedError, Sendable, CustomStringConvertible, CustomReflectable {
    /// What went wrong. Open: new codes break no `switch`. It is encoded as its name.
    public struct Code: Hashable, Sendable, Codable, CustomStringConvertible {
        /// The code's name.
        public let name: String

        /// Creates a code. The names of the static members are reserved.
        public init(_ name: String) { self.name = name }

        /// Reads a code from its name.
        public init(from decoder: any Decoder) throws { name = try decoder.singleValueContainer().decode(String.self) }

        /// Writes the code's name.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(name)
        }

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

    /// What a person reads: the key's name, what happened and what to do next. Never a value.
    public var errorDescription: String? {
        let named = keyName.isEmpty ? message : "\(keyName): \(message)"
        return outcome == .unknown ? "\(named) The outcome is unknown: read the value before you retry." : named
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
    /// The router's form of a backend's error; a caller's cancellation that changed nothing stays a `CancellationError`.
    package static func from(_ error: BackendError, key: String) -> any Error {
        if error.code == .cancelled && error.outcome == .notApplied { return CancellationError() }
        let code = error.code == .failed ? unavailable : Code(error.code.name)
        return StorageError(code, key: key, error.reason, outcome: error.outcome, underlying: error)
    }

    /// The error of a locked store.
    static func locked(_ key: String, _ domain: StorageDomain) -> StorageError {
        StorageError(locked, key: key, "\(domain) is locked. Unlock it (StorageRouter.unlock) and try again; nothing was changed.")
    }
}

extension StorageError {
    /// The error of a call whose caller was cancelled before anything was changed.
    /// - Parameter isStepwise: Whether the call may have done some of its steps.
    package static func cancelled(_ key: String, isStepwise: Bool = false) -> StorageError {
        isStepwise
            ? StorageError(cancelled, key: key, "The caller was cancelled. Repeat the call to do what is left.", outcome: .unknown)
            : StorageError(cancelled, key: key, "The caller was cancelled. Nothing was changed.")
    }

    /// The error of a store that the program itself has locked.
    static func lockedByProgram(_ key: String) -> StorageError {
        StorageError(
            locked, key: key, "The program has locked its storage. Unlock it (StorageRouter.unlock) and try again; nothing was changed.")
    }
}

extension StorageError {
    /// The error of a call on a router that was shut down.
    static func shutDown(_ key: String) -> StorageError {
        StorageError(shutDown, key: key, "The router was shut down. Make a new one to go on; nothing was changed.")
    }
}

extension BackendError: LocalizedError {
    /// What a person reads: what happened and what to do next. Never a value.
    public var errorDescription: String? { reason }
}

/// Runs work on a backend and throws what the router may throw.
package func translatingErrors<R>(key: String, _ body: () async throws(BackendError) -> R) async throws -> R {
    do throws(BackendError) { return try await body() } catch { throw StorageError.from(error, key: key) }
}

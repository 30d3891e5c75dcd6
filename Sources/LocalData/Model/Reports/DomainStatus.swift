import BackendContract

/// Says whether a store can be used now: it is ready, locked, absent, or cannot be reached.
///
/// ``StorageRouter/status(of:)`` returns it, and never opens a prompt. Use it to show a button for unlocking before a
/// call fails with `locked`. The status can change directly afterwards, so a call still needs its error handling.
///
/// ```swift
/// if case .locked = await storage.status(of: .keychain) { show("Unlock your keyring to sign in.") }
/// ```
public enum DomainStatus: Sendable {
    /// The store can be read and written.
    case ready
    /// The store is locked. ``StorageRouter/unlock(_:)`` may open a prompt.
    case locked
    /// The store does not exist: this user has no keyring yet.
    case absent
    /// The store cannot be reached. The error states the cause and what to do.
    case unavailable(StorageError)

    init(_ status: BackendStatus, _ domain: StorageDomain) {
        switch status {
        case .ready: self = .ready
        case .locked: self = .locked
        case .absent: self = .absent
        case .unavailable(let error):
            self = .unavailable(
                StorageError.from(error, key: "\(domain)") as? StorageError
                    ?? StorageError(StorageError.unavailable, key: "\(domain)", error.reason))
        }
    }
}

extension DomainStatus: CustomStringConvertible {
    /// The status in words.
    public var description: String {
        switch self {
        case .ready: "ready"
        case .locked: "locked"
        case .absent: "absent"
        case .unavailable(let error): "unavailable: \(error.message)"
        }
    }
}

import BackendContract

/// Whether a domain can be used.
public enum DomainStatus: Sendable {
    /// It can be read and written.
    case ready
    /// It is there and locked; ``StorageRouter/unlock(_:)`` may open a prompt.
    case locked
    /// It is not there yet: no keyring was ever made for this person.
    case absent
    /// It cannot be reached; the error says why and what to do.
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
    /// The state in words.
    public var description: String {
        switch self {
        case .ready: "ready"
        case .locked: "locked"
        case .absent: "absent"
        case .unavailable(let error): "unavailable: \(error.message)"
        }
    }
}

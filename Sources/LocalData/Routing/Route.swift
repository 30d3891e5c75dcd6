import BackendContract

/// Where a key leads: the backend, the slot, and how well a value is protected there.
struct Route: Sendable {
    let keyName: String
    let domain: StorageDomain
    let backend: any StorageBackend
    let address: StorageAddress
    let security: SecurityPolicy
    /// The protection of the value: the store's own, or that of its seal, whichever is stronger.
    let protection: ProtectionLevel

    var slot: PhysicalSlot { backend.slot(address) }
    var capabilities: BackendCapabilities { backend.capabilities }

    /// The place in words that stay the same when directories move: what seals are bound to and origins name.
    var placeName: String { "\(domain.kind.name)/\(domain.scope ?? "")/\(address.namespace.name)/\(address.name)" }

    func read(_ freshness: ReadFreshness = .validated) async throws -> StorageProbe {
        try await translatingErrors(key: keyName) { () throws(BackendError) in try await backend.read(address, freshness) }
    }

    /// Whether a failed call may have changed something all the same.
    static func leavesDoubt(_ error: any Error) -> Bool { (error as? StorageError).map { $0.outcome != .notApplied } ?? false }

    func apply(_ operation: StorageMutation.Operation, if precondition: StorageMutation.Precondition) async throws -> MutationResult {
        try await translatingErrors(key: keyName) { () throws(BackendError) in
            try await backend.apply(StorageMutation(address, operation, if: precondition))
        }
    }

    /// Turns what a mutation met into the error that its caller should see.
    func error(for result: MutationResult) -> any Error {
        switch result {
        case .locked: StorageError.locked(keyName, domain)
        case .failed(let error): StorageError.from(error, key: keyName)
        case .conflict(.corrupt(let corruption)): corrupted(corruption)
        case .conflict(.locked): StorageError.locked(keyName, domain)
        case .conflict(.unavailable(let error)): StorageError.from(error, key: keyName)
        case .conflict, .notAttempted, .applied:
            StorageError(
                StorageError.conflict, key: keyName, "The value was changed at the same time by somebody else. Read it and try again.")
        }
    }

    func corrupted(_ corruption: StorageCorruption) -> StorageError {
        StorageError(
            StorageError.corrupted, key: keyName,
            "What stands in \(domain) is damaged (\(corruption.reason)). Its bytes are kept; restore them from a backup, or set a new value."
        )
    }
}

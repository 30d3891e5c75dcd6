package import BackendContract

extension StorageProbe {
    /// The error if the slot could not be read.
    package var error: BackendError? { if case .unavailable(let error) = self { error } else { nil } }

    /// The damage if the slot is corrupt.
    package var corruption: StorageCorruption? { if case .corrupt(let corruption) = self { corruption } else { nil } }
}

extension MutationResult {
    /// The error if the mutation failed.
    package var error: BackendError? { if case .failed(let error) = self { error } else { nil } }

    /// The state of the slot if the precondition did not hold for it.
    package var conflict: StorageProbe? { if case .conflict(let probe) = self { probe } else { nil } }

    /// The revision of the stored record if the mutation was applied.
    package var revision: StorageRevision? { if case .applied(let revision, _) = self { revision } else { nil } }
}

extension BackendStatus {
    /// The error if the store cannot be used.
    package var error: BackendError? { if case .unavailable(let error) = self { error } else { nil } }
}

package import BackendContract

extension StorageProbe {
    /// Why the slot could not be looked at.
    package var error: BackendError? { if case .unavailable(let error) = self { error } else { nil } }

    /// The damage in the slot.
    package var corruption: StorageCorruption? { if case .corrupt(let corruption) = self { corruption } else { nil } }
}

extension MutationResult {
    /// Why the mutation failed.
    package var error: BackendError? { if case .failed(let error) = self { error } else { nil } }

    /// What was in the slot when the condition did not hold.
    package var conflict: StorageProbe? { if case .conflict(let probe) = self { probe } else { nil } }

    /// The revision of what was stored.
    package var revision: StorageRevision? { if case .applied(let revision, _) = self { revision } else { nil } }
}

extension BackendStatus {
    /// Why the store cannot be used.
    package var error: BackendError? { if case .unavailable(let error) = self { error } else { nil } }
}

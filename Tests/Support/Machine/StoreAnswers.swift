package import BackendContract

extension StorageProbe {
    /// The error of a slot that could not be read.
    package var error: BackendError? { if case .unavailable(let error) = self { error } else { nil } }

    /// The damage in the slot.
    package var corruption: StorageCorruption? { if case .corrupt(let corruption) = self { corruption } else { nil } }
}

extension MutationResult {
    /// The error of a mutation that failed.
    package var error: BackendError? { if case .failed(let error) = self { error } else { nil } }

    /// The state of the slot for which the precondition did not hold.
    package var conflict: StorageProbe? { if case .conflict(let probe) = self { probe } else { nil } }

    /// The revision of the stored record.
    package var revision: StorageRevision? { if case .applied(let revision, _) = self { revision } else { nil } }
}

extension BackendStatus {
    /// The error of a store that cannot be used.
    package var error: BackendError? { if case .unavailable(let error) = self { error } else { nil } }
}

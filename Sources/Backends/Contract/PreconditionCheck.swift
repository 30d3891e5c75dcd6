extension StorageProbe {
    /// Why a mutation must not be made on the state that this probe saw, or nil when it may.
    ///
    /// The only definition of the preconditions. Backends evaluate it under their own lock, between re-reading a slot and writing it.
    public func refusal(of mutation: StorageMutation) -> MutationResult? {
        switch (self, mutation.precondition) {
        case (.locked, _): .locked
        case (.unavailable(let error), _): .failed(error)
        case (.corrupt(let corruption), .revision(let revision)) where corruption.revision == revision: nil
        case (.corrupt, _): .conflict(self)
        case (_, .none): nil
        case (.value(let record), .replaceable(let version)) where record.metadata.isReplaceable(version): nil
        case (.tombstone(let tombstone), .replaceable) where tombstone.metadata.origin == nil: nil
        case (.absent, .replaceable), (.absent, .absent): nil
        case (.value(let record), .revision(let revision)) where record.revision == revision: nil
        case (.tombstone(let tombstone), .revision(let revision)) where tombstone.revision == revision: nil
        default: .conflict(self)
        }
    }
}

extension [StorageMutation] {
    /// Refuses a call in which an address occurs twice.
    /// - Throws: ``BackendError`` with `unsupported`.
    package func requireDistinctAddresses() throws(BackendError) {
        guard Set(map(\.address)).count == count else {
            throw BackendError(.unsupported, "An address occurs twice in one call. Nothing was changed; make the changes in two calls.")
        }
    }

    /// The results of an atomic batch that is not made because of one of its mutations.
    package func results(endingIn result: MutationResult, at index: Int) -> [MutationResult] {
        indices.map { $0 == index ? result : .notAttempted }
    }

    /// The results of an atomic batch that is not made because one of its mutations must not be made; nil when all of them may.
    /// - Parameter refusal: Why a mutation must not be made. Mutations are asked in their order, up to the first that is refused.
    package func refused(_ refusal: (StorageMutation) -> MutationResult?) -> [MutationResult]? {
        for (index, mutation) in enumerated() {
            if let reason = refusal(mutation) { return results(endingIn: reason, at: index) }
        }
        return nil
    }
}

extension StorageMetadata {
    /// Whether a new record of this schema version may take the place of one with this metadata, without knowing it.
    fileprivate func isReplaceable(_ version: Int?) -> Bool {
        guard origin == nil else { return false }
        guard let version, let schemaVersion else { return true }
        return schemaVersion <= version
    }
}

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
        case (.value(let record), .notLater(let version)) where record.metadata.schemaVersion ?? version <= version: nil
        case (.absent, .notLater), (.tombstone, .notLater): nil
        case (.absent, .absent): nil
        case (.value(let record), .revision(let revision)) where record.revision == revision: nil
        case (.tombstone(let tombstone), .revision(let revision)) where tombstone.revision == revision: nil
        default: .conflict(self)
        }
    }
}

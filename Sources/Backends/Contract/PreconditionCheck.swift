extension StorageProbe {
    /// Checks the precondition of a mutation against this state of its slot. A mutation is a change of one slot, the
    /// location of one value.
    ///
    /// This is the only implementation of preconditions. A backend calls it under its lock, after re-reading the slot and before writing
    /// it.
    ///
    /// ```swift
    /// if let refusal = current.refusal(of: mutation) { return refusal }  // nothing is written
    /// // Under the same lock: write the new content, and return its revision.
    /// ```
    /// - Returns: The result of the mutation if it must be refused; nil if it may be applied.
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
    /// Throws if two mutations of a call have the same address.
    /// - Throws: ``BackendError`` with `unsupported`.
    package func requireDistinctAddresses() throws(BackendError) {
        guard Set(map(\.address)).count == count else {
            throw BackendError(.unsupported, "An address occurs twice in one call. Nothing was changed; make the changes in two calls.")
        }
    }

    /// Returns the results of an atomic batch that is not applied because of one mutation: `result` for that mutation, and `notAttempted`
    /// for all others.
    package func results(endingIn result: MutationResult, at index: Int) -> [MutationResult] {
        indices.map { $0 == index ? result : .notAttempted }
    }

    /// Returns the results of a call that a database refuses before it reads anything: because of an invalid name, a
    /// value that is too large, or a native value; nil if the database must be used.
    /// - Parameter store: The store in an error, such as "an encrypted database".
    package func refused(by capabilities: BackendCapabilities, in store: String) -> [MutationResult]? {
        refused { (mutation) throws(BackendError) in
            try mutation.address.validate()
            try capabilities.requireFit(mutation.byteCount, in: store)
            if case .put(.native, let metadata) = mutation.operation, !capabilities.storesNativeValues || metadata.serializer != nil {
                throw BackendError(.unsupported, "The database keeps bytes only. Nothing was changed.")
            }
            return nil
        }
    }

    /// Returns the results of a call on a database that does not exist; nil if it must be created for the call.
    package func resultsWithoutDatabase(_ durability: StorageDurability) -> [MutationResult]? {
        if let refused = refused(StorageProbe.absent.refusal) { return refused }
        return allSatisfy { $0.operation == .delete || $0.operation == .check } ? map { _ in .applied(nil, durability) } : nil
    }

    /// Returns the results of an atomic batch that contains a refused mutation; nil if no mutation is refused.
    /// - Parameter refusal: Returns the result that refuses a mutation, or nil. An error becomes the result `failed`. It is called for one
    ///   mutation after the other, up to the first refusal.
    package func refused(_ refusal: (StorageMutation) throws(BackendError) -> MutationResult?) -> [MutationResult]? {
        for (index, mutation) in enumerated() {
            let reason: MutationResult?
            do throws(BackendError) { reason = try refusal(mutation) } catch { reason = .failed(error) }
            if let reason { return results(endingIn: reason, at: index) }
        }
        return nil
    }
}

extension BackendError {
    /// Returns the results of a read of several slots that failed. Throws the error if the caller has left (`timedOut`, `cancelled`).
    package func probes(_ count: Int) throws(BackendError) -> [StorageProbe] {
        if code == .timedOut || code == .cancelled { throw self }
        return Array(repeating: code == .locked ? .locked : .unavailable(self), count: count)
    }

    /// Returns the results of a call with several changes that failed. Throws the error if the caller has left (`timedOut`, `cancelled`).
    package func results(_ count: Int) throws(BackendError) -> [MutationResult] {
        if code == .timedOut || code == .cancelled { throw self }
        return Array(repeating: code == .locked ? .locked : .failed(self), count: count)
    }
}

extension StorageMetadata {
    /// Whether a caller may replace a record with this metadata, although it has not read that record. The new record
    /// has the given schema version.
    /// Reason: "A later version is not replaced" in Docs/Decisions/Evolution.md.
    fileprivate func isReplaceable(_ version: Int?) -> Bool {
        guard origin == nil else { return false }
        guard let version, let schemaVersion else { return true }
        return schemaVersion <= version
    }
}

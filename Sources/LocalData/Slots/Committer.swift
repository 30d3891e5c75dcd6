import BackendContract

/// The only code that changes slots of keys. It applies mutations, reads records back on request, and notifies observers, also
/// if the outcome of a mutation is unknown.
struct Committer: Sendable {
    let hub: ChangeHub
    /// Called after each commit, with its domain and whether it stored a value that expires.
    let noteCommit: @Sendable (_ domain: StorageDomain, _ expires: Bool) async -> Void

    /// One change of a commit.
    struct Change: Sendable {
        /// The route of the slot. The observers of the slot are notified, and errors have the key name of the route.
        let route: Route
        var mutation: StorageMutation
        /// Whether the change accompanies another one, as a backup or a check does. No observer watches its slot, and it is not read back.
        var isCompanion = false
        /// The record that the change replaces, if a follower of its collection may report it.
        var replaced: ReplacedRecord?

        init(_ operation: StorageMutation.Operation, _ route: Route, if precondition: StorageMutation.Precondition) {
            self.init(route, StorageMutation(route.address, operation, if: precondition))
        }

        /// Whether the change stores a value that expires.
        var expires: Bool { if case .put(_, let metadata) = mutation.operation { metadata.expiresAt != nil } else { false } }

        /// Creates a check, which changes nothing. The other changes of its commit are applied only if its precondition holds.
        static func check(_ route: Route, if precondition: StorageMutation.Precondition) -> Change {
            Change(route, .check(route.address, if: precondition), isCompanion: true)
        }

        init(_ route: Route, _ mutation: StorageMutation, isCompanion: Bool = false) {
            (self.route, self.mutation, self.isCompanion) = (route, mutation, isCompanion)
        }
    }

    /// The changes with which migrations write their destinations. They are read back. Only `MoveExecutor` makes one, as
    /// `Scripts/check-rooms` checks.
    struct MoveCommit: Sendable { let changes: [Change], comparesBytes: Bool }

    /// The results of a commit.
    struct Receipt: Sendable {
        /// One result for each change, in the order of the changes.
        var results: [MutationResult]

        var isCommitted: Bool { results.allSatisfy(\.isApplied) }

        /// The content of the first slot whose precondition did not hold; nil if all preconditions held.
        var conflict: StorageProbe? { results.lazy.compactMap { if case .conflict(let probe) = $0 { probe } else { nil } }.first }

        /// The weakest durability of the changes that were applied.
        var durability: StorageDurability {
            results.compactMap { if case .applied(_, let durability) = $0 { durability } else { nil } }.min() ?? .durable
        }

        /// Returns the record that a change stored; nil for a removal, and for a change that was not applied.
        func record(of change: Change, at index: Int) -> StorageRecord? {
            guard case .put(let payload, let metadata) = change.mutation.operation, case .applied(let revision?, _) = results[index] else {
                return nil
            }
            return StorageRecord(payload: payload, metadata: metadata, revision: revision)
        }
    }

    /// Returns a change that applies if its slot is unchanged since it was read.
    /// - Parameter probe: The content of the slot when it was read.
    func change(_ operation: StorageMutation.Operation, _ route: Route, over probe: StorageProbe) -> Change {
        var change = Change(operation, route, if: probe.unchanged)
        change.replaced = hub.replaced(probe, at: route.slot)
        return change
    }

    /// Changes slots of one store. If the store has atomic batches, all changes are one batch. Otherwise they are applied one
    /// after the other, companions first, until one of them is not applied.
    /// - Parameter changes: The changes, at most one for each slot.
    /// - Returns: The results. A precondition that did not hold is a result, not an error.
    /// - Throws: ``StorageError`` if a store is locked or fails. If the outcome of a change is unknown, the observers of its
    ///   slot re-read it.
    func commit(_ changes: [Change]) async throws -> Receipt { try await commit(changes, readsBack: false) { _, _ in } }

    /// Changes slots of one store, as ``commit(_:)`` does. Then reads the written records as a new process would, and compares
    /// them with what was written.
    /// - Parameter check: Checks a record that was read back from the slot of a key, with the index of its change. Throws if the
    ///   record is not as expected.
    /// - Throws: ``StorageError`` as ``commit(_:)`` does, and if a written record could not be read back.
    func commit(_ moves: MoveCommit, check: (Int, StorageRecord) async throws -> Void) async throws -> Receipt {
        try await commit(moves.changes, readsBack: true, comparesBytes: moves.comparesBytes, check: check)
    }

    private func commit(
        _ changes: [Change], readsBack: Bool, comparesBytes: Bool = false, check: (Int, StorageRecord) async throws -> Void
    ) async throws -> Receipt {
        guard let first = changes.first else { return Receipt(results: []) }
        var receipt = Receipt(results: changes.map { _ in .notAttempted })
        for part in Self.parts(of: changes, first.route) {
            let (results, isStored): ([MutationResult], Bool)
            do {
                (results, isStored) = try await translatingErrors(key: first.route.keyName) { () throws(BackendError) in
                    if first.route.isLocked { return (part.map { _ in .locked }, false) }
                    let mutations = part.map { changes[$0].mutation }
                    if comparesBytes, let bulk = first.route.backend as? any BulkBackend { return try await bulk.applyComparing(mutations) }
                    return (try await first.route.backend.apply(mutations), false)
                }
            } catch {
                if (error as? StorageError).map({ $0.outcome != .notApplied }) ?? false { publishUnknownOutcome(part, changes) }
                throw error
            }
            for (index, result) in zip(part, results) {
                receipt.results[index] = result
                if case .conflict(let probe) = result { receipt.results[index] = .conflict(try await changes[index].route.judged(probe)) }
            }
            if readsBack, results.allSatisfy(\.isApplied) {
                do { try await readBack(part, changes, receipt, isStored: isStored, check) } catch {
                    publishUnknownOutcome(part, changes)
                    // A failed read has the outcome `notApplied`, and the changes were applied.
                    throw (error as? StorageError)?.after(part.count) ?? error
                }
            }
            if results.contains(where: \.isApplied) { await noteCommit(first.route.domain, part.contains { changes[$0].expires }) }
            publish(part, changes, receipt)
            await witness(part, changes, receipt)
            for index in part {
                switch receipt.results[index] {
                case .applied, .conflict, .notAttempted: continue
                case .locked, .failed: throw changes[index].route.error(for: receipt.results[index])
                }
            }
            if !results.allSatisfy(\.isApplied) { break }
        }
        return receipt
    }

    /// Returns the indices of the changes that are applied together, part by part, in the order of application.
    private static func parts(of changes: [Change], _ route: Route) -> [[Int]] {
        if changes.count == 1 || route.capabilities.atomicBatch { return [Array(changes.indices)] }
        return (changes.indices.filter { changes[$0].isCompanion } + changes.indices.filter { !changes[$0].isCompanion }).map { [$0] }
    }

    // MARK: Notifying observers

    private func publish(_ part: [Int], _ changes: [Change], _ receipt: Receipt) {
        var isUncertain = false
        for index in part {
            if case .failed(let error) = receipt.results[index], error.outcome != .notApplied { isUncertain = true }
            guard receipt.results[index].isApplied else { continue }
            if let action = MigrationReport.Step.Action(changes[index]) { StepJournal.note(action, changes[index].route) }
            if changes[index].isCompanion { continue }
            hub.publish(
                receipt.record(of: changes[index], at: index), replacing: changes[index].replaced, at: changes[index].route.slot)
        }
        if isUncertain { publishUnknownOutcome(part, changes) }
    }

    /// For witnessed keys, notes that a value exists or that it was removed.
    private func witness(_ part: [Int], _ changes: [Change], _ receipt: Receipt) async {
        for index in part where receipt.results[index].isApplied {
            guard let witnesses = changes[index].route.witnesses, !changes[index].isCompanion else { continue }
            switch changes[index].mutation.operation {
            case .put: await witnesses.noteValue(at: changes[index].route)
            case .tombstone, .delete: await witnesses.end(at: changes[index].route)
            case .check: continue
            }
        }
    }

    private func publishUnknownOutcome(_ part: [Int], _ changes: [Change]) {
        for index in part where !changes[index].isCompanion { hub.publishUnknownOutcome(at: changes[index].route.slot) }
    }

    // MARK: Reading back

    /// - Parameter isStored: Whether the store has compared the bytes of all slots. Then they are not read once more.
    private func readBack(
        _ part: [Int], _ changes: [Change], _ receipt: Receipt, isStored: Bool, _ check: (Int, StorageRecord) async throws -> Void
    ) async throws {
        let written = part.filter { !changes[$0].isCompanion }
        if isStored {
            for index in written { if let record = receipt.record(of: changes[index], at: index) { try await check(index, record) } }
            return
        }
        for (index, probe) in zip(written, try await Route.probes(written.map { changes[$0].route })) {
            let change = changes[index]
            switch (probe, receipt.record(of: change, at: index)) {
            case (.value(let found), let record?) where found.revision == record.revision:
                guard found.payload == record.payload else { throw Self.differs(change.route, "it differs") }
                try await check(index, found)
            case (.value(let found), nil):
                if case .applied(let revision, _) = receipt.results[index], found.revision == revision {
                    throw Self.differs(change.route, "it is still there")
                }
            // The slot has what a later write stored, so this write was stored before. Or it has the tombstone that this write stored.
            case (.value, _), (.tombstone, _): continue
            case (.absent, nil) where change.mutation.operation == .delete: continue
            // Programs with LocalData remove such a value with a tombstone. If the slot is empty, the write was lost, or
            // another program has deleted the record.
            case (.absent, _): throw Self.differs(change.route, "it is not there")
            default: throw Self.differs(change.route, "it is damaged")
            }
        }
    }

    private static func differs(_ route: Route, _ how: String) -> StorageError {
        StorageError(
            StorageError.migrationFailed, key: route.keyName,
            "The value was written to \(route.domain) and could not be read back (\(how)). The older value is where it was.",
            outcome: .unknown)
    }
}

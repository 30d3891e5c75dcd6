import BackendContract
import BackendRuntime

/// Deleting the copies of values in legacy locations, once the values in their destinations are certain to last. This is garbage
/// collection: a copy that cannot be deleted stays as residue, and no value is lost.
extension MoveExecutor {
    /// The time limit for each deletion in the current task; nil for the deadline of the store. A read has its value before it deletes the
    /// copies. If another process holds the lock of a legacy location, the read therefore does not wait long for it, and leaves the copy to
    /// a sweep.
    @TaskLocal static var patience: Duration?
    /// The value of ``patience`` for a read.
    static let patienceOfReads = Duration.seconds(1)

    /// Deletes copies of a value that is in its destination. Never fails: a copy that cannot be deleted is residue. The ledger records it,
    /// and a later sweep deletes it.
    /// - Parameter achieved: The proven durability of the value in the destination.
    /// - Returns: The location of each copy that remains, with the reason, as text.
    func purge(_ copies: [SourceRecord], for destination: Route, achieved: StorageDurability) async -> [String] {
        await purge(copies, for: copies.map { _ in destination }, achieved: achieved).flatMap(\.self)
    }

    /// Deletes copies of values that are in their destinations: in one commit, if one store has all copies and atomic batches.
    /// - Parameter destinations: The destinations of the values, one for each copy. They are in one store.
    /// - Returns: For each copy, its location with the reason as text if it remains; otherwise an empty list.
    func purge(_ copies: [SourceRecord], for destinations: [Route], achieved: StorageDurability) async -> [[String]] {
        let areGone = await purgeTogether(copies, for: destinations, achieved: achieved)
        var residue: [[String]] = []
        for (copy, destination) in zip(copies, destinations) {
            if !areGone, let reason = await purge(copy, for: destination, achieved: achieved) {
                history.ledger.remains(copy.route, of: destination, reason)
                residue.append(["\(copy.route.displayName): \(reason)"])
            } else {
                history.ledger.isGone(copy.route, of: destination)
                residue.append([])
            }
        }
        return residue
    }

    /// Deletes several copies in one commit.
    /// - Returns: Whether they are certainly gone. If not, each must be deleted separately.
    private func purgeTogether(_ copies: [SourceRecord], for destinations: [Route], achieved: StorageDurability) async -> Bool {
        guard copies.count > 1, let first = copies.first?.route, first.capabilities.atomicBatch,
            copies.allSatisfy({ $0.route.slot.store == first.slot.store }), isCertain(achieved, first, destinations[0])
        else { return false }
        for (copy, destination) in zip(copies.map(\.route.slot), destinations.map(\.slot))
        where history.registry.isNamed(copy.placeholder ?? copy, except: destination.placeholder ?? destination) { return false }
        return await (try? delete(await deletions(of: copies)))?.isCommitted == true
    }

    /// Applies changes that delete copies in legacy locations, and the marks of release windows. They are in one store.
    func delete(_ changes: [Committer.Change]) async throws -> Committer.Receipt {
        try await CallPatience.$limit.withValue(Self.patience) { try await slots.committer.commit(changes) }
    }

    /// Deletes a copy. Returns the reason why it remains, or nil if it is gone.
    private func purge(_ copy: SourceRecord, for destination: Route, achieved: StorageDurability) async -> String? {
        let waits = "the new value is not certain to survive a power cut yet; a sweep deletes this copy after the next start of the machine"
        guard isCertain(achieved, copy.route, destination) else { return waits }
        do {
            let needed = try await neededBy(copy.route.slot, except: destination.slot)
            if let needed { return "\(needed) still takes its value from it" }
            switch try await delete(await deletions(of: [copy])).conflict {
            case nil, .absent: return nil
            default: return "it was changed since it was read"
            }
        } catch StorageError.locked { return "it is locked" } catch {
            return (error as? StorageError)?.message ?? "the caller was cancelled"
        }
    }

    /// Returns the changes that delete copies. If a copy is a mirror, the mark of its release window is deleted in the same commit.
    private func deletions(of copies: [SourceRecord]) async -> [Committer.Change] {
        var changes: [Committer.Change] = []
        for copy in copies {
            let (route, metadata) = (copy.route, copy.record.metadata)
            let origin = metadata.origin == nil ? nil : try? await coder.origin(of: metadata, route)
            if origin?.mirrors != nil {
                let mark = route.beside(in: MirroredLocation.namespace(of: route.address.namespace))
                changes.append(Committer.Change(mark, StorageMutation(mark.address, .delete), isCompanion: true))
            }
            var change = Committer.Change(.delete, route, if: .revision(copy.record.revision))
            // A verified read returns a record without a seal without some of its metadata.
            if route.judge == nil { change.mutation.knownMetadata = metadata }
            changes.append(change)
        }
        return changes
    }

    /// Returns whether a value is as durable as its copy. If the destination's store is less durable than the copy's, which a migration
    /// must allow, the value must be as durable as the destination's store can make it.
    private func isCertain(_ achieved: StorageDurability, _ copy: Route, _ destination: Route) -> Bool {
        achieved >= min(copy.capabilities.durability, destination.capabilities.durability)
    }

    /// Deletes the copies of a removed value.
    /// - Throws: ``StorageError`` with `residueRemains` and the outcome `applied` if a copy remains.
    func purgeCopies(_ contents: LegacyLocations.Contents, of slot: UntypedSlot, _ origin: RecordOrigin?) async throws {
        let route = slot.route
        var residue = contents.unreadable.map { "\($0.displayName): it cannot be read now" }
        for place in contents.unreadable { history.ledger.remains(place, of: route, "it could not be read when the value was removed") }
        if !contents.found.isEmpty {
            do {
                residue += await purge(contents.found.reversed(), for: route, achieved: try await settledDurability(of: route, origin))
            } catch {
                // The removal is written, but could not be made durable. So only the copies must stay for now.
                for copy in contents.found {
                    history.ledger.remains(copy.route, of: route, "the removal was not certain to survive a power cut")
                    residue.append("\(copy.route.displayName): the removal is not certain to survive a power cut yet")
                }
            }
        }
        if residue.isEmpty { return }
        await history.ledger.flush()
        throw StorageError(
            StorageError.residueRemains, key: slot.name,
            "The value is removed and will not come back, but older copies remain: \(residue.joined(separator: "; ")). Remove it again, or sweep, when they can be reached.",
            outcome: .applied)
    }

    // MARK: Shared sources

    /// The name of another registered key that still needs a slot as its source; nil when none does.
    func neededBy(_ source: PhysicalSlot, except destination: PhysicalSlot) async throws -> String? {
        for other in namers(of: source, except: destination) where try await !isSettled(other.key, other.route) { return other.name }
        return nil
    }

    /// Returns whether a key no longer needs its sources: its slot has a value that decodes, or a tombstone. A value that does not decode
    /// would be replaced from the sources.
    private func isSettled(_ key: some TypedKey, _ route: Route) async throws -> Bool {
        switch try await route.read() {
        case .value(let record):
            do {
                _ = try await coder.decode(record, Slot(key: key.typed, route: route))
                return true
            } catch let error as StorageError where error.meansUndecodable { return false }
        case .tombstone: return true
        default: return false
        }
    }

    /// Returns the registered keys whose values come from a slot, except the key at `destination`. For the slot of a record, these are the
    /// record's keys in the collections that take their records from its collection.
    private func namers(of source: PhysicalSlot, except destination: PhysicalSlot) -> [UntypedSlot] {
        guard let collection = source.placeholder else {
            return history.registry.entries(naming: source, except: destination).map { UntypedSlot(key: $0.key.base, route: $0.route) }
        }
        return history.registry.entries(naming: collection, except: destination.placeholder ?? destination).compactMap { entry in
            entry.key.collection.flatMap { try? slots.routes.slot($0.anyKey(source.address.name)) }
        }
    }
}

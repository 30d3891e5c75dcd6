import BackendContract
import BackendRuntime

/// Deletes the copies of a value in legacy locations, once the value in its destination is certain to last. This is garbage collection: a
/// copy that cannot be deleted stays as residue, and no value is lost.
struct ResiduePurger: EnginePart, Sendable {
    let engine: Engine

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
        var residue: [String] = []
        for copy in copies {
            if let reason = await purge(copy, for: destination, achieved: achieved) {
                history.ledger.remains(copy.route, of: destination, reason)
                residue.append("\(copy.route.displayName): \(reason)")
            } else {
                history.ledger.isGone(copy.route, of: destination)
            }
        }
        return residue
    }

    /// Deletes a copy. Returns the reason why it remains, or nil if it is gone.
    private func purge(_ copy: SourceRecord, for destination: Route, achieved: StorageDurability) async -> String? {
        guard isCertain(achieved, copy.route, destination) else {
            return "the new value is not certain to survive a power cut yet; a sweep deletes this copy after the next start of the machine"
        }
        do {
            if let needed = try await neededBy(copy.route.slot, except: destination.slot) {
                return "\(needed) still takes its value from it"
            }
            let change = Committer.Change(.delete, copy.route, if: .revision(copy.record.revision))
            let changes = await marks(of: copy) + [change]
            let receipt = try await CallPatience.$limit.withValue(Self.patience) { try await slots.committer.commit(changes) }
            switch receipt.conflict {
            case nil, .absent: return nil
            default: return "it was changed since it was read"
            }
        } catch StorageError.locked { return "it is locked" } catch {
            return (error as? StorageError)?.message ?? "the caller was cancelled"
        }
    }

    /// Returns the change that deletes the mark of a release window, if the copy is a mirror. It is committed with the deletion of the
    /// copy.
    private func marks(of copy: SourceRecord) async -> [Committer.Change] {
        guard copy.record.metadata.origin != nil, let origin = try? await coder.origin(of: copy.record.metadata, copy.route),
            origin.mirrors != nil
        else { return [] }
        let mark = copy.route.beside(in: MirroredLocations.namespace(of: copy.route.address.namespace))
        return [Committer.Change(mark, StorageMutation(mark.address, .delete), isCompanion: true)]
    }

    /// Returns whether a value is as durable as its copy. If the destination's store is less durable than the copy's, which a migration
    /// must allow, the value must be as durable as the destination's store can make it.
    private func isCertain(_ achieved: StorageDurability, _ copy: Route, _ destination: Route) -> Bool {
        achieved >= min(copy.capabilities.durability, destination.capabilities.durability)
    }

    /// Deletes copies of values that were stored in their destinations, in one commit if the store can do that.
    /// - Returns: For each copy, its location with the reason as text if it remains; otherwise an empty list.
    func purgeTogether(_ copies: [SourceRecord], for routes: [Route], achieved: StorageDurability) async -> [[String]] {
        guard let first = copies.first, let place = routes.first else { return [] }
        let isShared = zip(copies, routes).contains { copy, route in
            let (source, destination) = (copy.route.slot, route.slot)
            return history.registry.isNamed(source.placeholder ?? source, except: destination.placeholder ?? destination)
        }
        if isCertain(achieved, first.route, place), !isShared, first.route.capabilities.atomicBatch {
            let changes = copies.map { Committer.Change(.delete, $0.route, if: .revision($0.record.revision)) }
            if let receipt = try? await slots.committer.commit(changes), receipt.isCommitted {
                for (copy, route) in zip(copies, routes) { history.ledger.isGone(copy.route, of: route) }
                return copies.map { _ in [] }
            }
        }
        var residue: [[String]] = []
        for (copy, route) in zip(copies, routes) { residue.append(await purge([copy], for: route, achieved: achieved)) }
        return residue
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

    // MARK: Certainty

    /// Makes content durable that was found in a slot, not written by this call. Returns the achieved durability.
    func settledDurability(of route: Route, _ origin: RecordOrigin?) async throws -> StorageDurability {
        let achieved = try await translatingErrors(key: route.keyName) { () throws(BackendError) in try await route.backend.synchronize() }
        // Reason: "Durability needs the daemon's folder, or a reboot" in Docs/Decisions/Keyring.md.
        if achieved == .untilPowerLoss, let written = origin?.boot, let now = slots.runtime.host.bootID, written != now { return .durable }
        return achieved
    }

    // MARK: Shared sources

    /// The name of another registered key that still needs a slot as its source; nil when none does.
    func neededBy(_ source: PhysicalSlot, except destination: PhysicalSlot) async throws -> String? {
        for other in namers(of: source, except: destination) {
            func isSettled<Key: TypedKey>(_ key: Key) async throws -> Bool {
                try await self.isSettled(Slot(key: key.typed, route: other.route))
            }
            if try await !isSettled(other.key) { return other.name }
        }
        return nil
    }

    /// Returns whether a key no longer needs its sources: its slot has a value that decodes, or a tombstone. A value that does not decode
    /// would be replaced from the sources.
    private func isSettled<Value>(_ slot: Slot<Value>) async throws -> Bool {
        switch try await slot.route.read() {
        case .value(let record):
            do {
                _ = try await coder.decode(record, slot)
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
            func record<Collection: TypedCollection>(_ collection: Collection) -> UntypedSlot? {
                try? slots.routes.slot(for: collection.typed.key(source.address.name)).untyped
            }
            return entry.key.collection.flatMap { record($0) }
        }
    }
}

import BackendContract
import BackendRuntime

/// Deletes copies in legacy locations once the value in its own place is certain to last. It is garbage collection: a copy that stays is residue, never a lost value.
struct ResiduePurger: Sendable {
    let slots: SlotAccess
    let coder: RecordCoder
    let history: History

    init(_ slots: SlotAccess, _ coder: RecordCoder, _ history: History) { (self.slots, self.coder, self.history) = (slots, coder, history) }

    /// How long what is purged in the current task may take at an older place; nil for as long as its store gives a call. Whoever reads a value
    /// has it by then, and does not wait for another process that holds the older place's lock: the copy stays for a sweep.
    @TaskLocal static var patience: Duration?
    /// The patience of a read.
    static let patienceOfReads = Duration.seconds(1)

    /// Deletes copies of a value that is in its place. It never fails: what cannot be deleted is residue, recorded and deleted by a later sweep.
    /// - Parameter achieved: How durable the value in its place is known to be.
    /// - Returns: What remains, in words.
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

    /// Why a copy remains; nil when it is gone.
    private func purge(_ copy: SourceRecord, for destination: Route, achieved: StorageDurability) async -> String? {
        guard isCertain(achieved, copy.route, destination) else {
            return "the new value is not certain to survive a power cut yet; it is removed after the next start of the machine"
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
            default: return "it was changed meanwhile"
            }
        } catch StorageError.locked { return "it is locked" } catch {
            return (error as? StorageError)?.message ?? "the caller was cancelled"
        }
    }

    /// What a release window left beside a copy, and goes with it.
    private func marks(of copy: SourceRecord) async -> [Committer.Change] {
        guard copy.record.metadata.origin != nil, let origin = try? await coder.origin(of: copy.record.metadata, copy.route),
            origin.mirrors != nil
        else { return [] }
        let mark = copy.route.beside(in: MirroredLocations.namespace(of: copy.route.address.namespace))
        return [Committer.Change(mark, StorageMutation(mark.address, .delete), isCompanion: true)]
    }

    /// Whether a value is as durable as its copy was, or as its store can make it where that was allowed.
    private func isCertain(_ achieved: StorageDurability, _ copy: Route, _ destination: Route) -> Bool {
        achieved >= min(copy.capabilities.durability, destination.capabilities.durability)
    }

    /// Deletes copies of values that were stored in their destinations, in one commit if the store can do that.
    /// - Returns: For each copy, what remains, in words.
    func purgeTogether(_ copies: [SourceRecord], for routes: [Route], achieved: StorageDurability) async -> [[String]] {
        guard let first = copies.first, let place = routes.first else { return [] }
        let isShared = !namers(of: first.route.slot, except: place.slot).isEmpty
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
    /// - Throws: ``StorageError`` with `residueRemains` and the outcome `applied` when one of them stays.
    func purgeCopies(_ contents: LegacyLocations.Contents, of slot: UntypedSlot, _ origin: RecordOrigin?) async throws {
        let route = slot.route
        var residue = contents.unreadable.map { "\($0.displayName): it cannot be read now" }
        for place in contents.unreadable { history.ledger.remains(place, of: route, "it could not be read when the value was removed") }
        if !contents.found.isEmpty {
            do {
                residue += await purge(contents.found.reversed(), for: route, achieved: try await settledDurability(of: route, origin))
            } catch {
                // The removal is written. A barrier that failed only means that the copies may not go yet.
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

    /// Makes sure that a value which was found, not written, lasts.
    func settledDurability(of route: Route, _ origin: RecordOrigin?) async throws -> StorageDurability {
        let achieved = try await translatingErrors(key: route.keyName) { () throws(BackendError) in try await route.backend.synchronize() }
        // Reason: "Durability needs the daemon's folder, or a reboot" in Docs/Decisions/Keyring.md.
        if achieved == .untilPowerLoss, let written = origin?.boot, let now = slots.runtime.host.bootID, written != now { return .durable }
        return achieved
    }

    // MARK: Shared sources

    /// The name of another registered key that still needs a slot as its source; nil when none does.
    private func neededBy(_ source: PhysicalSlot, except destination: PhysicalSlot) async throws -> String? {
        for other in namers(of: source, except: destination) {
            func isSettled<Key: TypedKey>(_ key: Key) async throws -> Bool {
                try await self.isSettled(Slot(key: key.typed, route: other.route))
            }
            if try await !isSettled(other.key) { return other.name }
        }
        return nil
    }

    /// Whether a key has what it needs: a value that it can read, or a removal. A value that does not decode would be replaced from its sources.
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

    /// The registered keys that take their values from a slot, without the one at `destination`: for the slot of a record, the collections that take their records from
    /// its collection, each as the record's key there.
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

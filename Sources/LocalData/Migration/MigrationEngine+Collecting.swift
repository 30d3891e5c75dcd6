import BackendContract
import BackendRuntime

extension MigrationEngine {
    /// Removes older copies of a value that stands in its place. It never fails: what cannot be removed is residue, recorded and removed by a later sweep.
    /// - Parameter achieved: How durable the value in its place is known to be.
    /// - Returns: What remains, in words.
    func collect(_ copies: [SourceRecord], for destination: Route, achieved: StorageDurability) async -> [String] {
        var residue: [String] = []
        for copy in copies {
            if let reason = await collect(copy, for: destination, achieved: achieved) {
                ledger.remains(copy.route, of: destination, reason)
                residue.append("\(copy.route.domain)/\(copy.route.keyName): \(reason)")
            } else {
                ledger.isGone(copy.route, of: destination)
            }
        }
        return residue
    }

    private func collect(_ copy: SourceRecord, for destination: Route, achieved: StorageDurability) async -> String? {
        // No copy goes before the value that replaces it is as durable as the copy was - or as the destination can make it, where that was allowed.
        guard
            !safeguards.contains(.durabilityBarrier)
                || achieved >= min(copy.route.capabilities.durability, destination.capabilities.durability)
        else {
            return "the new value is not certain to survive a power cut yet; it is removed after the next start of the machine"
        }
        do {
            if let needed = try await neededBy(copy.route.slot, except: destination.slot) {
                return "\(needed) still takes its value from it"
            }
            switch try await copy.route.apply(.delete, if: .revision(copy.record.revision)) {
            case .applied:
                hub.publish(nil, at: copy.route.slot)
                return nil
            case .conflict(.absent): return nil
            case .conflict: return "it was changed meanwhile"
            case .locked: return "it is locked"
            case .failed(let error): return error.reason
            case .notAttempted: return "it was not attempted"
            }
        } catch {
            return (error as? StorageError)?.message ?? "the caller was cancelled"
        }
    }

    /// The name of another registered key that still needs a slot as its source; nil when none does.
    private func neededBy(_ source: PhysicalSlot, except destination: PhysicalSlot) async throws -> String? {
        guard safeguards.contains(.sharedSources) else { return nil }
        for other in namers(of: source, except: destination) {
            if try await !isSettled(opening: other.key, other.route) { return other.key.name }
        }
        return nil
    }

    /// Whether a key has what it needs: a value that it can read, or a removal. One that does not decode would be replaced from its sources.
    private func isSettled<Key: TypedKey>(opening key: Key, _ route: Route) async throws -> Bool {
        switch try await route.read() {
        case .value(let record):
            do {
                _ = try await records.decode(record, key.typed, route)
                return true
            } catch let error as StorageError where Self.meansUndecodable(error) { return false }
        case .tombstone: return true
        default: return false
        }
    }

    /// Makes sure that a destination which was found, not written, is there to stay.
    func settledDurability(of route: Route, _ origin: RecordOrigin?) async throws -> StorageDurability {
        guard safeguards.contains(.durabilityBarrier) else { return .durable }
        let achieved = try await translatingErrors(key: route.keyName) { () throws(BackendError) in try await route.backend.synchronize() }
        if achieved == .untilPowerLoss, let written = origin?.boot, let now = runtime.host.bootID, written != now { return .durable }
        return achieved
    }

    /// Every older place a key's value may have been in, through the migrations of its sources too: the oldest last. A place that leads back is named once.
    func allSources<Value>(of key: StorageKey<Value>, _ route: Route) throws -> [(key: AnyStorageKey, route: Route)] {
        try allSources(key.migrations.flatMap(\.sources), route)
    }

    func allSources(_ direct: [AnyStorageKey], _ route: Route) throws -> [(key: AnyStorageKey, route: Route)] {
        var seen: Set<PhysicalSlot> = [route.slot]
        var found: [(key: AnyStorageKey, route: Route)] = []
        var open = direct
        while !open.isEmpty {
            let source = open.removeFirst()
            let sourceRoute = try routes.route(for: source)
            guard seen.insert(sourceRoute.slot).inserted else { continue }
            found.append((source, sourceRoute))
            open += source.olderPlaces
        }
        return found
    }

    /// Whether a record in an older collection is of another type than the key that names it: no copy of the key's value, and not the key's to remove.
    private func isOfAnotherType<Key: TypedKey>(_ record: StorageRecord, _ key: Key) -> Bool {
        let key = key.typed
        guard key.demandsTypeTag, !key.acceptsOtherTags, let tag = record.metadata.typeTag else { return false }
        return tag != key.typeTag
    }

    /// The records that older places hold now; places that cannot be looked at are listed apart.
    func readableSources<Value>(of key: StorageKey<Value>, _ route: Route) async throws -> (found: [SourceRecord], unreadable: [Route]) {
        var found: [SourceRecord] = []
        var unreadable: [Route] = []
        for (source, sourceRoute) in try allSources(of: key, route) {
            let probe: StorageProbe
            do { probe = try await sourceRoute.read() } catch is CancellationError { throw CancellationError() } catch {
                unreadable.append(sourceRoute)
                continue
            }
            switch probe {
            case .value(let record) where isOfAnotherType(record, source.base): continue
            case .value(let record): found.append(SourceRecord(key: source, route: sourceRoute, record: record))
            case .absent, .tombstone: continue
            case .locked, .unavailable, .corrupt: unreadable.append(sourceRoute)
            }
        }
        return (found, unreadable)
    }
}

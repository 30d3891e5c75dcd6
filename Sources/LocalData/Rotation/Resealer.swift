import BackendContract
import BackendRuntime
import Sealing

/// Reseals data in its slots: it decrypts data that an earlier key of a key source sealed, and encrypts it with the
/// current key of that source.
///
/// Values, tombstones (the records of removals) and all other metadata do not change, but each resealed record gets a
/// new revision. Other data may refer to the old revision: a migrated value refers to its older copies, and a copy that
/// is kept for earlier releases of the program refers to the value. Each resealed record therefore stores its previous
/// revision, so that these references stay valid.
package struct Resealer: EnginePart, Sendable {
    let engine: Engine
    let source: any KeySource
    let keys: SourceKeys

    /// The result for all namespaces.
    package struct Outcome: Sendable {
        /// The number of values and tombstones that were resealed.
        package var resealed = 0
        /// Descriptions of the data that an earlier key still seals, and of the data that could not be read.
        package var remaining: [String] = []
    }

    private static let batch = 64

    /// Reseals the data of earlier keys in all namespaces.
    /// - Parameters:
    ///   - isOnlyLook: Whether to list the data without changing it.
    ///   - progress: Called after each namespace with the number of resealed values.
    func run(isOnlyLook: Bool = false, _ progress: (Int) -> Void = { _ in }) async throws -> Outcome {
        var outcome = Outcome()
        for part in try SealedPlaces(engine: engine).parts(of: source) {
            try Task.checkCancellation()
            do {
                let found = try await reseal(part, isOnlyLook)
                outcome.resealed += found.resealed
                outcome.remaining += found.remaining
            } catch let error as StorageError {
                // A locked store does not prevent the work on other stores.
                outcome.remaining.append("\(part.template.domain): \(error.message)")
            }
            progress(outcome.resealed)
        }
        return outcome
    }

    private func reseal(_ part: SealedPlaces.Part, _ isOnlyLook: Bool) async throws -> Outcome {
        let template = part.template
        if template.isLocked { throw template.error(for: .locked) }
        let addresses = try await translating(template.keyName, await template.backend.addresses(in: part.namespace))
        var outcome = Outcome()
        for names in addresses.map(\.name).parts(of: Self.batch) {
            let found = try await look(at: Array(names), part)
            outcome.remaining += found.damaged.map { "\(template.domain)/\($0): It is damaged, and may need an older key." }
            if isOnlyLook {
                outcome.remaining += found.older.map { "\(template.domain)/\($0)" }
            } else {
                try await reseal(found.older, part, &outcome)
            }
        }
        return outcome
    }

    /// Reads slots. Returns the names of slots that an earlier key sealed, and the names of damaged slots. A damaged
    /// slot may need an earlier key, too.
    private func look(at names: [String], _ part: SealedPlaces.Part) async throws -> (older: [String], damaged: [String]) {
        var (older, damaged) = ([String](), [String]())
        for (name, probe) in zip(names, try await read(names.map(part.route), part)) {
            switch probe {
            case .corrupt: damaged.append(name)
            default: if isOlder(probe) { older.append(name) }
            }
        }
        return (older, damaged)
    }

    /// Reads slots from the store, not from a cache, and does not verify their seals.
    private func read(_ routes: [Route], _ part: SealedPlaces.Part) async throws -> [StorageProbe] {
        let probes = try await translating(part.template.keyName, await part.template.backend.read(routes.map(\.address), .fresh))
        return try probes.map(part.template.known)
    }

    /// Returns whether a slot's seal or metadata names an earlier key of the source.
    private func isOlder(_ probe: StorageProbe) -> Bool {
        guard let named = probe.metadata?.sealing else { return false }
        let inside = probe.sealID
        return keys.others.contains { SealingKey.name(of: $0.id) == named || $0.id == inside }
    }

    /// Reseals slots, in one commit if the store supports it. A slot that cannot be resealed does not prevent the work
    /// on the others.
    private func reseal(_ names: [String], _ part: SealedPlaces.Part, _ outcome: inout Outcome) async throws {
        if names.count > 1, part.template.capabilities.atomicBatch {
            let isDone = try await slots.unbroken { [self] in try await resealTogether(names, part) }
            if isDone {
                outcome.resealed += names.count
                return
            }
        }
        for name in names {
            do {
                try await slots.unbroken { [self] in try await reseal(name, part) }
                outcome.resealed += 1
            } catch let error as StorageError {
                outcome.remaining.append("\(part.template.domain)/\(name): \(error.message)")
            }
        }
    }

    /// Reseals slots in one commit, and returns whether it succeeded. After a failure, the caller reads and reseals
    /// each slot alone.
    private func resealTogether(_ names: [String], _ part: SealedPlaces.Part) async throws -> Bool {
        let routes = names.map(part.route)
        return try await slots.lanes.withLanes(routes.map(\.slot), keyName: part.template.keyName) {
            do {
                var changes: [Committer.Change] = []
                for ((name, route), seen) in zip(zip(names, routes), try await read(routes, part)) {
                    guard isOlder(seen) else { return false }
                    changes.append(try await change(seen, route, part.boundRoute(name)))
                }
                return try await executor.run(Moves(writes: changes, comparesBytes: false)) != nil
            } catch is StorageError { return false }
        }
    }

    private func reseal(_ name: String, _ part: SealedPlaces.Part) async throws {
        let route = part.route(name)
        try await slots.withLane(route) {
            try await slots.retrying(name) { () -> Void? in
                guard let seen = try await read([route], part).first, isOlder(seen) else { return () }
                let change = try await change(seen, route, part.boundRoute(name))
                return try await executor.run(Moves(writes: [change], comparesBytes: false)).map { _ in () }
            }
        }
    }

    /// Returns the change that reseals a slot, unless the slot has changed since it was read.
    /// - Parameter bound: The slot to which the seal is bound: for a backup copy, the original slot; otherwise the slot
    ///   itself.
    private func change(_ seen: StorageProbe, _ route: Route, _ bound: Route) async throws -> Committer.Change {
        guard seen.sealID.map(SealingKey.name(of:)) == seen.metadata?.sealing else { throw Self.damage(route.keyName) }
        var change = Committer.Change(try await resealed(seen, bound), route, if: seen.unchanged)
        // A copy that is bound to another slot does not open in this slot.
        change.isCompanion = bound.slot != route.slot
        return change
    }

    /// Returns the operation that writes the same value or tombstone, sealed with the current key.
    private func resealed(_ probe: StorageProbe, _ route: Route) async throws -> StorageMutation.Operation {
        switch probe {
        case .value(let record):
            let past = try await coder.origin(of: record.metadata, route)
            return try await coder.restated(record.payload, record.metadata, Self.origin(past, record.revision), route).operation
        case .tombstone(let tombstone):
            let past = try await coder.origin(of: tombstone.metadata, route)
            return .tombstone(try await coder.restated(tombstone.metadata, Self.origin(past, tombstone.revision), route))
        case .absent, .corrupt, .locked, .unavailable: return .check
        }
    }

    private static func damage(_ name: String) -> StorageError {
        StorageError(.corrupted, key: name, "Its seal and metadata name different keys. Remove it or restore it from a backup.")
    }

    private static func origin(_ past: RecordOrigin?, _ revision: StorageRevision) -> RecordOrigin {
        var origin = past ?? RecordOrigin()
        origin.recordRewrite(of: revision, past)
        return origin
    }
}

extension StorageProbe {
    /// The id of the key that sealed a value, or the origin of a tombstone; nil if nothing is sealed.
    fileprivate var sealID: [UInt8]? {
        switch self {
        case .value(let record):
            if case .bytes(let sealed) = record.payload { Envelope.keyID(of: sealed) } else { nil }
        case .tombstone(let tombstone): tombstone.metadata.origin.flatMap(Envelope.keyID(of:))
        default: nil
        }
    }
}

import BackendContract
import BackendRuntime
import Sealing

/// Seals what older keys of a source have sealed with its present key, where it stands. Values, removals and what is said beside them stay what they are; each record says
/// under which revision it stood before, so that copies and mirrors of it are still known.
package struct Resealer: Sendable {
    let env: Environment
    let source: any KeySource
    let keys: SourceKeys

    /// What a look at every part found.
    package struct Outcome: Sendable {
        /// How many values and removals were sealed again.
        package var resealed = 0
        /// What is sealed with an older key, or could not be looked at, in words.
        package var remaining: [String] = []
    }

    private static let batch = 64

    /// Looks at every part, and seals again what older keys have sealed.
    /// - Parameters:
    ///   - isOnlyLook: Whether nothing is changed.
    ///   - progress: Told how many were sealed again, after each part.
    func run(isOnlyLook: Bool = false, _ progress: (Int) -> Void = { _ in }) async throws -> Outcome {
        var outcome = Outcome()
        for part in try SealedPlaces(env).parts(of: source) {
            try Task.checkCancellation()
            do {
                let found = try await reseal(part, isOnlyLook)
                outcome.resealed += found.resealed
                outcome.remaining += found.remaining
            } catch let error as StorageError {
                // One store that is locked keeps no other from it.
                outcome.remaining.append("\(part.template.domain): \(error.message)")
            }
            progress(outcome.resealed)
        }
        return outcome
    }

    private func reseal(_ part: SealedPlaces.Part, _ isOnlyLook: Bool) async throws -> Outcome {
        let template = part.template
        if template.isLocked { throw template.error(for: .locked) }
        let addresses = try await translatingErrors(key: template.keyName) { () throws(BackendError) in
            try await template.backend.addresses(in: part.namespace)
        }
        var outcome = Outcome()
        var names = addresses.map(\.name)[...]
        while !names.isEmpty {
            let some = Array(names.prefix(Self.batch))
            names = names.dropFirst(Self.batch)
            let found = try await look(at: some, part)
            outcome.remaining += found.damaged.map { "\(template.domain)/\($0): It is damaged, and may need an older key." }
            if isOnlyLook {
                outcome.remaining += found.older.map { "\(template.domain)/\($0)" }
            } else {
                try await reseal(found.older, part, &outcome)
            }
        }
        return outcome
    }

    /// Those of some slots whose content names an older key, and those whose content does not say which key it needs.
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

    /// What slots hold as a new process would see it, whatever their seals say.
    private func read(_ routes: [Route], _ part: SealedPlaces.Part) async throws -> [StorageProbe] {
        let probes = try await translatingErrors(key: part.template.keyName) { () throws(BackendError) in
            try await part.template.backend.read(routes.map(\.address), .fresh)
        }
        return try probes.map(part.template.known)
    }

    /// Whether a slot's content names a key of the source that only opens: in its seal, or beside it.
    private func isOlder(_ probe: StorageProbe) -> Bool {
        guard let named = probe.metadata?.sealing else { return false }
        let inside = probe.sealID
        return keys.others.contains { SealingKey.name(of: $0.id) == named || $0.id == inside }
    }

    /// Seals slots again, in one commit where the store can; one that this does not work for keeps no other from it.
    private func reseal(_ names: [String], _ part: SealedPlaces.Part, _ outcome: inout Outcome) async throws {
        if names.count > 1, part.template.capabilities.atomicBatch {
            let isDone = try await env.unbroken { [self] in try await resealTogether(names, part) }
            if isDone {
                outcome.resealed += names.count
                return
            }
        }
        for name in names {
            do {
                try await env.unbroken { [self] in try await reseal(name, part) }
                outcome.resealed += 1
            } catch let error as StorageError {
                outcome.remaining.append("\(part.template.domain)/\(name): \(error.message)")
            }
        }
    }

    /// Whether slots could be sealed again in one commit. Where not, each is looked at again alone.
    private func resealTogether(_ names: [String], _ part: SealedPlaces.Part) async throws -> Bool {
        let routes = names.map(part.route)
        return try await env.lanes.withLanes(routes.map(\.slot), keyName: part.template.keyName) {
            do {
                var changes: [Committer.Change] = []
                for ((name, route), seen) in zip(zip(names, routes), try await read(routes, part)) {
                    guard isOlder(seen) else { return false }
                    changes.append(try await change(seen, route, part.boundRoute(name)))
                }
                return try await env.committer.commit(changes, readsBack: true).isCommitted
            } catch is StorageError { return false }
        }
    }

    private func reseal(_ name: String, _ part: SealedPlaces.Part) async throws {
        let route = part.route(name)
        try await env.withLane(route) {
            try await env.retrying(name) { () -> Void? in
                guard let seen = try await read([route], part).first, isOlder(seen) else { return () }
                let change = try await change(seen, route, part.boundRoute(name))
                return try await env.committer.commit([change], readsBack: true).isCommitted ? () : nil
            }
        }
    }

    /// What seals a slot again, if it is unchanged.
    private func change(_ seen: StorageProbe, _ route: Route, _ bound: Route) async throws -> Committer.Change {
        guard seen.sealID.map(SealingKey.name(of:)) == seen.metadata?.sealing else { throw Self.damage(route.keyName) }
        var change = Committer.Change(try await resealed(seen, bound), route, if: seen.unchanged)
        // A copy that is bound to another slot does not open where it stands.
        change.isCompanion = bound.slot != route.slot
        return change
    }

    /// The same value or removal, sealed with the present key.
    private func resealed(_ probe: StorageProbe, _ route: Route) async throws -> StorageMutation.Operation {
        switch probe {
        case .value(let record):
            let past = try await env.coder.origin(of: record.metadata, route)
            return try await env.coder.restated(record.payload, record.metadata, Self.origin(past, record.revision), route).operation
        case .tombstone(let tombstone):
            let past = try await env.coder.origin(of: tombstone.metadata, route)
            return .tombstone(try await env.coder.restated(tombstone.metadata, Self.origin(past, tombstone.revision), route))
        case .absent, .corrupt, .locked, .unavailable: return .check
        }
    }

    private static func damage(_ name: String) -> StorageError {
        StorageError(
            StorageError.corrupted, key: name, "It names two keys, so it is damaged. Remove it or restore it from a backup.")
    }

    private static func origin(_ past: RecordOrigin?, _ revision: StorageRevision) -> RecordOrigin {
        var origin = past ?? RecordOrigin()
        origin.recordRewrite(of: revision, past)
        return origin
    }
}

extension StorageProbe {
    /// The id of the key in the seal of a value, or of a removal; nil for what has none.
    fileprivate var sealID: [UInt8]? {
        switch self {
        case .value(let record):
            if case .bytes(let sealed) = record.payload { Envelope.keyID(of: sealed) } else { nil }
        case .tombstone(let tombstone): tombstone.metadata.origin.flatMap(Envelope.keyID(of:))
        default: nil
        }
    }
}

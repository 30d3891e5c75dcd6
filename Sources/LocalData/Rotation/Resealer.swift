import BackendContract
import BackendRuntime
import Sealing

/// Seals what older keys of a source have sealed with its present key, where it stands. Values, removals and what is said beside them stay what they are; each record says
/// under which revision it stood before, so that copies and mirrors of it are still known.
struct Resealer: Sendable {
    let env: Environment
    let source: any KeySource
    let keys: SourceKeys

    /// What a look at every part found.
    struct Outcome: Sendable {
        /// How many values and removals were sealed again.
        var resealed = 0
        /// What is sealed with an older key, or could not be looked at, in words.
        var remaining: [String] = []
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
        if template.isLocked { throw StorageError.locked(template.keyName, template.domain) }
        let addresses = try await translatingErrors(key: template.keyName) { () throws(BackendError) in
            try await template.backend.addresses(in: part.namespace)
        }
        var outcome = Outcome()
        var names = addresses.map(\.name)[...]
        while !names.isEmpty {
            let some = Array(names.prefix(Self.batch))
            names = names.dropFirst(Self.batch)
            let found = try await older(some, part)
            if isOnlyLook {
                outcome.remaining += found.map { "\(template.domain)/\($0)" }
                continue
            }
            for name in found {
                do {
                    try await env.unbroken { [self] in try await reseal(name, part) }
                    outcome.resealed += 1
                } catch let error as StorageError {
                    outcome.remaining.append("\(template.domain)/\(name): \(error.message)")
                }
            }
        }
        return outcome
    }

    /// Those of some slots whose content names an older key.
    private func older(_ names: [String], _ part: SealedPlaces.Part) async throws -> [String] {
        let routes = names.map(part.route)
        let probes = try await translatingErrors(key: part.template.keyName) { () throws(BackendError) in
            try await part.template.backend.read(routes.map(\.address), .fresh)
        }
        var found: [String] = []
        for (name, probe) in zip(names, probes) {
            switch probe {
            case .locked, .unavailable: _ = try part.template.known(probe)
            default: if isOlder(probe) { found.append(name) }
            }
        }
        return found
    }

    /// Whether a slot's content names a key of the source that only opens: in its seal, or beside it.
    private func isOlder(_ probe: StorageProbe) -> Bool {
        guard let named = probe.metadata?.sealing else { return false }
        let inside = probe.sealID
        return keys.others.contains { RecordSeals.text(of: $0.id) == named || $0.id == inside }
    }

    private func reseal(_ name: String, _ part: SealedPlaces.Part) async throws {
        let (route, bound) = (part.route(name), part.boundRoute(name))
        try await env.withLane(route) {
            try await env.retrying(name) { () -> Void? in
                guard let seen = try await route.backendProbe(), isOlder(seen) else { return () }
                guard seen.sealID.map(RecordSeals.text) == seen.metadata?.sealing else { throw Self.damage(name) }
                let operation = try await resealed(seen, bound)
                var change = Committer.Change(
                    operation, route, if: env.safeguards.contains(.resealedUnchanged) ? seen.unchanged : .none)
                // A copy that is bound to another slot does not open where it stands.
                change.isCompanion = bound.slot != route.slot
                return try await env.committer.commit([change], readsBack: true).isCommitted ? () : nil
            }
        }
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

extension Route {
    /// What the slot holds as a new process would see it, whatever its seal says; nil where that cannot be known.
    fileprivate func backendProbe() async throws -> StorageProbe? { try known(try await look(.fresh)) }
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

import BackendContract

/// Says of a slot with sealed values what may be believed of it. What stands beside a seal is written by whoever can write to the store: it
/// counts once the seal was opened.
protocol SealVerifier: Sendable {
    /// Judges what was read from a slot.
    /// - Throws: `BackendError` when the caller was cancelled.
    func judgement(of probe: StorageProbe, at route: Route) async throws(BackendError) -> SealJudgement
}

/// What may be believed of a slot with sealed values.
enum SealJudgement: Sendable {
    /// The probe, proven: a value or removal that this program's key has sealed there, as it is; `corrupt` for one that is not.
    case proven(StorageProbe)
    /// There is no key to prove it with. The probe says no more than can be said without: a value that does not expire, and no removal.
    case unproven(StorageProbe, BackendError)

    /// What may be believed.
    var probe: StorageProbe {
        switch self {
        case .proven(let probe), .unproven(let probe, _): probe
        }
    }
}

extension Route {
    /// Looks at the slot, and believes what stands there: only for a caller that opens the value before it uses anything beside it.
    func look(_ freshness: ReadFreshness = .validated) async throws -> StorageProbe {
        let probe = try await lookAtStore(freshness)
        return witnesses == nil ? probe : try await heeded(probe)
    }

    /// The same where the store can tell at once; nil where only ``look(_:)`` can tell.
    func immediateProbe() -> StorageProbe? {
        guard let immediate, witnesses == nil, !isLocked, !Task.isCancelled else { return nil }
        return immediate.immediateProbe(of: address)
    }

    /// The same without asking the witness of the value.
    func lookAtStore(_ freshness: ReadFreshness) async throws -> StorageProbe {
        if isLocked {
            if gate.isShutDown { throw gate.refusal(keyName) }
            return .locked
        }
        let probe: StorageProbe?
        do throws(BackendError) { probe = try await backend.read([address], freshness).first } catch {
            throw StorageError.from(error, key: keyName)
        }
        return probe ?? .unavailable(BackendError(.failed, "The backend \(backend.identity) returned no probe for one address."))
    }

    /// What may be believed of what was read from the slot.
    func judged(_ probe: StorageProbe) async throws -> StorageProbe { try await judgement(of: probe).probe }

    /// What may be believed of what was read from the slot, and whether it is proven.
    func judgement(of probe: StorageProbe) async throws -> SealJudgement {
        guard let judge else { return .proven(probe) }
        return try await translatingErrors(key: keyName) { () throws(BackendError) in try await judge.judgement(of: probe, at: self) }
    }

    /// What slots of one store hold, read with one call.
    static func read(_ routes: [Route], _ freshness: ReadFreshness) async throws -> [StorageProbe] {
        guard let first = routes.first else { return [] }
        if first.isLocked {
            if first.gate.isShutDown { throw first.gate.refusal(first.keyName) }
            return routes.map { _ in .locked }
        }
        let probes = try await translatingErrors(key: first.keyName) { () throws(BackendError) in
            try await first.backend.read(routes.map(\.address), freshness)
        }
        var judged: [StorageProbe] = []
        for (route, probe) in zip(routes, probes) { judged.append(try await route.judged(try await route.heeded(probe))) }
        return judged
    }
}

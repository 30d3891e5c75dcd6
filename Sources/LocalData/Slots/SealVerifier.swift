import BackendContract

/// Verifies the content of slots with sealed values. Any program that can write to the store can change the metadata beside a seal, so this
/// metadata counts only after the seal was opened.
protocol SealVerifier: Sendable {
    /// Verifies the result of a read of a slot.
    /// - Throws: `BackendError` if the caller was cancelled.
    func judgement(of probe: StorageProbe, at route: Route) async throws(BackendError) -> SealJudgement
}

/// The result of verifying the content of a slot with sealed values.
enum SealJudgement: Sendable {
    /// The verified probe. A value or tombstone that the program's key sealed in this slot is unchanged. A value without a seal lacks its
    /// expiry, version and type, because nothing proves them. Any other value or tombstone is `corrupt`.
    case proven(StorageProbe)
    /// The key that could verify the seal is not available. The probe contains only what needs no proof: it may be a value without an
    /// expiry, but never a tombstone.
    case unproven(StorageProbe, BackendError)

    /// The verified probe, or without a key, the part that needs no proof.
    var probe: StorageProbe {
        switch self {
        case .proven(let probe), .unproven(let probe, _): probe
        }
    }
}

extension Route {
    /// Reads the slot and checks its witness, but does not verify its seal. Only for a caller that opens the value before it uses the
    /// metadata.
    func look(_ freshness: ReadFreshness = .validated) async throws -> StorageProbe {
        let probe = try await lookAtStore(freshness)
        return witnesses == nil ? probe : try await heeded(probe)
    }

    /// Returns the result of ``look(_:)`` if the store has it at once; nil if the caller must call ``look(_:)``.
    func immediateProbe() -> StorageProbe? {
        guard let immediate, isPlain, !isLocked, !Task.isCancelled else { return nil }
        return immediate.immediateProbe(of: address)
    }

    /// Like ``look(_:)``, but does not check the witness of the value.
    func lookAtStore(_ freshness: ReadFreshness) async throws -> StorageProbe {
        if try isRefused() { return .locked }
        let probe = try await translating(keyName, await backend.read([address], freshness)).first
        return probe ?? .unavailable(BackendError(.failed, "The backend \(backend.identity) returned no probe for one address."))
    }

    /// Returns whether the program has locked the store. Throws an error if the router is shut down.
    private func isRefused() throws -> Bool {
        guard isLocked else { return false }
        if gate.isShutDown { throw gate.refusal(keyName) }
        return true
    }

    /// Returns the verified content of the slot.
    /// - Parameter probe: The result of a read of the slot.
    func judged(_ probe: StorageProbe) async throws -> StorageProbe { try await judgement(of: probe).probe }

    /// Verifies the result of a read of the slot. Without a verifier, it counts as proven.
    func judgement(of probe: StorageProbe) async throws -> SealJudgement {
        guard let judge else { return .proven(probe) }
        return try await translatingErrors(key: keyName) { () throws(BackendError) in try await judge.judgement(of: probe, at: self) }
    }

    /// Reads slots of one store with one call, and verifies the results.
    static func read(_ routes: [Route], _ freshness: ReadFreshness) async throws -> [StorageProbe] {
        guard let first = routes.first else { return [] }
        if try first.isRefused() { return routes.map { _ in .locked } }
        let probes = try await translating(first.keyName, await first.backend.read(routes.map(\.address), freshness))
        var judged: [StorageProbe] = []
        for (route, probe) in zip(routes, probes) { judged.append(try await route.judged(try await route.heeded(probe))) }
        return judged
    }
}

/// Calls a backend, and converts a `BackendError` to an error that the router may throw.
package func translating<R>(_ key: String, _ call: @autoclosure () async throws(BackendError) -> R) async throws -> R {
    do throws(BackendError) { return try await call() } catch { throw StorageError.from(error, key: key) }
}

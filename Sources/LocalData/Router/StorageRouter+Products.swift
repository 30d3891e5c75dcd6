package import BackendContract
import BackendRuntime
package import Sealing

/// What `LocalDataBackup` uses of a router, beside ``BackupHost``.
extension StorageRouter {
    /// The stores of a program, while its backup is made.
    package struct BackedRouter: Sendable {
        package let host: any BackupHost
        /// Where the program's keys lead, in this run and in earlier ones.
        package let domains: Set<StorageDomain>
        /// The key sources that were used.
        package let references: Set<KeySourceReference>
        package let keys: SealingKeys
        fileprivate let gate: LockGate

        /// Fails once the program has locked the router or a domain: work with all stores goes no further then.
        package func requireUnlocked() throws {
            if gate.isAnyLocked { throw gate.refusal("backup") }
        }

        /// Whether the program has locked the router or a domain.
        package var isAnyLocked: Bool { gate.isAnyLocked }
    }

    /// Runs a backup of this router's stores. Locks of the program wait for its end, for a while.
    /// - Throws: ``StorageError``: `unsupported` where nothing is on a disk, `unavailable` while a restore is unfinished, `locked`.
    package nonisolated func backing<R>(_ body: (BackedRouter) async throws -> R) async throws -> R {
        guard let host = stores as? any BackupHost, try configuration.directories != nil else {
            throw StorageError(
                StorageError.unsupported, key: "backup", "Nothing of this configuration is on a disk. There is nothing to back up.")
        }
        try RestoreMark.requireNone(configuration)
        guard env.gate.begin() else { throw env.gate.refusal("backup") }
        defer { env.gate.end() }
        await env.ledger.flush()
        let recorded = try await translatingErrors(key: "backup") { () throws(BackendError) in try await env.ledger.domains() }
        return try await body(
            BackedRouter(
                host: host, domains: env.routes.usedDomains.union(recorded), references: env.routes.usedKeySources,
                keys: env.coder.seals.keys, gate: env.gate))
    }

    /// The store of a domain, by what it offers.
    /// - Parameter otherwise: What to say of a store that does not offer it.
    package nonisolated func store<Store>(of domain: StorageDomain, as type: Store.Type = Store.self, otherwise: String) throws -> Store {
        let (_, backend) = try env.routes.backend(for: domain, key: "\(domain)")
        if let store = backend as? Store { return store }
        throw StorageError(StorageError.unsupported, key: "\(domain)", "\(otherwise) Nothing was changed.")
    }

    /// Exports damaged records, sets them aside and removes them.
    package nonisolated var salvage: Salvage { Salvage(env) }

    /// The source that a reference names, unless the whole router is locked.
    package nonisolated func keySource(_ reference: KeySourceReference) throws -> any KeySource {
        if env.gate.isClosed { throw env.gate.refusal("\(reference)") }
        return try env.coder.seals.sources(reference)
    }

    /// What the rotation of a source's key uses of this router.
    package nonisolated func rotationAccess(of reference: KeySourceReference) throws -> RotationAccess {
        RotationAccess(env: env, source: try env.coder.seals.sources(reference), wiring: stores as? Wiring)
    }

    /// Changes a value as ``update(_:_:)`` does, and what is said beside it.
    /// - Parameters:
    ///   - attributes: The attributes of the new value.
    ///   - lifetime: How long the new value is valid; nil for the key's own.
    package nonisolated func update<Value, R: Sendable>(
        _ key: StorageKey<Value>, attributes: [String: String], lifetime: Duration?, _ body: @Sendable (inout Value?) throws -> R
    ) async throws -> R {
        var facts = WriteAttributes(attributes: attributes.mapValues { $0 })
        if let lifetime { facts.expiry = .after(lifetime) }
        return try await ValueWriter(env).update(try entry(key), self, facts: facts, body)
    }
}

/// What the rotation of a source's key uses of a router.
package struct RotationAccess: Sendable {
    fileprivate let env: Environment
    package let source: any KeySource
    fileprivate let wiring: Wiring?

    package var keys: SealingKeys { env.coder.seals.keys }

    /// Whether catalogs tell where values are.
    package var hasCatalogs: Bool { !env.registry.catalogs.isEmpty }

    /// The stores that keys of the source open, and the ids of these keys.
    package func keyedStores() async throws(BackendError) -> [StorageDomain: Set<[UInt8]>] {
        try await wiring?.keyedStores(of: source) ?? [:]
    }

    /// Seals with the present key what older keys have sealed: values of the catalogs, and the quarantine.
    /// - Parameter isOnlyLook: Whether nothing is changed.
    package func reseal(_ keys: SourceKeys, isOnlyLook: Bool = false, _ progress: (Int) -> Void = { _ in }) async throws -> Resealer.Outcome
    {
        let values = try await Resealer(env: env, source: source, keys: keys).run(isOnlyLook: isOnlyLook, progress)
        let kept = try await env.quarantine.reseal(source, keys, isOnlyLook: isOnlyLook)
        return Resealer.Outcome(resealed: values.resealed + kept.resealed, remaining: values.remaining + kept.remaining)
    }

    /// Waits until the changes of this process that are under way have ended; they may write what an older key has sealed.
    /// - Returns: Whether all of them have ended.
    package func drain(_ limit: Duration) async -> Bool {
        let clock = env.runtime.clock
        let deadline = clock.now.advanced(by: limit)
        let calls = env.lanes.holders
        while env.lanes.isBusy(with: calls) {
            guard clock.now < deadline else { return false }
            await clock.wait(.milliseconds(2))
        }
        return true
    }
}

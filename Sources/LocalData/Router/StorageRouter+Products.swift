package import BackendContract
import BackendRuntime
package import Sealing

/// The interface of a router for the product `LocalDataBackup`.
extension StorageRouter {
    /// The stores, keys and locks of a router during a backup.
    package struct BackedRouter: Sendable {
        package let wiring: Wiring
        /// The domains whose keys the program has used, in this run or in earlier runs.
        package let domains: Set<StorageDomain>
        /// The key sources that this router has used.
        package let references: Set<KeySourceReference>
        package let keys: SealingKeys
        fileprivate let gate: LockGate

        /// Throws if the program has locked the router or a domain. A call that uses all stores must then stop.
        package func requireUnlocked() throws {
            if gate.isAnyLocked { throw gate.refusal("backup") }
        }

        /// Whether the program has locked the router or a domain.
        package var isAnyLocked: Bool { gate.isAnyLocked }
    }

    /// Runs a backup of this router's stores. If a call locks the router during the backup, that call waits for the
    /// backup, up to its limit.
    /// - Throws: ``StorageError``: `unsupported` if the configuration stores nothing on a disk; `unavailable` while a
    ///   restore is unfinished; `locked`.
    package nonisolated func backing<R>(_ body: (BackedRouter) async throws -> R) async throws -> R {
        guard let wiring = stores as? Wiring, try configuration.directories != nil else {
            throw StorageError(.unsupported, key: "backup", "This configuration stores nothing on a disk, so a backup would be empty.")
        }
        try RestoreMark.requireNone(configuration)
        guard slots.routes.gate.begin() else { throw slots.routes.gate.refusal("backup") }
        defer { slots.routes.gate.end() }
        await history.ledger.flush()
        let recorded = try await translatingErrors(key: "backup") { () throws(BackendError) in try await history.ledger.domains() }
        return try await body(
            BackedRouter(
                wiring: wiring, domains: slots.routes.usedDomains.union(recorded), references: slots.routes.usedKeySources,
                keys: coder.seals.keys, gate: slots.routes.gate))
    }

    /// Returns the store of a domain as a type with further functions.
    /// - Parameter otherwise: The error message if the store does not have this type.
    /// - Throws: ``StorageError``: `unsupported` if the store does not have this type.
    package nonisolated func store<Store>(of domain: StorageDomain, as type: Store.Type = Store.self, otherwise: String) throws -> Store {
        let (_, backend) = try slots.routes.backend(for: domain, key: "\(domain)")
        if let store = backend as? Store { return store }
        throw StorageError(StorageError.unsupported, key: "\(domain)", "\(otherwise) Nothing was changed.")
    }

    /// The functions that export damaged records, set them aside and remove them.
    package nonisolated var salvage: Salvage { Salvage(engine: engine) }

    /// Returns the key source that a reference names. Throws if the whole router is locked.
    package nonisolated func keySource(_ reference: KeySourceReference) throws -> any KeySource {
        if slots.routes.gate.isClosed { throw slots.routes.gate.refusal("\(reference)") }
        return try coder.seals.sources(reference)
    }

    /// Returns the interface of this router for key rotation: replacing the current key of a key source.
    package nonisolated func rotationAccess(of reference: KeySourceReference) throws -> RotationAccess {
        RotationAccess(engine: engine, source: try coder.seals.sources(reference), wiring: stores as? Wiring)
    }

    /// Changes a value as ``update(_:_:)`` does, and also sets the attributes and the lifetime of the new value.
    /// - Parameters:
    ///   - attributes: The attributes to set.
    ///   - lifetime: The time during which the new value is valid; nil for the key's lifetime.
    package nonisolated func update<Value, R: Sendable>(
        _ key: StorageKey<Value>, attributes: [String: String], lifetime: Duration?, _ body: @Sendable (inout Value?) throws -> R
    ) async throws -> R {
        var facts = WriteAttributes(attributes: attributes.mapValues { $0 })
        if let lifetime { facts.expiry = .after(lifetime) }
        return try await update(try entry(key), facts: facts, body)
    }

    /// Reads the value at a key's destination, possibly from a copy of the store that is behind, such as a standby.
    /// Legacy locations are not read, and nothing is written.
    /// - Parameter limit: The age that the result may have.
    package nonisolated func staleValue<Value>(for key: StorageKey<Value>, upTo limit: Duration) async throws -> Value? {
        try await call("value", key) { try await valueReader.stale(try entry(key), upTo: limit) }
    }
}

/// The interface of a router for key rotation: replacing the current key of a key source.
package struct RotationAccess: EnginePart, Sendable {
    let engine: Engine
    package let source: any KeySource
    fileprivate let wiring: Wiring?

    package var keys: SealingKeys { coder.seals.keys }

    /// Whether a catalog is registered. Catalogs list the keys whose values can be sealed again.
    package var hasCatalogs: Bool { !history.registry.catalogs.isEmpty }

    /// Returns the domains of databases whose data keys are encrypted with keys of the source. For each domain, it
    /// returns the ids of these keys.
    package func keyedStores() async throws(BackendError) -> [StorageDomain: Set<[UInt8]>] {
        try await wiring?.keyedStores(of: source) ?? [:]
    }

    /// Returns the library's internal stores that are encrypted as a whole, which are those on a server. The caller closes
    /// them.
    package func sealedOwnStores() throws -> [(name: String, store: any StorageBackend & RecipientStore)] {
        try wiring?.sealedOwnStores() ?? []
    }

    /// Reseals data: decrypts data that an older key sealed, and encrypts it with the present key. This covers the
    /// values of the registered catalogs, and the quarantine.
    /// - Parameter isOnlyLook: Whether to list the data without changing it.
    package func reseal(_ keys: SourceKeys, isOnlyLook: Bool = false, _ progress: (Int) -> Void = { _ in }) async throws -> Resealer.Outcome
    {
        let values = try await Resealer(engine: engine, source: source, keys: keys).run(
            isOnlyLook: isOnlyLook, progress)
        let kept = try await history.quarantine.reseal(source, keys, isOnlyLook: isOnlyLook)
        return Resealer.Outcome(resealed: values.resealed + kept.resealed, remaining: values.remaining + kept.remaining)
    }

    /// Waits until the running changes of this process have ended, because they may still write data that an older key
    /// has sealed.
    /// - Parameter limit: The longest time to wait.
    /// - Returns: Whether all of them have ended.
    package func drain(_ limit: Duration) async -> Bool {
        let calls = slots.lanes.holders
        return await slots.runtime.clock.wait(atMost: limit) { slots.lanes.isBusy(with: calls) }
    }
}

package import BackendContract
package import Logging

/// The interface of a router for the product `LocalDataPlans`, which migrates data by plans. Apart from this protocol
/// and the types in it, that product uses nothing of the core.
package protocol PlanHost: Sendable {
    /// The logger for notices.
    var logger: Logger { get }

    // MARK: The catalog

    /// Registers a catalog without migrating its values.
    func register(_ catalog: some StorageKeyCatalog) async throws

    /// Attaches a chain of versions to a key or collection of a catalog. From then on, reads use the chain to convert
    /// records of earlier versions.
    func attach(_ chain: EvolutionChain, to entry: AnyStorageKey) throws

    /// Migrates and converts the values of a registered catalog (a sweep).
    /// - Parameter names: The names of the keys and collections; nil for all.
    func sweep(_ catalog: String, only names: Set<String>?) async -> MigrationReport

    // MARK: The ledger

    /// Remembers in memory that a migration changed something.
    func noteWork(of migration: String)

    /// Writes what ``noteWork(of:)`` remembered to the migration ledger: the history of the migrations on this machine.
    func flushNotes() async

    /// Throws `cannotTell` in a rehearsal, a run that records writes instead of performing them. A rehearsal runs no
    /// custom code, because the effects of that code cannot be undone.
    func requireReal(_ what: String, _ name: String) throws

    // MARK: Stamps

    /// Returns the identity of the store that contains a key's destination.
    func store(of key: StorageKey<some Codable & Sendable>) throws -> BackendIdentity

    /// Returns the value at a key's destination, without reading legacy locations.
    func read<Value>(_ key: StorageKey<Value>) async throws -> Value?

    /// Changes the value of a key, even if no registered catalog contains the key.
    func update<Value, R: Sendable>(_ key: StorageKey<Value>, _ body: @Sendable (inout Value?) throws -> R) async throws -> R

    /// Runs work while no other call of this process uses any of the keys.
    func withLanes<Value, R>(of keys: [StorageKey<Value>], named name: String, _ work: () async throws -> R) async throws -> R

    // MARK: Records

    /// Returns the functions that read and write the records of entities (keys or collections) as documents.
    /// - Parameter requireTurn: Called after reading and before writing. It throws if another process has continued the
    ///   migration plan since the read.
    func documents(requireTurn: @escaping @Sendable () async throws -> Void) -> DocumentRecords
}

extension StorageKey {
    /// Creates the key of a schema stamp: the record with the schema version of a catalog's data in one store.
    package init(schemaStampOf catalog: String, in domain: StorageDomain) {
        self = StorageKey(name: catalog, domain: domain, owner: "LocalData", description: "The version of the schema of the catalog's data")
            .belonging { $0 = RecordMembership(namespace: StorageNamespace("schema"), entity: catalog) }
    }
}

extension StorageRouter {
    /// The interface of this router for `LocalDataPlans`.
    package nonisolated var planHost: any PlanHost { RouterPlanHost(router: self) }

    /// Returns a router for a rehearsal. It uses the same stores, but it records writes instead of performing them.
    package nonisolated func rehearsing() -> StorageRouter { StorageRouter(rehearsing: self) }
}

private struct RouterPlanHost: PlanHost {
    let router: StorageRouter

    var logger: Logger { router.configuration.logger }

    func register(_ catalog: some StorageKeyCatalog) async throws { try await router.registerCatalog(catalog) }

    func attach(_ chain: EvolutionChain, to entry: AnyStorageKey) throws { try router.slots.routes.attach(chain, to: entry) }

    func sweep(_ catalog: String, only names: Set<String>?) async -> MigrationReport {
        let entries = router.history.registry.entries(of: catalog).filter { names?.contains($0.key.name) ?? true }
        return await router.sweep(entries, progress: nil)
    }

    func noteWork(of migration: String) { router.history.ledger.worked(migration) }

    func flushNotes() async { await router.history.ledger.flush() }

    func requireReal(_ what: String, _ name: String) throws { try router.program.requireReal(what, name) }

    func store(of key: StorageKey<some Codable & Sendable>) throws -> BackendIdentity { try router.slots.routes.slot(for: key).id.store }

    func read<Value>(_ key: StorageKey<Value>) async throws -> Value? {
        let slot = try router.slots.routes.slot(for: key)
        switch try await slot.route.probe() {
        case .value(let record): return try await router.coder.decode(record, slot)
        case .corrupt(let corruption): throw slot.route.corrupted(corruption)
        default: return nil
        }
    }

    func update<Value, R: Sendable>(_ key: StorageKey<Value>, _ body: @Sendable (inout Value?) throws -> R) async throws -> R {
        try await router.update(try router.slots.routes.slot(for: key), body)
    }

    func withLanes<Value, R>(of keys: [StorageKey<Value>], named name: String, _ work: () async throws -> R) async throws -> R {
        try await router.slots.lanes.withLanes(try keys.map { try router.slots.routes.slot(for: $0).id }, keyName: name, work)
    }

    func documents(requireTurn: @escaping @Sendable () async throws -> Void) -> DocumentRecords {
        DocumentRecords(
            engine: router.engine, requireTurn: requireTurn)
    }
}

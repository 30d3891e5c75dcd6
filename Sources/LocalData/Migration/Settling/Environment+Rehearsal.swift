import BackendContract
import BackendRuntime
import Sealing

extension StorageError {
    /// Whether a store could not be written and was not changed, though it may be readable: it is full or read-only. After an unknown outcome, a read finds out what was
    /// written.
    var meansUnwritable: Bool { outcome != .applied && (code == StorageError.noSpace || code == StorageError.accessDenied) }
}

extension Environment {
    /// What the parts of the protocol work with when they rehearse: the same keys, stores and registered entries, in which every change stays in memory. The ledger and the
    /// quarantine are rehearsed too, and no sealing key is made. Lanes and flights are its own, so that it waits for nobody.
    /// - Parameter stores: What places are made of here.
    func rehearsal(over stores: any StoreProvider) -> (env: Environment, stores: RehearsedStores) {
        let rehearsed = RehearsedStores(over: routes, stores, coder.seals.keys)
        let rehearse: @Sendable (any StorageBackend) -> any StorageBackend = { rehearsed.rehearse($0) }
        let sources: @Sendable (KeySourceReference) throws -> any KeySource = { try rehearsed.keySource($0) }
        let ledger = ledger.rehearsed(rehearse)
        let keys = SealingKeys(pins: ledger.keyPins, randomBytes: runtime.randomBytes)
        let seals = coder.seals.rehearsed(keys: keys, sources: sources)
        let routes = RouteTable(rehearsing: routes, in: rehearsed, judge: seals)
        let coder = RecordCoder(seals: seals, runtime: runtime)
        let env = Environment(
            routes: routes, coder: coder, ledger: ledger, quarantine: quarantine.rehearsed(seals, rehearse),
            witnesses: witnesses.rehearsed(), registry: KeyRegistry(copying: registry, leading: routes), runtime: runtime,
            applicationVersion: applicationVersion, pageSize: pageSize, events: events, rehearsal: RehearsalNotes())
        return (env, rehearsed)
    }
}

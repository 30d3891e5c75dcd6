import BackendContract
import BackendRuntime
import Logging
import Sealing

/// Who runs migrations, with what it works with.
protocol EnvironmentHost: MigrationHost {
    var env: Environment { get }

    /// A host over the same stores that records instead of writing: what is done there changes nothing here.
    func rehearsal() -> any EnvironmentHost
}

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
            applicationVersion: applicationVersion, pageSize: pageSize, logger: logger, isRehearsal: true)
        return (env, rehearsed)
    }

    /// A rehearsal in which a read is repeated whose migration could not be written; nil for an error that the read has to throw.
    func rehearsal(after error: any Error, _ host: any MigrationHost) -> (any EnvironmentHost)? {
        guard !isRehearsal, let error = error as? StorageError, error.meansUnwritable, let host = host as? any EnvironmentHost else {
            return nil
        }
        return host.rehearsal()
    }

    /// Tells operators that a value was read which could not be brought to its place or shape.
    func noteUnwritten(_ name: String, _ error: any Error) {
        let code = (error as? StorageError)?.code.name ?? "\(type(of: error))"
        logger.notice(
            "A value was read in an older place or shape. It could not be written, and stays pending.",
            metadata: ["key": "\(name)", "code": "\(code)"])
    }

    /// Fails in a rehearsal, before code of the program's own is run whose effects it could not take back.
    /// - Parameter what: The code, in words.
    /// - Throws: ``StorageError`` with `cannotTell`.
    func requireReal(_ what: String, _ name: String) throws {
        guard isRehearsal else { return }
        throw StorageError(
            StorageError.cannotTell, key: name,
            "\(what) would run. It is the program's own code, whose effects cannot be taken back, so it was not tried; nothing was changed."
        )
    }
}

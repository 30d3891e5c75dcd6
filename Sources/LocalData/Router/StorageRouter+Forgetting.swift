import BackendContract
import Sealing

/// Forgetting stores, for a log-out, a change of user, or an uninstall.
extension StorageRouter {
    /// Destroys everything that a domain stores, including values of other programs in it. A database of another application, and files of
    /// another user, are refused.
    ///
    /// First, the values of registered keys and collections in the domain are removed with every older copy in other
    /// domains: a copy that stayed would be migrated again. So register the catalogs before this call. Then the store is
    /// destroyed:
    ///
    /// | store | what is destroyed |
    /// |---|---|
    /// | encrypted database, sealed vault | the file and SQLite's log are overwritten with zeros, with the data key in them, and removed |
    /// | property list | the file is overwritten with zeros and removed |
    /// | keyring | the items of the service; a sealing key stays, because other domains may need it |
    /// | memory, server, custom backend | the values, the records of registered collections, and backups of what is registered |
    ///
    /// At last the notes about the domain are removed: its entries in the quarantine and the migration ledger, and the
    /// records of presence. Quarantined values from the legacy locations of its registered keys and collections are
    /// purged too, also if another key takes its value from the same location. A copy of a whole damaged property list
    /// of another domain stays in the quarantine, because it has the values of other keys.
    ///
    /// If the process is killed, the next call of any program with this configuration completes the call. Values that are
    /// written during the call may be destroyed or stay. A copy of a file from before the call, such as a backup or a
    /// snapshot of the disk, still opens with its key.
    ///
    /// A database whose header is damaged does not name its application. It is forgotten if its bytes, the other
    /// databases and the ledger name only this application. Otherwise the call throws `corrupted`. To forget such a
    /// database, remove its file first.
    ///
    /// ```swift
    /// try await storage.registerCatalog(AppKeys())  // so that older copies in other domains are removed too
    /// do {
    ///     try await storage.forget(.encryptedSQLite(database: "editor"))  // the user logs out
    /// } catch StorageError.timedOut {
    ///     warn("Another program uses the database. Close it, and log out again.")
    /// }
    /// ```
    /// - Throws: ``StorageError``: `wrongContext` for a database of another application, `untrusted` for files of another
    ///   user, and `corrupted` for a damaged database whose application is unknown, with nothing changed; the errors of
    ///   ``remove(_:)``, with no store destroyed; `unsupported` for a database with a freshness anchor; `timedOut` while
    ///   another program uses the store. The call can be repeated.
    @concurrent
    public nonisolated func forget(_ domain: StorageDomain) async throws {
        try await call("forget", domain, isStepwise: true) { try await forget([domain]) }
    }

    /// Destroys everything that the program stores with this configuration: the stores of all domains that it has used,
    /// every file in the folders `data` and `state` of the configuration, and the sealing keys in the keyring and in these
    /// folders. See ``forget(_:)``.
    ///
    /// A property list in a shared folder is only destroyed if a key of the program uses it. A key outside of the folders,
    /// such as a credential, stays. If one database in the folders belongs to another application, or one file to another
    /// user, nothing is destroyed. To forget only the stores of this application then, pass their domains to
    /// ``forget(_:)``.
    ///
    /// ```swift
    /// do {
    ///     try await storage.forgetEverything()  // the program is uninstalled
    /// } catch let error as StorageError {
    ///     warn(error.message)  // repeat the call: it continues where it has stopped
    /// }
    /// ```
    /// - Throws: The errors of ``forget(_:)``.
    @concurrent
    public nonisolated func forgetEverything() async throws {
        try await call("forgetEverything", isStepwise: true) { try await forget(nil) }
    }

    /// Returns what a call to forget destroys on the disk and in keyrings, each with its owner. Nothing is changed,
    /// except that an interrupted call is completed first.
    /// - Parameter domains: The domains to forget; nil for everything.
    /// - Throws: ``StorageError``, as the call does, if a store belongs to another application or user.
    package nonisolated func storesToForget(_ domains: [StorageDomain]?) async throws -> [ForgottenStore] {
        try await forgetter.preview(domains.map { Set($0) })
    }

    private nonisolated var forgetter: Forgetter {
        Forgetter(engine: engine, configuration: configuration)
    }

    private nonisolated func forget(_ domains: Set<StorageDomain>?) async throws {
        defer {
            for backend in slots.routes.opened {
                (backend as? any KeyHoldingStore)?.endLock()
                slots.committer.hub.noteRemovals(in: backend.identity)
                slots.committer.hub.lookAgain(backend.identity)
            }
        }
        for backend in slots.routes.opened { slots.committer.hub.noteRemovals(in: backend.identity) }
        try await forgetter.forget(domains) {
            let limit = max(configuration.deadlines.files, configuration.deadlines.keychain)
            for backend in slots.routes.opened { await Self.letGo(of: backend, limit) }
            await history.ledger.flush()
            await history.ledger.close()
            await history.quarantine.close()
            await slots.routes.witnesses?.close()
            await stores.close()
            await coder.seals.keys.forgetAll()
        }
        slots.routes.witnesses?.forgetAll()
    }
}

import BackendContract
import BackendRuntime
import Sealing

/// Locking: a program lets go of its keys and values while it stays in memory, and refuses to use them until it is unlocked.
extension StorageRouter {
    /// Locks every domain of this router: keys of databases and of sources are overwritten in memory, with everything that was derived from them, and so are decoded copies
    /// that the router keeps. Until ``unlock(_:)``, reads and changes that begin later are `locked`; other programs, and other routers, are not affected.
    ///
    /// Changes that are under way are finished and durable first; a backup is ended, and leaves no file. What lasts longer than the limit is ended between two of its steps, as if the program had ended there, and
    /// goes on with the next read or sweep. The values that the program was given, and its passphrases, are its own to forget. The keyring itself stays unlocked.
    ///
    /// With a domain, only that domain is locked. The keys of sources are overwritten too; another domain fetches the one that it needs again, which may ask for a passphrase.
    /// - Parameters:
    ///   - domain: The domain; nil for all of them.
    ///   - limit: How long changes that are under way are waited for.
    /// - Returns: Whether all of them have ended. The router or domain is locked in either case.
    /// - Throws: ``StorageError`` when there is no such domain.
    @concurrent
    @discardableResult
    public nonisolated func lock(_ domain: StorageDomain? = nil, waitingAtMost limit: Duration = .seconds(10)) async throws -> Bool {
        try await Self.cancellable(domain.map { "\($0)" } ?? "storage") {
            if let domain { return try await lock(only: domain, limit) }
            let isDrained = await drain(nil, limit)
            let keys = env.coder.seals.keys
            await keys.lock()
            for backend in env.routes.opened { await Self.letGo(of: backend, limit) }
            await stores.close()
            await env.ledger.flush()
            await env.ledger.close()
            await env.quarantine.close()
            await env.witnesses.close()
            return isDrained
        }
    }

    private nonisolated func lock(only domain: StorageDomain, _ limit: Duration) async throws -> Bool {
        let (_, backend) = try env.routes.anyBackend(for: domain, key: "\(domain)")
        let isDrained = await drain(backend.identity, limit)
        await Self.letGo(of: backend, limit)
        await env.coder.seals.keys.forgetAll()
        return isDrained
    }

    /// Ends ``lock(_:waitingAtMost:)``.
    ///
    /// Without a domain, it also ends the locks of single domains, and fetches no key: the next call that needs one does so, and may ask for a passphrase then. A keyring that is
    /// locked stays locked. With a domain, it unlocks what the domain's store needs, too. This is the only call that may open a prompt; a passphrase may be asked for. A domain
    /// that cannot be locked is unlocked already. Sequences of values look at their values again.
    /// - Parameter domain: The domain; nil for the program's own locks.
    /// - Throws: ``StorageError``: `promptDismissed`, `locked` when no prompt is possible, `encryptionKeyMismatch` for a wrong passphrase, `unavailable`, `timedOut`. What the
    ///   program has locked stays locked then. Without a domain it throws nothing.
    @concurrent
    public nonisolated func unlock(_ domain: StorageDomain? = nil) async throws {
        try await Self.cancellable(domain.map { "\($0)" } ?? "storage") {
            if let domain { return try await unlock(only: domain) }
            await env.coder.seals.keys.unlock()
            for backend in env.routes.opened { (backend as? any KeyHoldingStore)?.endLock() }
            env.gate.unlock(nil)
            env.hub.lookAgain(nil)
        }
    }

    private nonisolated func unlock(only domain: StorageDomain) async throws {
        let (_, backend) = try env.routes.anyBackend(for: domain, key: "\(domain)")
        let keys = env.coder.seals.keys
        let wereLocked = await keys.unlock()
        if let lockable = backend as? any LockableBackend {
            do {
                try await translatingErrors(key: "\(domain)") { () throws(BackendError) in try await lockable.unlock() }
            } catch {
                if wereLocked { await keys.lock() }
                throw error
            }
        }
        guard env.gate.refuses(backend.identity) else { return }
        env.gate.unlock(backend.identity)
        env.hub.lookAgain(backend.identity)
    }

    /// Waits until no change is under way, and lets nothing through then.
    nonisolated func drain(_ store: BackendIdentity?, _ limit: Duration) async -> Bool {
        let clock = env.runtime.clock
        let deadline = clock.now.advanced(by: limit)
        env.gate.drain(store)
        func isBusy() -> Bool { env.lanes.isBusy(in: store) || env.gate.isInWholeUse }
        while isBusy(), clock.now < deadline { await clock.wait(.milliseconds(2)) }
        let isDrained = !isBusy()
        env.gate.lock(store)
        env.hub.forgetEvents(of: store)
        return isDrained
    }

    private static func letGo(of backend: any StorageBackend, _ limit: Duration) async {
        // Nothing is under way any more where everything has ended: closing takes a moment.
        if let holder = backend as? any KeyHoldingStore {
            await holder.lock(within: max(limit, .seconds(1)))
        } else {
            await backend.close()
        }
    }
}

import BackendContract
import BackendRuntime
import Sealing

/// Locking a router: it clears its sealing keys and values from memory while the program keeps running. Until it is
/// unlocked, it refuses to read and change values.
extension StorageRouter {
    /// Locks every domain of this router. It overwrites the keys of databases and of key sources in memory, together
    /// with everything derived from them, and the decoded copies that the router keeps. Reads and changes that begin
    /// later throw `locked` until ``unlock(_:)``. Other programs and other routers are not affected.
    ///
    /// First, the router completes the running changes and makes them durable. A running backup is ended and leaves no
    /// file. A change that takes longer than the limit is interrupted between two of its steps, as if the process had
    /// exited there. The next read or sweep completes it. The program itself must clear the values and passphrases that
    /// it holds. The keyring stays unlocked.
    ///
    /// With a domain, only that domain is locked. The keys of all key sources are overwritten nevertheless. If another
    /// domain needs such a key, the router fetches it again, and may ask for a passphrase.
    ///
    /// ```swift
    /// let hasEnded = try await storage.lock(waitingAtMost: .seconds(5))  // the session was locked
    /// if !hasEnded { warn("A change was interrupted. The next sweep completes it.") }
    /// do {
    ///     signIn(with: try await storage.get(.apiToken))
    /// } catch StorageError.locked {
    ///     try await storage.unlock()
    /// }
    /// ```
    /// - Parameters:
    ///   - domain: The domain; nil for all of them.
    ///   - limit: The longest time to wait for running changes.
    /// - Returns: Whether all running changes have ended. The router or domain is locked in either case.
    /// - Throws: ``StorageError`` when there is no such domain.
    @concurrent
    @discardableResult
    public nonisolated func lock(_ domain: StorageDomain? = nil, waitingAtMost limit: Duration = .seconds(10)) async throws -> Bool {
        try await call("lock", on: domain, named: domain.map { "\($0)" } ?? "storage") {
            if let domain { return try await lock(only: domain, limit) }
            let isDrained = await drain(nil, limit)
            let keys = coder.seals.keys
            await keys.lock()
            for backend in slots.routes.opened { await Self.letGo(of: backend, limit) }
            await stores.close()
            await history.ledger.flush()
            await history.ledger.close()
            await history.quarantine.close()
            await slots.routes.witnesses?.close()
            return isDrained
        }
    }

    private nonisolated func lock(only domain: StorageDomain, _ limit: Duration) async throws -> Bool {
        let (_, backend) = try slots.routes.anyBackend(for: domain, key: "\(domain)")
        let isDrained = await drain(backend.identity, limit)
        await Self.letGo(of: backend, limit)
        await coder.seals.keys.forgetAll()
        return isDrained
    }

    /// Ends the lock that ``lock(_:waitingAtMost:)`` has set.
    ///
    /// Without a domain, it also ends the locks of single domains. It fetches no key: the next call that needs a key
    /// fetches it, and may then ask for a passphrase. A locked keyring stays locked.
    ///
    /// With a domain, it also unlocks the domain's store, and the keyring or key source that the store needs. Unlike
    /// all other calls, it may open a prompt. It may also ask for a passphrase. A domain that has no lock counts as
    /// unlocked.
    ///
    /// In both cases, sequences of values re-read their values.
    ///
    /// ```swift
    /// do {
    ///     try await storage.unlock(.keychain)
    /// } catch StorageError.promptDismissed {
    ///     show("The keyring stays locked.")
    /// } catch StorageError.locked {
    ///     show("Log in to the desktop to unlock the keyring: this process can show no prompt.")
    /// }
    /// ```
    /// - Parameter domain: The domain; nil to end only the locks that the program has set.
    /// - Throws: ``StorageError``: `promptDismissed`, `locked` when no prompt is possible, `encryptionKeyMismatch` for
    ///   a wrong passphrase, `unavailable`, `timedOut`. The program's locks then stay. Without a domain it throws
    ///   nothing.
    @concurrent
    public nonisolated func unlock(_ domain: StorageDomain? = nil) async throws {
        try await call("unlock", on: domain, named: domain.map { "\($0)" } ?? "storage") {
            if let domain { return try await unlock(only: domain) }
            await coder.seals.keys.unlock()
            for backend in slots.routes.opened { (backend as? any KeyHoldingStore)?.endLock() }
            slots.routes.gate.unlock(nil)
            slots.committer.hub.lookAgain(nil)
        }
    }

    private nonisolated func unlock(only domain: StorageDomain) async throws {
        let (_, backend) = try slots.routes.anyBackend(for: domain, key: "\(domain)")
        let keys = coder.seals.keys
        let wereLocked = await keys.unlock()
        if let lockable = backend as? any LockableBackend {
            do {
                try await translatingErrors(key: "\(domain)") { () throws(BackendError) in try await lockable.unlock() }
            } catch {
                if wereLocked { await keys.lock() }
                throw error
            }
        }
        if slots.routes.gate.refuses(backend.identity) { slots.routes.gate.unlock(backend.identity) }
        // Followers also wait for a store that another program has locked.
        slots.committer.hub.lookAgain(backend.identity)
    }

    /// Waits until no change in a store is running, at most until the limit. Then it locks the store.
    /// - Parameter store: The store; nil for all stores.
    /// - Returns: Whether all changes have ended.
    nonisolated func drain(_ store: BackendIdentity?, _ limit: Duration) async -> Bool {
        slots.routes.gate.drain(store)
        let isDrained = await slots.runtime.clock.wait(atMost: limit) {
            slots.lanes.isBusy(in: store) || slots.routes.gate.isInWholeUse
        }
        slots.routes.gate.lock(store)
        slots.committer.hub.forgetEvents(of: store)
        return isDrained
    }

    static func letGo(of backend: any StorageBackend, _ limit: Duration) async {
        // If all calls have ended, closing is quick. Allow it at least a second, even if the limit is shorter.
        if let holder = backend as? any KeyHoldingStore {
            await holder.lock(within: max(limit, .seconds(1)))
        } else {
            await backend.close()
        }
    }
}

extension RuntimeClock {
    /// Waits for the end of work, at most for a limit. Returns whether the work has ended.
    func wait(atMost limit: Duration, while isBusy: () -> Bool) async -> Bool {
        let deadline = now.advanced(by: limit)
        while isBusy(), now < deadline { await wait(.milliseconds(2)) }
        return !isBusy()
    }
}

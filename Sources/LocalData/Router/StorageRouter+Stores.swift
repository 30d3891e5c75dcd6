import BackendContract
import Sealing

extension StorageRouter {
    /// Whether a domain can be used. Never opens a prompt.
    @concurrent
    public nonisolated func status(of domain: StorageDomain) async -> DomainStatus {
        do {
            let (_, backend) = try env.routes.backend(for: domain, key: "\(domain)")
            return DomainStatus(await backend.status(), domain)
        } catch {
            return .unavailable((error as? StorageError) ?? StorageError(StorageError.unavailable, key: "\(domain)", "It cannot be used."))
        }
    }

    /// Whether a slot holds a sealing key: without it, what it seals is lost.
    /// - Throws: ``StorageError`` when that cannot be known.
    @concurrent
    package nonisolated func holdsSealingKey(_ key: AnyStorageKey) async throws -> Bool {
        guard case .value(let record) = try await env.routes.route(for: key).probe() else { return false }
        return SealingKey.begins(record.payload)
    }

    /// Unlocks a domain. The only call that may open a prompt. A domain that cannot be locked is unlocked already.
    /// - Throws: ``StorageError``: `promptDismissed`, `locked` when no prompt is possible, `unavailable`, `timedOut`.
    @concurrent
    public nonisolated func unlock(_ domain: StorageDomain) async throws {
        let (_, backend) = try env.routes.backend(for: domain, key: "\(domain)")
        guard let lockable = backend as? any LockableBackend else { return }
        try await translatingErrors(key: "\(domain)") { () throws(BackendError) in try await lockable.unlock() }
    }

    /// Moves a domain's damaged store out of the way, where it is kept, so that an empty one takes its place. To be called when a person has decided that a backup
    /// will not be restored.
    /// - Returns: Where the damaged store is kept.
    /// - Throws: ``StorageError``: `unsupported` when the domain's store is not of a kind that can be damaged as a whole.
    @concurrent
    @discardableResult
    public nonisolated func setAsideDamagedStore(of domain: StorageDomain) async throws -> String {
        let (_, backend) = try env.routes.backend(for: domain, key: "\(domain)")
        guard let recoverable = backend as? any RecoverableBackend else {
            throw StorageError(
                StorageError.unsupported, key: "\(domain)", "A store of this kind is not set aside as a whole. Nothing was changed.")
        }
        return try await translatingErrors(key: "\(domain)") { () throws(BackendError) in try await recoverable.setAsideDamagedStore() }
    }

    /// Finishes what was acknowledged, writes the ledger, ends every sequence of values and closes the stores. Keys used later open them again.
    public func shutdown() async throws {
        await env.ledger.flush()
        await Self.close(env, stores)
    }

    /// Ends every sequence of values and closes the stores.
    static func close(_ env: Environment, _ stores: any StoreProvider) async {
        env.hub.close()
        await env.ledger.close()
        await env.quarantine.close()
        for backend in env.routes.opened { await backend.close() }
        await stores.close()
    }
}

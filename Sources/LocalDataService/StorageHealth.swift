import BackendRuntime
public import Foundation
public import LocalData
import Synchronization

/// The health of a router's stores at one moment, for a health endpoint or a monitor.
///
/// ```swift
/// let health = await storage.health(within: .seconds(2))
/// for store in health.stores { print("\(store.domain): \(store.status), last error \(store.lastError?.name ?? "none")") }
/// return health.isHealthy ? 200 : 503
/// ```
///
/// It contains no value and no name of a key.
public struct StorageHealth: Sendable {
    /// The state of one store.
    public struct Store: Sendable {
        /// The domain of the store.
        public var domain: StorageDomain
        /// The status of the store now. A store that did not answer before the deadline is `unavailable` with the code
        /// `timedOut`.
        public var status: DomainStatus
        /// The code of the last error of the store in this process; nil if there was none. It may be long over.
        public var lastError: StorageError.Code?
        /// The time of ``lastError``, by the wall clock.
        public var lastErrorAt: Date?
    }

    /// The stores of the registered keys, and the other stores that this process has used, sorted by their names.
    public var stores: [Store]
    /// The number of registered keys whose value the next sweep would move, convert or purge, or that it could not
    /// migrate now. Keys of a catalog that is not registered yet are not counted. Nil if the plan was not ready before
    /// the deadline, as during a sweep of thousands of keys.
    public var pendingKeys: Int?

    /// Whether every store is ready, or absent.
    public var isHealthy: Bool {
        stores.allSatisfy { store in
            switch store.status {
            case .ready, .absent: true
            case .locked, .unavailable: false
            }
        }
    }
}

extension StorageRouter {
    /// Returns the health of the router's stores. It opens no prompt and writes nothing. It always ends by the
    /// deadline, even if a store does not answer.
    ///
    /// ```swift
    /// let health = await storage.health(within: .seconds(2))
    /// for store in health.stores { print("\(store.domain): \(store.status), last error \(store.lastError?.name ?? "none")") }
    /// return health.isHealthy ? 200 : 503
    /// ```
    /// - Parameter deadline: The longest time to wait.
    @concurrent
    public nonisolated func health(within deadline: Duration = .seconds(2)) async -> StorageHealth {
        let runtime = configuration.runtime
        let used = usedDomains
        let domains = Set(used.keys).union(registeredDomains).sorted { "\($0)" < "\($1)" }
        let findings = Findings()
        await withCheckedContinuation { continuation in
            let end = OneResume(continuation)
            let timer = runtime.clock.schedule(at: runtime.clock.now.advanced(by: deadline)) { end.resume() }
            let open = Atomic(domains.count + 1)
            let finish: @Sendable () -> Void = {
                guard open.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 else { return }
                timer.cancel()
                end.resume()
            }
            for domain in domains {
                runtime.tasks.spawn {
                    findings.note(await self.status(of: domain), of: domain)
                    finish()
                }
            }
            runtime.tasks.spawn {
                findings.note(await self.planSweep())
                finish()
            }
        }
        return findings.health(of: domains, used)
    }
}

/// The answers of the stores, collected by several tasks.
private final class Findings: Sendable {
    private let state = Mutex((statuses: [StorageDomain: DomainStatus](), pending: Int?.none))

    func note(_ status: DomainStatus, of domain: StorageDomain) { state.withLock { $0.statuses[domain] = status } }

    func note(_ plan: MigrationReport) {
        let waiting: Set<MigrationReport.State> = [.moved, .copied, .converted, .purged, .resolved, .blocked, .pending, .failed]
        state.withLock { $0.pending = plan.rows.count { waiting.contains($0.state) } }
    }

    func health(of domains: [StorageDomain], _ used: [StorageDomain: StoreFailures.Failure?]) -> StorageHealth {
        let (statuses, pending) = state.withLock(\.self)
        let stores = domains.map { domain in
            let failure = used[domain] ?? nil
            return StorageHealth.Store(
                domain: domain,
                status: statuses[domain]
                    ?? .unavailable(StorageError(StorageError.timedOut, key: "\(domain)", "The store did not answer before the deadline.")),
                lastError: failure?.code, lastErrorAt: failure.map { Date(timeIntervalSince1970: $0.seconds) })
        }
        return StorageHealth(stores: stores, pendingKeys: pending)
    }
}

/// Resumes a continuation at the first of several calls.
private final class OneResume: Sendable {
    private let continuation: Mutex<CheckedContinuation<Void, Never>?>

    init(_ continuation: CheckedContinuation<Void, Never>) { self.continuation = Mutex(continuation) }

    func resume() { continuation.withLock { $0.take() }?.resume() }
}

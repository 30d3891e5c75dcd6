import BackendRuntime
public import LocalData

/// The regular work on the stores of a long-running program: it sweeps the catalogs, retries keys that were blocked,
/// and purges expired values.
///
/// ``StorageService`` runs it in a `ServiceGroup`. Use this type in a program without ServiceLifecycle:
///
/// ```swift
/// let maintenance = StorageMaintenance(storage, catalogs: [AppKeys()]) { report in
///     if !report.isComplete { print("\(report.blocked.count) values wait for their stores") }
/// }
/// let work = Task { try await maintenance.run() }  // throws if a catalog is refused
/// // When the program ends:
/// work.cancel()
/// try? await work.value
/// try await storage.shutdown()
/// ```
public struct StorageMaintenance: Sendable {
    private let storage: StorageRouter
    private let catalogs: [any StorageKeyCatalog]
    private let retryInterval: Duration
    private let sweepInterval: Duration
    private let report: @Sendable (MigrationReport) -> Void

    /// Creates the maintenance of a router.
    /// - Parameters:
    ///   - storage: The router.
    ///   - catalogs: The catalogs to register when ``run()`` begins. Registered catalogs are swept in any case.
    ///   - retryInterval: The time after an incomplete sweep until the next one. A locked keyring is tried again after
    ///     this time.
    ///   - sweepInterval: The time after a complete sweep until the next one, which purges values that have expired.
    ///   - report: Receives the report of each sweep.
    public init(
        _ storage: StorageRouter, catalogs: [any StorageKeyCatalog] = [], retryInterval: Duration = .seconds(30),
        sweepInterval: Duration = .seconds(3600), report: @escaping @Sendable (MigrationReport) -> Void = { _ in }
    ) {
        (self.storage, self.catalogs, self.report) = (storage, catalogs, report)
        (self.retryInterval, self.sweepInterval) = (retryInterval, sweepInterval)
    }

    /// Registers the catalogs, and then sweeps again and again until the task is cancelled.
    ///
    /// A cancelled sweep ends after the page of up to 1,024 keys that it is moving, or after the key that it is migrating
    /// alone. The next sweep, also one of a later process, continues with the remaining keys.
    ///
    /// ```swift
    /// let maintenance = StorageMaintenance(storage, catalogs: [AppKeys()]) { report in
    ///     if !report.isComplete { print("\(report.blocked.count) values wait for their stores") }
    /// }
    /// let work = Task { try await maintenance.run() }  // throws if a catalog is refused
    /// // When the program ends:
    /// work.cancel()
    /// try? await work.value
    /// try await storage.shutdown()
    /// ```
    /// - Throws: `StorageError`: the errors of `registerCatalog(_:migrateImmediately:)`, if a catalog
    ///   is refused; `cancelled` if the task is cancelled.
    public func run() async throws {
        for catalog in catalogs { try await storage.registerCatalog(catalog) }
        while true {
            let result = await storage.sweep()
            if Task.isCancelled { throw StorageError(StorageError.cancelled, key: "storage", "The maintenance was cancelled.") }
            report(result)
            try await pause(result.isComplete ? sweepInterval : retryInterval)
        }
    }

    /// Waits on the clock of the router. Cancelling the task ends the wait.
    private func pause(_ duration: Duration) async throws {
        let clock = storage.configuration.runtime.clock
        let (pause, end) = AsyncStream.makeStream(of: Void.self)
        let timer = clock.schedule(at: clock.now.advanced(by: duration)) { end.finish() }
        for await _ in pause {}
        timer.cancel()
        if Task.isCancelled { throw StorageError(StorageError.cancelled, key: "storage", "The maintenance was cancelled.") }
    }
}

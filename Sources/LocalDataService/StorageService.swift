#if ServiceLifecycle
    public import LocalData
    public import ServiceLifecycle

    /// A service of swift-service-lifecycle that maintains a router, and shuts it down when the service group ends.
    ///
    /// Use it in a server or daemon. It sweeps the catalogs at the start, retries keys whose stores were locked, and
    /// purges expired values.
    ///
    /// ```swift
    /// let storage = StorageRouter(configuration: .service(applicationID: "com.example.shop"))
    /// let group = ServiceGroup(
    ///     services: [StorageService(storage, catalogs: [AppKeys()]), server],
    ///     gracefulShutdownSignals: [.sigterm], logger: logger)
    /// try await group.run()  // throws if the catalog is refused; the stores are closed in any case
    /// ```
    ///
    /// A service group shuts its services down in the reverse order. List the storage before the services that use it,
    /// so that it is shut down after them.
    public struct StorageService: Service {
        private let storage: StorageRouter
        private let maintenance: StorageMaintenance
        private let shutdownLimit: Duration

        /// Creates the service.
        /// - Parameters:
        ///   - storage: The router. The service shuts it down, so no other code should use it afterwards.
        ///   - catalogs: The catalogs to register and sweep at the start.
        ///   - retryInterval: The time after an incomplete sweep until the next one.
        ///   - sweepInterval: The time after a complete sweep until the next one.
        ///   - shutdownLimit: The longest time that a graceful shutdown waits for running changes. A change that takes
        ///     longer is interrupted between two of its steps, and the next process completes it.
        ///   - report: Receives the report of each sweep.
        public init(
            _ storage: StorageRouter, catalogs: [any StorageKeyCatalog] = [], retryInterval: Duration = .seconds(30),
            sweepInterval: Duration = .seconds(3600), shutdownLimit: Duration = .seconds(10),
            report: @escaping @Sendable (MigrationReport) -> Void = { _ in }
        ) {
            self.storage = storage
            self.shutdownLimit = shutdownLimit
            maintenance = StorageMaintenance(
                storage, catalogs: catalogs, retryInterval: retryInterval, sweepInterval: sweepInterval, report: report)
        }

        /// Maintains the router until a graceful shutdown or a cancellation, and then shuts it down.
        ///
        /// If the shutdown was requested before this call, nothing is swept.
        ///
        /// ```swift
        /// let storage = StorageRouter(configuration: .service(applicationID: "com.example.shop"))
        /// let group = ServiceGroup(
        ///     services: [StorageService(storage, catalogs: [AppKeys()]), server],
        ///     gracefulShutdownSignals: [.sigterm], logger: logger)
        /// try await group.run()  // throws if the catalog is refused; the stores are closed in any case
        /// ```
        /// - Throws: `StorageError`: the errors of `registerCatalog(_:migrateImmediately:)`;
        ///   `timedOut` if a store could not be closed.
        public func run() async throws {
            do {
                if !Task.isShuttingDownGracefully { try await cancelWhenGracefulShutdown { try await maintenance.run() } }
            } catch StorageError.cancelled {
                // The shutdown ended the maintenance.
            } catch {
                try? await storage.shutdown(waitingAtMost: shutdownLimit)
                throw error
            }
            // A cancelled task must still close the stores.
            try await Task { try await storage.shutdown(waitingAtMost: shutdownLimit) }.value
        }
    }
#endif

import LocalData
import LocalDataService
import Logging
import Testing

#if ServiceLifecycle
    import ServiceLifecycle
    import UnixSignals
#endif
#if Observability
    import LocalDataObservability
#endif

/// The samples of the guide `Services`. They are compiled, and not run.
enum GuideSamples {
    private struct ShopKeys: StorageKeyCatalog {
        let allKeys: [AnyStorageKey] = []
    }

    #if ServiceLifecycle
        static func service(_ server: any Service, _ logger: Logger) async throws {
            let storage = StorageRouter(configuration: .service(applicationID: "com.example.shop", version: "2.0"))
            let group = ServiceGroup(
                services: [StorageService(storage, catalogs: [ShopKeys()]), server],
                gracefulShutdownSignals: [.sigterm], logger: logger)
            try await group.run()
        }
    #endif

    static func health(_ storage: StorageRouter) async -> String {
        let health = await storage.health(within: .seconds(2))
        guard health.isHealthy else { return "unhealthy" }
        return "healthy"
    }

    #if Observability
        static func instruments(_ configuration: inout StorageConfiguration) {
            configuration.instruments = [StorageMetrics(), StorageTracing()]
        }
    #endif
}

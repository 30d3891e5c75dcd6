import ArgumentParser
import Foundation
import LocalData
import LocalDataCommands
import LocalDataModels
import LocalDataPostgreSQL
import LocalDataService
import Logging

#if Configuration
    import Configuration
    import LocalDataConfiguration
#endif
#if Observability
    import LocalDataObservability
#endif
#if ServiceLifecycle
    import ServiceLifecycle
    import UnixSignals
#endif

/// Samples of the products for servers, services, tools and models. They are compiled, and not run.
enum ProductSamples {
    // MARK: LocalDataPostgreSQL

    static func server() -> StorageRouter {
        var configuration = StorageConfiguration.service(applicationID: "com.example.shop")
        configuration.keySource = .credential("storage-key")  // rows are sealed before they leave this machine
        configuration.usePostgreSQL(PostgreSQLServer("postgresql://app@db.example.com/shop", deadline: .seconds(5)))
        let storage = StorageRouter(configuration: configuration)
        return storage
    }

    static func domain(_ storage: StorageRouter) async throws {
        let stock = StorageKey<Int>(name: "stock", domain: .postgreSQL(database: "main"))
        do { try await storage.update(stock) { $0 = ($0 ?? 0) - 1 } } catch StorageError.unavailable {
            print("The server cannot be reached. Try again.")
        }
    }

    static func standby(_ storage: StorageRouter) async throws {
        let stock = StorageKey<Int>(name: "stock", domain: .postgreSQL(database: "main"))
        do { print(try await storage.value(for: stock, .stale(upTo: .seconds(5))) ?? 0) } catch StorageError.unavailable {
            print("No server has rows that are new enough.")
        }
    }

    static func failover(_ storage: StorageRouter) async throws {
        do { print(try await storage.get(.city)) } catch StorageError.rolledBack {
            print("The promoted server lacks changes of this process. Restore them first.")
            try await storage.acceptFailover()  // only after a person has checked what is lost
        }
    }

    // MARK: LocalDataService

    static func maintenance(_ storage: StorageRouter) async throws {
        let maintenance = StorageMaintenance(storage, catalogs: [AppKeys()]) { report in
            if !report.isComplete { print("\(report.blocked.count) values wait for their stores") }
        }
        let work = Task { try await maintenance.run() }  // throws if a catalog is refused
        // When the program ends:
        work.cancel()
        try? await work.value
        try await storage.shutdown()
    }

    static func health(_ storage: StorageRouter) async -> Int {
        let health = await storage.health(within: .seconds(2))
        for store in health.stores { print("\(store.domain): \(store.status), last error \(store.lastError?.name ?? "none")") }
        return health.isHealthy ? 200 : 503
    }

    #if ServiceLifecycle
        static func service(_ server: any Service, _ logger: Logger) async throws {
            let storage = StorageRouter(configuration: .service(applicationID: "com.example.shop"))
            let group = ServiceGroup(
                services: [StorageService(storage, catalogs: [AppKeys()]), server],
                gracefulShutdownSignals: [.sigterm], logger: logger)
            try await group.run()  // throws if the catalog is refused; the stores are closed in any case
        }
    #endif

    // MARK: LocalDataConfiguration

    #if Configuration
        static func provider(_ storage: StorageRouter) async throws {
            let provider = try await StorageConfigProvider(storage, keys: ["api.token": .key(.apiToken)])
            let config = ConfigReader(providers: [EnvironmentVariablesProvider(), provider])
            let port = config.int(forKey: "http.port", default: 8080)  // the entry http.port of the user defaults
            do { print(try await config.fetchRequiredString(forKey: "api.token").count, port) } catch StorageError.locked {
                print("The keyring is locked, so the token is unknown. It is not reported as absent.")
            }
        }

        static func reload(_ storage: StorageRouter, _ provider: StorageConfigProvider) async throws {
            do { try await provider.reload() } catch StorageError.locked {
                try await storage.unlock(.keychain)  // may open a prompt
                try await provider.reload()
            }
            _ = try await storage.lock()
            provider.forgetSecrets()  // the program has locked its storage, so the provider must not keep the secrets
        }

        static func access(_ provider: StorageConfigProvider) async throws {
            let config = ConfigReader(provider: provider)
            let port = try await config.fetchInt(forKey: "http.port", default: 8080)  // reads the store; throws if it is locked
            try await config.watchInt(forKey: "http.port", default: 8080) { ports in
                for await port in ports { print("The port is now \(port).") }
            }
            try await provider.watchSnapshot { snapshots in
                for await _ in snapshots { print("A value has changed.") }
            }
            let values = provider.snapshot()  // later changes of the stores are not in it
            print(values.providerName)
            print(port)
        }
    #endif

    // MARK: LocalDataObservability

    #if Observability
        static func instruments(_ configuration: inout StorageConfiguration) {
            configuration.instruments.append(StorageMetrics())  // reports to the metrics system that the program bootstrapped
            configuration.instruments.append(StorageTracing())  // makes spans with the tracer that the program bootstrapped
        }
    #endif

    // MARK: LocalDataCommands

    enum AppStorage: StorageApplication {
        static var configuration: StorageConfiguration { .xdg(applicationID: "com.example.app", version: "2.0") }
        static var catalogs: [any StorageKeyCatalog] { [AppKeys()] }
    }

    struct MyApp: AsyncParsableCommand {
        static let configuration = CommandConfiguration(subcommands: [StorageCommand<AppStorage>.self])
    }

    // MARK: LocalDataModels

    struct Phone: Codable, Sendable {
        var number: String
        var kind: String?
    }

    static func shapes() {
        print(AttributeType.of([Int].self))  // array of integer
        print(AttributeType.of(Phone.self))  // Phone, with its properties
        let kind = AttributeDescription("kind", of: String?.self)
        print(kind.isOptional)  // true
        let phones = EntityDescription("phones", version: 2, of: Phone.self)
        print(phones.attributes.map(\.name))  // number, kind
        for key in AppKeys().allKeys { print("\(key.name), version \(key.entity.version): \(key.entity.attributes.map(\.name))") }
    }
}

#if Macros
    /// The samples of the macros.
    enum MacroSamples {
        @StorageModel struct Card {
            var title: String
            var stars: Int = 0  // 0 for an older value without it
            @Attribute(originalName: "colour") var color: String?
            @Transient var isSelected = false  // never stored
        }

        @StorageModel struct Place {
            @Attribute(name: "place_name") var name: String  // the stored name
            @Attribute(originalName: "lat") var latitude: Double  // read from "lat", and then stored as "latitude"
        }

        @StorageModel struct Window {
            var width: Int
            @Transient var isOpen = true  // true in every value that is read
        }
    }
#endif

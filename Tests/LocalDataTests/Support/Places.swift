import LocalData
import LocalDataTesting
import Testing

/// The kinds of store that a test runs with: memory, and real files in a temporary folder with the sealing key beside
/// them.
///
/// ```swift
/// @Test(arguments: Place.allCases) func `a stored text is read back`(place: Place) async throws {
///     try await place.withLaunches { launch, domain in
///         let key = textKey("greeting", domain)
///         try await launch().set("hello", for: key)
///         #expect(try await launch().get(key) == "hello")
///     }
/// }
/// ```
enum Place: CaseIterable, Sendable, CustomTestStringConvertible {
    #if SQLite
        case sealedDatabase
    #endif
    case propertyList
    /// Memory that outlives a router, as files do.
    case memory

    /// The domain of the keys in a test.
    var domain: StorageDomain {
        switch self {
        #if SQLite
            case .sealedDatabase: .encryptedSQLite(database: "main")
        #endif
        case .propertyList, .memory: .userDefaults(suite: "main")
        }
    }

    /// Another domain of the same kind, used as a legacy location.
    var olderDomain: StorageDomain {
        switch self {
        #if SQLite
            case .sealedDatabase: .encryptedSQLite(database: "older")
        #endif
        case .propertyList, .memory: .userDefaults(suite: "older")
        }
    }

    /// Whether a single text or number is stored as a native value of the store.
    var storesNativeValues: Bool { self == .propertyList }

    var testDescription: String {
        switch self {
        #if SQLite
            case .sealedDatabase: "sealed database"
        #endif
        case .propertyList: "property list"
        case .memory: "memory"
        }
    }

    /// Runs a test with one router.
    func withRouter(_ body: (StorageRouter, StorageDomain) async throws -> Void) async throws {
        try await withLaunches { launch, domain in try await body(launch(), domain) }
    }

    /// Runs a test of a program that is started more than once.
    ///
    /// Each call of `launch` returns a new router over the data of the earlier ones. All routers are shut down at the
    /// end.
    func withLaunches(
        clock: TestClock = TestClock(), _ body: (_ launch: @escaping () -> StorageRouter, StorageDomain) async throws -> Void
    ) async throws {
        let stage = try Stage()
        var configuration = self == .memory ? StorageConfiguration.inMemory() : stage.configuration
        configuration.keySource = .keyFile("sealing.key")
        configuration.applicationVersion = "2.0"
        configuration.use(clock)
        var routers: [StorageRouter] = []
        let launch = { [configuration] in
            let router = StorageRouter(configuration: configuration)
            routers.append(router)
            return router
        }
        do { try await body(launch, domain) } catch {
            for router in routers { try? await router.shutdown() }
            throw error
        }
        for router in routers { try await router.shutdown() }
    }
}

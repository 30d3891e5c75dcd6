import LocalData
import LocalDataTesting
import Testing

/// The kinds of place that a value can be in, for tests that hold in all of them: real files in a folder of the test's own, with the sealing key in a file beside
/// them, and memory.
///
/// ```swift
/// @Test(arguments: Place.allCases) func `a text comes back`(place: Place) async throws {
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
    /// Memory that outlives a router, as files do: the place of a program in a test.
    case memory

    /// The domain that a test's keys are in.
    var domain: StorageDomain {
        switch self {
        #if SQLite
            case .sealedDatabase: .encryptedSQLite(database: "main")
        #endif
        case .propertyList, .memory: .userDefaults(suite: "main")
        }
    }

    /// Another domain of the same kind, for what comes from an older place.
    var olderDomain: StorageDomain {
        switch self {
        #if SQLite
            case .sealedDatabase: .encryptedSQLite(database: "older")
        #endif
        case .propertyList, .memory: .userDefaults(suite: "older")
        }
    }

    /// Whether a lone text or number is stored as the store's own.
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

    /// Runs a test of a program that is started more than once: each call of `launch` is a new router over what the earlier ones left. All are shut down at the end.
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

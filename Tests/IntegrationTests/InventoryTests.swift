import Foundation
import LocalData
import LocalDataService
import TestSupport
import Testing

/// The registered catalogs of a router, and the sizes of its stores.
struct InventoryTests {
    private struct Keys: StorageKeyCatalog {
        let id: String
        let name: String
        var allKeys: [AnyStorageKey] { [.key(InventoryTests.key(name))] }
        var owner: String { "Tests" }
    }

    private static let settings = StorageDomain.userDefaults(suite: "settings")

    private static func key(_ name: String, _ domain: StorageDomain = settings) -> StorageKey<String> {
        StorageKey(name: name, domain: domain, owner: "Tests", description: "A setting")
    }

    /// A router on files, whose deadlines a busy machine meets.
    private static func launch(_ folder: TemporaryDirectory) -> StorageRouter {
        var configuration = StorageConfiguration(root: URL(filePath: folder.path), applicationID: "com.example")
        configuration.deadlines.files = .seconds(120)
        return StorageRouter(configuration: configuration)
    }

    @Test func `every registered catalog is listed once, sorted by its id`() async throws {
        let router = StorageRouter(configuration: .inMemory())
        #expect(router.registeredCatalogs.isEmpty)
        for (id, name) in [("b", "one"), ("a", "two"), ("b", "one")] { try await router.registerCatalog(Keys(id: id, name: name)) }
        #expect(router.registeredCatalogs == ["a", "b"])
    }

    @Test func `the size of a property list is that of its file, and 0 before the first value`() async throws {
        let folder = try TemporaryDirectory()
        let router = Self.launch(folder)
        #expect(try await router.storedSize(of: Self.settings) == 0)
        try await router.set(String(repeating: "a", count: 10_000), for: Self.key("large"))
        #expect(try await router.storedSize(of: Self.settings) == fileBytes("\(folder.path)/preferences/settings.plist").count)
        #expect(try await router.storedSize(of: .memory()) == nil)
        try await router.shutdown()
    }

    #if SQLite
        @Test func `the size of a database contains the log beside it`() async throws {
            let folder = try TemporaryDirectory()
            let router = Self.launch(folder)
            let domain = StorageDomain.encryptedSQLite(database: "main")
            try await router.set(String(repeating: "a", count: 10_000), for: Self.key("large", domain))
            let size = try #require(try await router.storedSize(of: domain))
            let files = try ["", "-wal"].map { try fileBytes("\(folder.path)/data/databases/main.sqlite\($0)").count }
            #expect(size == files[0] + files[1])
            #expect(size > 10_000)
            try await router.shutdown()
        }
    #endif

    @Test func `a store in memory has no size`() async throws {
        let router = StorageRouter(configuration: .inMemory())
        try await router.set("a", for: Self.key("a"))
        #expect(try await router.storedSize(of: Self.settings) == nil)
    }
}

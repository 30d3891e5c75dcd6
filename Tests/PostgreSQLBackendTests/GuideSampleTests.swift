import LocalData
import LocalDataPostgreSQL
import Testing

/// The samples of the guide `SeveralMachines`.
struct GuideSampleTests {
    @Test func `the samples of the guide open nothing before the first use`() {
        var configuration = StorageConfiguration.service(applicationID: "com.example.shop")
        configuration.keySource = .credential("storage-key")
        configuration.usePostgreSQL(PostgreSQLServer("postgresql://app@db.example.com/shop"))
        let storage = StorageRouter(configuration: configuration)

        let token = StorageKey<String>(name: "token", domain: .postgreSQL(database: "main"))
        let older = StorageKey<String>(name: "token", domain: .encryptedSQLite(database: "main"))
        let moved = token.moved(from: older)
        #expect(!token.hasMigration && moved.hasMigration)
        #expect(storage.configuration.applicationID == "com.example.shop")
    }

    @Test func `a stale read and the acceptance of a failover need no server in memory`() async throws {
        var configuration = StorageConfiguration.inMemory()
        configuration.usePostgreSQL(PostgreSQLServer("host=/nonexistent"))
        let storage = StorageRouter(configuration: configuration)
        let token = StorageKey<String>(name: "token", domain: .postgreSQL(database: "main"))
        try await storage.set("secret", for: token)
        let shown = try await storage.value(for: token, .stale(upTo: .seconds(5)))
        #expect(shown == "secret")
        try await storage.acceptFailover()
        #expect(try await storage.get(token) == "secret")
    }

    @Test func `a configuration in memory needs no server`() async throws {
        var configuration = StorageConfiguration.inMemory()
        configuration.usePostgreSQL(PostgreSQLServer("host=/nonexistent"))
        let storage = StorageRouter(configuration: configuration)
        let token = StorageKey<String>(name: "token", domain: .postgreSQL(database: "main"))
        try await storage.set("secret", for: token)
        #expect(try await storage.get(token) == "secret")
    }
}

import BackendContract
import Foundation
import LocalData
import TestSupport
import Testing

/// Domains for which this build has no backend (the code that reads and writes the store). A sweep migrates all values
/// of a catalog.
@Suite(.inTurn) struct MissingBackendTests {
    /// A domain without a backend. A build without SQLite has none for encrypted databases. Other builds use a custom
    /// domain for which no backend is configured.
    #if SQLite
        let domain = StorageDomain.custom("archive", scope: "main")
        let remedy = "StorageConfiguration.useBackend(for:_:)"
    #else
        let domain = StorageDomain.encryptedSQLite(database: "main")
        let remedy = "trait SQLite"
    #endif
    var missing: StorageKey<String> { StorageKey(name: "a", domain: domain, owner: "Tests", description: "A document") }
    let old = textKey("old", .userDefaults)

    @Test func `a key of a missing backend is unavailable, and the error says what to do`() async throws {
        let router = try Stage().launch()
        let error = try await #require(throws: StorageError.self) { _ = try await router.get(missing) }
        #expect(error.code == StorageError.unavailable)
        #expect(error.message.contains(remedy))
        await expectRefusal(StorageError.unavailable) { try await router.set("v", for: missing) }
        if case .unavailable = await router.status(of: missing.domain) {} else { Issue.record("the status is not unavailable") }
    }

    @Test func `a catalog with a key of a missing backend can be registered, and a sweep of it blocks only that key`() async throws {
        let stage = try Stage()
        let router = stage.launch()
        try await router.set("v", for: old)
        let moved = textKey("new", .userDefaults(suite: "modern")).moved(from: old)
        let document = missing.moved(from: StorageKey(name: "document", domain: .userDefaults, owner: "Tests", description: "The document"))
        let report = try await router.registerCatalog(TestCatalog([.key(document), .key(moved)]), migrateImmediately: true)
        #expect(report.rows.map(\.state) == [.blocked, .moved])
        #expect(report.rows[0].errorCode == .unavailable)
    }

    @Test func `a legacy location of a missing backend stops a migration, unless the migration skips it`() async throws {
        let router = try Stage().launch()
        try await router.set("v", for: old)
        let plain = textKey("new", .userDefaults(suite: "modern"))
        let weaker = MigrationOptions(allowsWeakerProtection: true)
        await expectRefusal(StorageError.unavailable) {
            _ = try await router.get(plain.moved(from: missing, options: weaker).moved(from: old))
        }
        let skipping = MigrationOptions(whenSourceUnavailable: .skip, allowsWeakerProtection: true)
        #expect(try await router.get(plain.moved(from: missing, options: skipping).moved(from: old)) == "v")
    }
}

import BackendContract
import Foundation
import LocalData
import Testing

/// Returns a key for a text.
func textKey(_ name: String, _ domain: StorageDomain, _ security: SecurityPolicy = .automatic) -> StorageKey<String> {
    testKey(name, domain, security, of: String.self)
}

/// Returns a key for a value of any type.
func testKey<Value>(
    _ name: String, _ domain: StorageDomain, _ security: SecurityPolicy = .automatic, of type: Value.Type
) -> StorageKey<Value> {
    StorageKey(name: name, domain: domain, security: security, owner: "Tests", description: "A value")
}

/// A catalog with the keys that a test gives it.
struct TestCatalog: StorageKeyCatalog {
    var id = "Tests"
    var allKeys: [AnyStorageKey]
    var minimumProtection = ProtectionLevel.plain
    var schema: CatalogSchema?
    var retiredKeys: [AnyStorageKey] = []

    init(_ keys: AnyStorageKey...) { allKeys = keys }

    init(_ keys: [AnyStorageKey], _ schema: CatalogSchema? = nil, id: String = "Tests", minimum: ProtectionLevel = .plain) {
        (allKeys, self.schema, self.id, minimumProtection) = (keys, schema, id, minimum)
    }
}

extension StorageRouter {
    /// Sweeps one key, which migrates its value, and returns its row of the report.
    nonisolated func row(of key: StorageKey<String>) async throws -> MigrationReport.Row {
        try #require(await sweep(TestCatalog(.key(key))).rows.first { $0.key == key.name })
    }
}

extension DomainStatus {
    /// The error of an unavailable domain.
    var error: StorageError? { if case .unavailable(let error) = self { error } else { nil } }
}

/// The keys and domains that tests of migrations share.
enum Places {
    static let legacy = StorageDomain.userDefaults(suite: "a")
    static let middle = StorageDomain.userDefaults(suite: "c")
    static let modern = StorageDomain.keychain(service: "s")
    static let source = textKey("old", legacy)
    static let second = textKey("second", middle)
    static let bare = textKey("new", modern)
    static let key = bare.moved(from: source)
    static let third = textKey("third", modern).moved(from: second.moved(from: source))

    static func read(_ key: StorageKey<String>) -> @Sendable (StorageRouter) async throws -> String? { { try await $0.value(for: key) } }
}

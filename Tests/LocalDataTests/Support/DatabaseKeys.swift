import BackendContract
import Foundation
import LocalData
import Testing

/// A key of a text, as the tests of databases use it.
func textKey(_ name: String, _ domain: StorageDomain, _ security: SecurityPolicy = .automatic) -> StorageKey<String> {
    StorageKey(name: name, domain: domain, security: security, owner: "Tests", description: "A text")
}

/// Keys without demands.
struct DatabaseCatalog: StorageKeyCatalog {
    var id = "Databases"
    var allKeys: [AnyStorageKey]
    var minimumProtection = ProtectionLevel.plain

    init(_ keys: AnyStorageKey...) { allKeys = keys }
    init(_ keys: [AnyStorageKey], minimum: ProtectionLevel = .plain) {
        allKeys = keys
        minimumProtection = minimum
    }
}

extension StorageRouter {
    /// Sweeps one key, and says what became of it.
    nonisolated func row(of key: StorageKey<String>) async throws -> MigrationReport.Row {
        try #require(await sweep(DatabaseCatalog(.key(key))).rows.first { $0.key == key.name })
    }
}

/// Expects an error of a code that names the key and says what to do next.
func expectRefusal(
    _ code: StorageError.Code, _ key: String, saying remedy: String = " ", _ location: SourceLocation = #_sourceLocation,
    body: () async throws -> Void
) async {
    do {
        try await body()
        Issue.record("nothing was thrown, expected \(code)", sourceLocation: location)
    } catch let error as StorageError {
        #expect(error.code == code, "\(error)", sourceLocation: location)
        #expect(error.keyName == key, "\(error)", sourceLocation: location)
        #expect(error.message.contains(remedy), "\(error)", sourceLocation: location)
        #expect(error.outcome == .notApplied, "\(error)", sourceLocation: location)
    } catch {
        Issue.record("\(error) was thrown, expected \(code)", sourceLocation: location)
    }
}

import BackendContract
import BackendRuntime
import Foundation
import LocalData
import TestSupport
import Testing

/// Migrations that a read runs, with a transformation or a merge, on real property lists.
@Suite(.inTurn) struct LazyMigrationTests {
    func legacy(_ name: String = "old_key_name") -> StorageKey<String> {
        StorageKey(name: name, domain: .userDefaults(suite: nil), security: .none, owner: "Tests", description: "The old token")
    }

    @Test func `a legacy value stays if its transformation throws, and is moved once the transformation succeeds`() async throws {
        let stage = try Stage()
        let router = stage.launch()
        let source = legacy("count")
        let key = testKey("count", .userDefaults(suite: "new"), of: Int.self).moved(
            from: source
        ) { text in
            guard let number = Int(text) else { throw CocoaError(.formatting) }
            return number
        }
        try await router.set("x", for: source)
        await expectRefusal(StorageError.migrationFailed) { _ = try await router.get(key) }
        #expect(try await router.get(source) == "x")
        try await router.set("42", for: source)
        #expect(try await router.get(key) == 42)
        #expect(try await !router.exists(source))
    }

    @Test func `two legacy values are merged into the value of the key as soon as each of them exists`() async throws {
        let stage = try Stage()
        let router = stage.launch()
        let (first, last) = (legacy("first"), legacy("last"))
        let name = textKey("name", .userDefaults(suite: "new"))
            .merged(from: first, last) { first, last in
                guard let first, let last else { return nil }
                return "\(first) \(last)"
            }
        try await router.set("John", for: first)
        #expect(try await router.value(for: name) == nil)
        #expect(try await router.get(first) == "John")
        try await router.set("Snow", for: last)
        #expect(try await router.get(name) == "John Snow")
        #expect(try await !router.exists(first))
        #expect(try await !router.exists(last))
    }
}

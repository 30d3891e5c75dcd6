import BackendContract
import BackendRuntime
import Foundation
import LocalData
import TestSupport
import Testing

/// LD1, LD2, LD4, LD7 on real stores: a property list and the session's keyring.
@Suite struct LazyMigrationTests {
    func legacy(_ name: String = "old_key_name") -> StorageKey<String> {
        StorageKey(name: name, domain: .userDefaults(suite: nil), security: .none, owner: "Tests", description: "The old token")
    }

    func modern(_ stage: Stage) -> StorageKey<String> {
        StorageKey(name: "modern_token", domain: .keychain(service: stage.service), owner: "Tests", description: "The token").moved(from: legacy())
    }

    @Test func `LD1: get moves a value from the property list into the keyring`() async throws {
        let stage = try Stage(keyring: true)
        let router = stage.launch()
        try await router.set("abc", for: legacy())
        #expect(try stage.propertyList()["old_key_name"] as? String == "abc")

        #expect(try await router.get(modern(stage)) == "abc")

        #expect(try stage.propertyList()["old_key_name"] == nil)
        #expect(try await router.exists(modern(stage)))
        let seen = try await run("secret-tool", ["search", "service", stage.service], environment: try #require(stage.keyring).environment)
        #expect(seen.stdout.contains("modern_token") || seen.stderr.contains("modern_token"))
        #expect(try stage.files(holding: "abc").isEmpty)
        // A second get does not touch the source: what an old program writes there now is not taken.
        try await router.set("from an old program", for: legacy())
        #expect(try await router.get(modern(stage)) == "abc")
    }

    @Test func `LD1: a native string of UserDefaults is taken as it is`() async throws {
        let stage = try Stage(keyring: true)
        try stage.writePropertyList(["old_key_name": "\"quoted\" & <native>", "other": 7])
        #expect(try await stage.launch().get(modern(stage)) == "\"quoted\" & <native>")
        #expect(try stage.propertyList()["old_key_name"] == nil)
        #expect(try stage.propertyList()["other"] as? Int == 7)
    }

    @Test func `LD2: with both present get returns the modern value and leaves the legacy one`() async throws {
        let stage = try Stage(keyring: true)
        let router = stage.launch()
        try await router.set("modern", for: modern(stage))
        try await router.set("legacy", for: legacy())
        #expect(try await router.get(modern(stage)) == "modern")
        #expect(try await router.get(legacy()) == "legacy")
    }

    @Test func `LD4: while the keyring cannot be written the legacy value stays, and then it moves`() async throws {
        let stage = try Stage()
        let keyring = try PrivateKeyring(.unlocked)
        let worker = try Worker(stage, environment: keyring.environment)
        _ = try await worker.run("seed", "old_key_name", "precious")
        try keyring.lock()
        let refused = try await worker.run("get")
        #expect(refused.contains("locked"), "\(refused)")
        #expect(try stage.propertyList()["old_key_name"] as? String == "precious")
        try keyring.unlock()
        #expect(try await worker.run("get") == "value precious")
        #expect(try stage.propertyList()["old_key_name"] == nil)
    }

    @Test func `LD7: a transformation moves, and one that fails leaves the source`() async throws {
        let stage = try Stage()
        let router = stage.launch()
        let source = legacy("count")
        let key = StorageKey<Int>(name: "count", domain: .userDefaults(suite: "new"), owner: "Tests", description: "A count").moved(from: source) { text in
            guard let number = Int(text) else { throw CocoaError(.formatting) }
            return number
        }
        try await router.set("x", for: source)
        await expectCode(StorageError.migrationFailed) { _ = try await router.get(key) }
        #expect(try await router.get(source) == "x")
        try await router.set("42", for: source)
        #expect(try await router.get(key) == 42)
        #expect(try await !router.exists(source))
    }

    @Test func `LD7: first and last name become one value`() async throws {
        let stage = try Stage()
        let router = stage.launch()
        let (first, last) = (legacy("first"), legacy("last"))
        let name = StorageKey<String>(name: "name", domain: .userDefaults(suite: "new"), owner: "Tests", description: "The name")
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

/// Lets `#expect(throws:)` compare the code of what was thrown.
func expectCode(_ code: StorageError.Code, _ location: SourceLocation = #_sourceLocation, _ body: () async throws -> Void) async {
    do {
        try await body()
        Issue.record("nothing was thrown, expected \(code)", sourceLocation: location)
    } catch let error as StorageError {
        #expect(error.code == code, "\(error)", sourceLocation: location)
    } catch {
        Issue.record("\(error) was thrown, expected \(code)", sourceLocation: location)
    }
}

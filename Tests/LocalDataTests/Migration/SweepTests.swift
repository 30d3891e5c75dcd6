import BackendContract
import BackendRuntime
import Foundation
import LocalData
import LocalDataTesting
import Synchronization
import TestSupport
import Testing

/// Migrations on real property lists: sealing (encryption), sweeps, concurrent reads, and catalogs.
///
/// A catalog is the list of a program's keys. A sweep migrates the values of all keys of a catalog.
@Suite(.inTurn) struct SweepTests {
    func legacy(_ name: String) -> StorageKey<String> {
        StorageKey(name: name, domain: .userDefaults(suite: "legacy"), security: .none, owner: "Tests", description: "An older place")
    }

    func key(_ name: String, from source: String) -> StorageKey<String> {
        StorageKey(name: name, domain: .userDefaults(suite: "modern"), owner: "Tests", description: "A value").moved(from: legacy(source))
    }

    @Test func `a value that may exist blocks the sweep, which is not complete`() async throws {
        let machine = TestMachine()
        let database = StorageDomain.encryptedSQLite(database: "main")
        let key = textKey("token", database).moved(from: textKey("token", .userDefaults(suite: "old")))
        let router = machine.launch()
        _ = try await router.value(for: key)
        let unknown = BackendError(BackendError.Code("cannotTell"), "A killed program left a transaction.")
        for backend in machine.backends(of: database) { backend.inject(.fail(unknown), of: .read, repeats: true) }
        let report = await router.sweep(TestCatalog(.key(key)))
        #expect(report.rows.map(\.state) == [.blocked] && !report.isComplete)
        for backend in machine.backends(of: database) { backend.removeFaults() }
        #expect(await router.sweep(TestCatalog(.key(key))).isComplete)
    }

    @Test func `after a migration that seals a value, no file contains the plaintext of the value`() async throws {
        let stage = try Stage()
        let router = stage.launch()
        let secret = "correct-horse-battery-staple"
        try await router.set(secret, for: legacy("token"))
        try #require(try stage.traces(of: secret) == ["legacy.plist"])
        let sealed = textKey("token", .userDefaults(suite: "modern"), .encrypted).moved(from: legacy("token"))
        #expect(try await router.get(sealed) == secret)
        #expect(try stage.traces(of: secret).isEmpty)
        #expect(try await stage.launch().get(sealed) == secret)
    }

    @Test func `a migration can seal a sealed value again with another encryption key`() async throws {
        let stage = try Stage()
        let router = stage.launch()
        let secret = "correct-horse-battery-staple"
        let before = StorageKey<String>(
            name: "token", domain: .userDefaults(suite: "legacy"), security: .encrypted(.keyFile(stage.directory.file("old-key"))),
            owner: "Tests",
            description: "The token")
        let after = StorageKey<String>(
            name: "token", domain: .userDefaults(suite: "modern"), security: .encrypted(.keyFile(stage.directory.file("new-key"))),
            owner: "Tests",
            description: "The token"
        ).moved(from: before)
        try await router.set(secret, for: before)
        #expect(try await router.get(after) == secret)
        #expect(try await !router.exists(before))
        try FileManager.default.removeItem(atPath: stage.directory.file("old-key"))
        #expect(try await stage.launch().get(after) == secret)
        #expect(try stage.traces(of: secret).isEmpty)
    }

    @Test func `a migration can seal a plaintext value within its slot`() async throws {
        let stage = try Stage()
        let router = stage.launch()
        let plain = textKey("token", .userDefaults, .none)
        let sealed = textKey("token", .userDefaults, .encrypted).moved(from: plain)
        try await router.set("a-secret-in-place", for: plain)
        #expect(try await router.get(sealed) == "a-secret-in-place")
        #expect(try stage.traces(of: "a-secret-in-place").isEmpty)
        await expectRefusal(StorageError.undecodable) { _ = try await router.get(plain) }
    }

    @Test
    func `registering a catalog moves no value, migrateImmediately moves every value, and a second sweep changes nothing`() async throws {
        let stage = try Stage()
        let router = stage.launch()
        for index in 0..<20 { try await router.set("v\(index)", for: legacy("old-\(index)")) }
        let catalog = TestCatalog((0..<20).map { .key(key("new-\($0)", from: "old-\($0)")) })
        let idle = try await router.registerCatalog(catalog)
        #expect(idle.rows.isEmpty)
        #expect(try stage.propertyList(suite: "modern").isEmpty)
        let plan = await router.planSweep()
        #expect(plan.rows.map(\.state) == Array(repeating: .moved, count: 20))
        #expect(try stage.propertyList(suite: "modern").isEmpty)
        let report = try await router.registerCatalog(catalog, migrateImmediately: true)
        #expect(report.moved.count == 20)
        try report.requireComplete()
        #expect(try stage.propertyList(suite: "legacy").isEmpty)
        let before = try Data(contentsOf: URL(fileURLWithPath: stage.preferences + "/modern.plist"))
        let again = await router.sweep()
        #expect(again.rows.map(\.state) == Array(repeating: .unchanged, count: 20))
        #expect(try Data(contentsOf: URL(fileURLWithPath: stage.preferences + "/modern.plist")) == before)
    }

    @Test func `a sweep reports a key whose migration fails, and still moves the values of the other keys`() async throws {
        let stage = try Stage()
        let router = stage.launch()
        for name in ["a", "b", "c"] { try await router.set(name, for: legacy(name)) }
        let bad = testKey("b", .userDefaults(suite: "modern"), of: Int.self).moved(
            from: legacy("b")
        ) { _ in
            throw CocoaError(.formatting)
        }
        let report = try await router.registerCatalog(
            TestCatalog([.key(key("a", from: "a")), .key(bad), .key(key("c", from: "c"))]), migrateImmediately: true)
        #expect(report.rows.map(\.state) == [.moved, .failed, .moved])
        #expect(try await router.get(legacy("b")) == "b")
        #expect(throws: StorageError.self) { try report.requireComplete() }
    }

    @Test(.slow("10,000 keys")) func `a sweep of 10,000 keys loses no value and reports progress`() async throws {
        var lines: [String] = []
        for count in [100, 1_000, 10_000] {
            let stage = try Stage()
            try stage.writePropertyList(Dictionary(uniqueKeysWithValues: (0..<count).map { ("old-\($0)", "value \($0)") }), suite: "legacy")
            let router = stage.launch()
            let progress = Mutex<[Int]>([])
            try await router.registerCatalog(TestCatalog((0..<count).map { .key(key("new-\($0)", from: "old-\($0)")) }))
            let report = await router.sweep { step in progress.withLock { $0.append(step.finished) } }
            try report.requireComplete()
            #expect(report.moved.count == count)
            #expect(progress.withLock(\.self) == Array(1...count))
            #expect(try stage.propertyList(suite: "legacy").isEmpty)
            let moved = try stage.propertyList(suite: "modern")
            #expect(moved.count == count)
            #expect(moved.allSatisfy { $0.value as? String == "value \($0.key.dropFirst(4))" })
            lines.append("\(count) keys: \(Int(Double(count) / (report.duration / .seconds(1)))) keys/s")
        }
        print("swept between two property lists: " + lines.joined(separator: ", "))
    }

    @Test func `50 concurrent gets of one key share one migration`() async throws {
        let stage = try Stage()
        let router = stage.launch()
        try await router.set("v", for: legacy("old"))
        let runs = Mutex(0)
        let key = textKey("new", .userDefaults(suite: "modern")).moved(
            from: legacy("old")
        ) {
            runs.withLock { $0 += 1 }
            return $0 + "!"
        }
        let values = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<50 { group.addTask { try await router.get(key) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(values == Array(repeating: "v!", count: 50))
        #expect(runs.withLock(\.self) == 1)
    }

    @Test func `cancelled callers of a shared migration return, and the migration continues for the other callers`() async throws {
        let stage = try Stage()
        let router = stage.launch()
        try await router.set("v", for: legacy("old"))
        let key = key("new", from: "old")
        let tasks = (0..<20).map { _ in Task { try await router.get(key) } }
        for task in tasks.dropFirst() { task.cancel() }
        #expect(try await tasks[0].value == "v")
        for task in tasks.dropFirst() {
            switch await task.result {
            case .success(let value): #expect(value == "v")
            case .failure(let error): #expect(StorageError.cancelled ~= error)
            }
        }
        #expect(try await !router.exists(legacy("old")))
    }

    @Test func `the keys of several catalogs are registered together, and an invalid catalog registers none of its keys`() async throws {
        let stage = try Stage()
        let router = stage.launch()
        try await router.registerCatalog(TestCatalog([.key(key("a", from: "a"))], id: "first"))
        try await router.registerCatalog(TestCatalog([.key(key("b", from: "b"))], id: "second"))
        #expect(try await router.audit().rows.map(\.key) == ["a", "b"])
        let blankOwner = StorageKey<String>(name: "c", domain: .userDefaults, owner: " ", description: "A value")
        let blankDescription = StorageKey<String>(name: "c", domain: .userDefaults, owner: "Tests", description: "")
        let hostile = textKey("a\0b", .userDefaults)
        let other = AnyStorageKey.key(key("d", from: "d"))
        let faults: [(StorageError.Code, [AnyStorageKey])] = [
            (StorageError.duplicateKey, [other, .key(key("a", from: "x"))]), (StorageError.duplicateKey, [other, other]),
            (StorageError.incompleteKey, [other, .key(blankOwner)]), (StorageError.incompleteKey, [other, .key(blankDescription)]),
            (StorageError.invalidName, [other, .key(hostile)]),
        ]
        for (code, keys) in faults {
            await expectRefusal(code) { try await router.registerCatalog(TestCatalog(keys, id: "third")) }
            #expect(try await router.audit().rows.map(\.key) == ["a", "b"])
        }
        await expectRefusal(StorageError.weakerProtection) {
            try await router.registerCatalog(TestCatalog([other], id: "strict", minimum: .sealed))
        }
    }
}

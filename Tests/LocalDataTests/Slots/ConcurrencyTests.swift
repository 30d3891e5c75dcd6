import BackendContract
import Foundation
import LocalData
import LocalDataTesting
import MemoryBackend
import Synchronization
import TestSupport
import Testing

/// Concurrent calls of several routers, and migrations that call the router, on a few keys.
@Suite(.slow("goes through real files many times"), .inTurn) struct ConcurrencyTests {
    // MARK: Linearizability

    private func key(_ index: Int, _ domain: StorageDomain) -> StorageKey<String> {
        textKey("new-\(index)", domain).moved(from: source(index))
    }

    private func source(_ index: Int) -> StorageKey<String> {
        textKey("old-\(index)", Places.legacy)
    }

    @Test(.timeLimit(.minutes(10))) func `racing calls of two routers are linearizable, and a final sweep finds nothing to move`()
        async throws
    {
        var calls = 0
        for seed in sample(0..<UInt64(1_000), 80) { calls += try await race(JitterMachine(seed: seed), Places.modern, seed) }
        print("linearizable: \(calls) calls")
    }

    #if SQLite
        @Test(.timeLimit(.minutes(10))) func `racing calls of two routers on one real database are linearizable`() async throws {
            var calls = 0
            let domain = StorageDomain.encryptedSQLite(database: "raced")
            for seed in sample(0..<UInt64(1_000), 12) {
                let stage = try Stage()
                calls += try await race(JitterMachine(seed: seed, base: stage.configuration), domain, seed)
                // Keep `stage` alive until here, because its folder is deleted when `stage` is freed.
                _ = stage.root
            }
            print("linearizable on a database: \(calls) calls")
        }
    #endif

    private func race(_ machine: JitterMachine, _ domain: StorageDomain, _ seed: UInt64) async throws -> Int {
        let keys = [key(0, domain), key(1, domain)]
        for index in keys.indices {
            machine.medium(Places.legacy).writeForeign(.native(.string("legacy")), at: StorageAddress("old-\(index)"))
        }
        let routers = [machine.launch(), machine.launch()]
        let recorder = HistoryRecorder()
        let catalog = TestCatalog(keys.map { .key($0) })
        await withTaskGroup { group in
            for caller in 0..<6 {
                let router = routers[caller % 2]
                group.addTask {
                    for step in 0..<3 {
                        let key = keys[machine.draw(2)]
                        let task = Task { await self.call(machine.draw(8), router, key, keys, "\(caller).\(step)", recorder, catalog) }
                        if machine.draw(8) == 0 {
                            await machine.pass()
                            task.cancel()
                        }
                        await task.value
                        await machine.pass()
                    }
                }
            }
        }
        for router in routers { _ = await router.sweep(catalog) }
        let last = await routers[0].sweep(catalog)
        #expect(last.isComplete && last.moved.isEmpty, "seed \(seed): \(last.rows)")
        for index in keys.indices {
            for router in routers {
                let begin = recorder.tick()
                recorder.add(keys[index].name, .read(try await router.value(for: keys[index])), begin, recorder.tick())
            }
            #expect(try await routers[1].value(for: source(index)) == nil, "seed \(seed): the older value is still there")
        }
        var count = 0
        for (name, history) in recorder.histories {
            count += history.calls.count
            #expect(history.isLinearizable(from: "legacy"), "seed \(seed), \(name): \(history.calls)")
        }
        for router in routers { try await router.shutdown() }
        return count
    }

    /// Makes one call. Adds its result to the history, the list of calls that is later checked for linearizability.
    private func call(
        _ kind: Int, _ router: StorageRouter, _ key: StorageKey<String>, _ keys: [StorageKey<String>], _ text: String,
        _ recorder: HistoryRecorder,
        _ catalog: TestCatalog
    ) async {
        let begin = recorder.tick()
        func changed(_ action: RegisterHistory.Action, of keys: [StorageKey<String>], _ body: () async throws -> Void) async {
            do {
                try await body()
                for key in keys { recorder.add(key.name, action, begin, recorder.tick()) }
            } catch {
                let outcome = (error as? StorageError)?.outcome ?? .notApplied
                if outcome == .notApplied { return }
                for key in keys { recorder.add(key.name, action, begin, outcome == .applied ? recorder.tick() : .max) }
            }
        }
        switch kind {
        case 0, 1: await changed(.write(text), of: [key]) { try await router.set(text, for: key) }
        case 2: await changed(.write(nil), of: [key]) { try await router.remove(key) }
        case 3:
            do {
                let seen = try await router.update(key) { value in
                    defer { value = text }
                    return value
                }
                recorder.add(key.name, .swap(seen, text), begin, recorder.tick())
            } catch {
                // The call was cancelled during its write, so the change may have been applied.
                let outcome = (error as? StorageError)?.outcome ?? .notApplied
                if outcome != .notApplied { recorder.add(key.name, .write(text), begin, .max) }
            }
        case 4:
            await changed(.write(text), of: keys) { try await router.batch { batch in for key in keys { batch.set(text, for: key) } } }
        case 5: _ = await router.sweep(catalog)
        default:
            do { recorder.add(key.name, .read(try await router.value(for: key)), begin, recorder.tick()) } catch {
                // The call was cancelled and read nothing.
            }
        }
    }

    @Test func `the checker for linearizability detects a lost write, a stale read and a removed value that returns`() {
        func isLinearizable(_ calls: [(RegisterHistory.Action, Int, Int)]) -> Bool {
            var history = RegisterHistory()
            for call in calls { history.add(call.0, call.1, call.2) }
            return history.isLinearizable(from: "legacy")
        }
        #expect(isLinearizable([(.write("a"), 1, 4), (.read("legacy"), 2, 3), (.read("a"), 5, 6)]))
        #expect(isLinearizable([(.write("a"), 1, .max), (.read("legacy"), 2, 3), (.read("a"), 5, 6)]))
        #expect(!isLinearizable([(.write("a"), 1, 2), (.read("legacy"), 3, 4)]))
        #expect(!isLinearizable([(.write(nil), 1, 2), (.read("legacy"), 3, 4)]))
        #expect(!isLinearizable([(.swap("legacy", "a"), 1, 4), (.swap("legacy", "b"), 2, 3)]))
        #expect(!isLinearizable([(.read("a"), 1, 2), (.write("a"), 3, 4)]))
    }

    // MARK: Migrations that call back

    /// A migration that reads its destination key through the router before it writes the key.
    private struct CallingBack: StorageMigration {
        let destinationKey: StorageKey<String>
        func shouldMigrate(using router: StorageRouter, context: MigrationContext) async throws -> Bool { true }
        func migrate(using router: StorageRouter, context: MigrationContext) async throws -> MigrationResult {
            let destination = key
            let before = try await router.value(for: destination)
            let exists = try await router.exists(destination)
            try await router.set("\(before ?? "nothing") \(exists)", for: destination)
            async let one: Void = router.update(destination) { $0 = ($0 ?? "") + "!" }
            async let other: Void = router.update(destination) { $0 = ($0 ?? "") + "!" }
            _ = try await (one, other)
            return MigrationResult(success: true)
        }
        /// The key with this migration, as a program declares it.
        var key: StorageKey<String> {
            StorageKey(
                name: "self", domain: Places.modern, owner: "Tests", description: "A value",
                migration: { AnyStorageMigration(CallingBack(destinationKey: $0)) })
        }
    }

    @Test(.timeLimit(.minutes(10))) func `a migration that reads and writes its destination through the router does not deadlock`()
        async throws
    {
        let router = TestMachine().launch()
        let key = CallingBack(destinationKey: Places.bare).key
        async let first = router.get(key)
        async let second = router.get(key)
        #expect(try await [first, second] == ["nothing false!!", "nothing false!!"])
    }

    /// A migration that reads its value from another key. The migration of that key reads its value from this key.
    private struct Circular: StorageMigration {
        let destinationKey: StorageKey<String>
        func shouldMigrate(using router: StorageRouter, context: MigrationContext) async throws -> Bool { true }
        func migrate(using router: StorageRouter, context: MigrationContext) async throws -> MigrationResult {
            let other = destinationKey.name == "left" ? "right" : "left"
            if let value = try await router.value(for: Self.key(other)) { try await router.set(value, for: destinationKey) }
            return MigrationResult(success: true)
        }
        static func key(_ name: String) -> StorageKey<String> {
            StorageKey(
                name: name, domain: Places.modern, owner: "Tests", description: "A value",
                migration: { AnyStorageMigration(Circular(destinationKey: $0)) })
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `if the custom migrations of two keys each read the other key, concurrent reads return or throw migrationFailed`()
        async throws
    {
        for seed in 0..<UInt64(100) {
            let router = JitterMachine(seed: seed).launch()
            async let left = ending { try await router.value(for: Circular.key("left")) }
            async let right = ending { try await router.value(for: Circular.key("right")) }
            for ending in await [left, right] { #expect([nil, StorageError.migrationFailed].contains(ending)) }
            // A later read still completes.
            #expect(try await router.value(for: Circular.key("left")) == nil)
        }
    }

    /// Creates one of two keys that name each other as sources.
    private static func mutual(_ name: String) -> StorageKey<String> {
        StorageKey(
            name: name, domain: .userDefaults(suite: name), owner: "Tests", description: "A value",
            migration: { key in
                AnyStorageMigration(SimpleLegacyMigration(destinationKey: key, sourceKey: .key(mutual(name == "left" ? "right" : "left"))))
            })
    }

    @Test(.timeLimit(.minutes(10)))
    func `concurrent reads do not hang if two keys are each the source of the other, and later reads of each key return the value`()
        async throws
    {
        for seed in 0..<UInt64(100) {
            let machine = JitterMachine(seed: seed)
            machine.medium(.userDefaults(suite: "left")).writeForeign(.native(.string("v")), at: StorageAddress("left"))
            let router = machine.launch()
            async let left = ending { try await router.value(for: Self.mutual("left")) }
            async let right = ending { try await router.value(for: Self.mutual("right")) }
            for ending in await [left, right] { #expect([nil, StorageError.migrationFailed].contains(ending)) }
            #expect(try await router.get(Self.mutual("right")) == "v", "seed \(seed)")
            #expect(try await router.get(Self.mutual("left")) == "v", "seed \(seed)")
        }
    }

    private func ending(_ body: () async throws -> String?) async -> StorageError.Code? {
        do {
            _ = try await body()
            return nil
        } catch { return (error as? StorageError)?.code ?? StorageError.Code("\(error)") }
    }

    /// A migration that runs several updates concurrently.
    private struct Parallel: StorageMigration {
        let destinationKey: StorageKey<String>
        func shouldMigrate(using router: StorageRouter, context: MigrationContext) async throws -> Bool { true }
        func migrate(using router: StorageRouter, context: MigrationContext) async throws -> MigrationResult {
            let counter = testKey("counter", Places.legacy, of: Int.self)
            try await withThrowingTaskGroup { group in
                for _ in 0..<8 { group.addTask { try await router.update(counter, default: 0) { $0 += 1 } } }
                try await group.waitForAll()
            }
            try await router.set("\(try await router.get(counter))", for: destinationKey)
            return MigrationResult(success: true)
        }
    }

    @Test(.timeLimit(.minutes(10))) func `a migration can run several updates of one key concurrently`() async throws {
        let router = JitterMachine(seed: 1).launch()
        let key = StorageKey<String>(
            name: "sum", domain: Places.modern, owner: "Tests", description: "A sum",
            migration: { AnyStorageMigration(Parallel(destinationKey: $0)) })
        #expect(try await router.get(key) == "8")
    }

    // MARK: The shared router

    @Test(.isolatedStorage, arguments: 0..<64) func `concurrent test cases with isolated storage never share values`(
        number: Int
    ) async throws {
        let key = testKey("number", .userDefaults, of: Int.self)
        let secret = testKey("number", .keychain, of: Int.self).moved(from: key)
        #expect(try await StorageRouter.shared.value(for: secret) == nil)
        try await StorageRouter.shared.set(number, for: key)
        for _ in 0..<20 { await Task.yield() }
        #expect(try await StorageRouter.shared.get(secret) == number)
    }

    @Test func `in a test without the trait isolatedStorage, the shared router throws an error that mentions the trait`() async throws {
        let key = testKey("number", .userDefaults, of: Int.self)
        let error = try await #require(throws: StorageError.self) { try await StorageRouter.shared.set(1, for: key) }
        #expect(error.code == StorageError.unavailable)
        #expect(error.message.contains(".isolatedStorage"))
    }

    @Test func `the shared router can be configured only once, and only before its first use`() async {
        await #expect(processExitsWith: .success) {
            try StorageRouter.bootstrap(.inMemory())
            let key = testKey("number", .userDefaults, of: Int.self)
            try await StorageRouter.shared.set(1, for: key)
            await expectRefusal(StorageError.alreadyBootstrapped) { try StorageRouter.bootstrap(.inMemory()) }
            guard try await StorageRouter.shared.get(key) == 1 else { exit(1) }
        }
        await #expect(processExitsWith: .success) {
            _ = StorageRouter.shared
            do {
                try StorageRouter.bootstrap(.inMemory())
                exit(1)
            } catch StorageError.alreadyBootstrapped { exit(0) }
        }
    }
}

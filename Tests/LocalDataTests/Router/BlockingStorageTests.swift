import Foundation
import LocalData
import LocalDataTesting
import Synchronization
import TestSupport
import Testing

/// Synchronous calls with `BlockingStorage`, from threads that do not run a task.
struct BlockingStorageTests {
    private let key = textKey("token", .userDefaults)

    /// Runs work on a new thread that does not run a task.
    private func onThread<Answer: Sendable>(_ work: @escaping @Sendable () throws -> Answer) async throws -> Answer {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try work() }) }
        }
    }

    @Test func `a value is set, read, listed and removed, and a value at a legacy location is migrated`() async throws {
        let machine = TestMachine()
        let router = machine.launch()
        let old = textKey("old", .userDefaults(suite: "legacy"))
        let moved = textKey("new", .encryptedSQLite(database: "main")).moved(from: old)
        try await router.set("legacy", for: old)
        let storage = BlockingStorage(router, deadline: .seconds(240))
        try await onThread { [key] in
            #expect(try storage.value(for: key) == nil)
            #expect(throws: StorageError.self) { try storage.get(key) }
            try storage.set("secret", for: key)
            #expect(try storage.get(key) == "secret")
            #expect(try storage.keys(of: .userDefaults) == ["token"])
            try storage.remove(key)
            #expect(try storage.value(for: key) == nil)
            #expect(try storage.get(moved) == "legacy")
        }
        #expect(try await router.value(for: old) == nil)
    }

    @Test func `a call inside a task is refused and changes nothing`() async throws {
        let router = TestMachine().launch()
        let storage = BlockingStorage(router, deadline: .seconds(240))
        await expectRefusal(StorageError.unsupported) { try storage.set("secret", for: key) }
        await expectRefusal(StorageError.unsupported) { try await MainActor.run { _ = try storage.value(for: key) } }
        #expect(try await router.value(for: key) == nil)
    }

    @Test(.timeLimit(.minutes(5))) func `calls on a dispatch queue do not wait for the threads that they block`() async throws {
        let stage = try Stage()
        let storage = BlockingStorage(stage.launch(), deadline: .seconds(240))
        let failures = Shared<[String]>([])
        let group = DispatchGroup()
        for number in 0..<200 {
            DispatchQueue.global().async(group: group) {
                do { try storage.set("\(number)", for: textKey("\(number % 8)", .userDefaults)) } catch {
                    failures.value.withLock { $0.append("\(error)") }
                }
            }
        }
        await withCheckedContinuation { continuation in
            group.notify(queue: DispatchQueue(label: "calls have ended")) { continuation.resume() }
        }
        #expect(failures.value.withLock(\.self).isEmpty)
    }

    @Test func `many threads can wait for calls at once without occupying the task pool`() async throws {
        let router = TestMachine().launch()
        let storage = BlockingStorage(router, deadline: .seconds(240))
        try await withThrowingTaskGroup { group in
            for number in 0..<64 {
                group.addTask {
                    let key = textKey("\(number)", .userDefaults)
                    try await onThread {
                        try storage.set("\(number)", for: key)
                        #expect(try storage.get(key) == "\(number)")
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func `a call to a store that does not answer ends at the deadline, with an unknown outcome`() async throws {
        let machine = TestMachine()
        let router = machine.launch()
        _ = try await router.value(for: key)
        let gate = FaultGate()
        try #require(machine.backends(of: .userDefaults).first).inject(.hold(gate), of: .apply)
        let storage = BlockingStorage(router, deadline: .milliseconds(50))
        let error = try await onThread { [key] in #expect(throws: StorageError.self) { try storage.set("secret", for: key) } }
        #expect(error?.code == StorageError.timedOut && error?.outcome == .unknown, "\(String(describing: error))")
        gate.open()
    }

    @Test func `a read that ends at the deadline during its migration has an unknown outcome`() async throws {
        let machine = TestMachine()
        let router = machine.launch()
        let old = textKey("old", .userDefaults(suite: "legacy"))
        try await router.set("legacy", for: old)
        let gate = FaultGate()
        try #require(machine.backends(of: .userDefaults(suite: "legacy")).first).inject(.hold(gate), of: .apply)
        let moved = key.moved(from: old)
        let storage = BlockingStorage(router, deadline: .milliseconds(50))
        let error = try await onThread { #expect(throws: StorageError.self) { try storage.get(moved) } }
        #expect(error?.code == StorageError.timedOut && error?.outcome == .unknown, "\(String(describing: error))")
        gate.open()
        #expect(try await router.get(moved) == "legacy")
    }
}

import Foundation
import LocalData
import LocalDataTesting
import Synchronization
import TestSupport
import Testing

/// Reads that need not wait return without leaving the actor of their caller.
@Suite(.inTurn) struct ImmediateReadTests {
    private struct Window: Codable, Equatable, Sendable { var title = "a", width = 3 }

    private let text = textKey("text", .userDefaults)
    private let window = StorageKey<Window>(name: "window", domain: .userDefaults, owner: "Tests", description: "Two fields")

    /// Reads on the main actor, and returns whether another task ran there during the read.
    @MainActor private func isSuspended<Value: Equatable>(
        reading key: StorageKey<Value>, from router: StorageRouter, expecting value: Value
    ) async throws -> Bool {
        let wasElsewhere = Shared(false)
        let other = Task { @MainActor in wasElsewhere.value.withLock { $0 = true } }
        let found = try await router.get(key)
        let answer = wasElsewhere.value.withLock(\.self)
        await other.value
        #expect(found == value)
        return answer
    }

    /// Reads 1,000 times, and expects that the reads do not leave the main actor.
    /// - Parameter exceptions: The number of reads that may leave it.
    private func expectAtOnce<Value: Equatable>(
        _ key: StorageKey<Value>, _ value: Value, _ router: StorageRouter, exceptions: Int = 0
    ) async throws {
        var suspended = 0
        for _ in 0..<1_000 where try await isSuspended(reading: key, from: router, expecting: value) { suspended += 1 }
        #expect(suspended <= exceptions, "\(key.name)")
    }

    @Test func `values in a property list or in memory are read without leaving the main actor`() async throws {
        let router = try Stage().launch()
        try await router.set("v", for: text)
        try await router.set(Window(), for: window)
        // Nearly all reads get the value from memory. At most two read the file, on another thread: one if the file has
        // changed since the store read it, and one 50 ms after the change. Timestamps of files have a resolution of
        // milliseconds, so before that time, they might not show a second change.
        try await expectAtOnce(text, "v", router, exceptions: 2)
        try await expectAtOnce(window, Window(), router, exceptions: 2)
        let volatile = textKey("volatile", .memory())
        try await router.set("m", for: volatile)
        try await expectAtOnce(volatile, "m", router)
    }

    #if SQLite
        @Test func `a database row whose pages are in memory is read without leaving the main actor`() async throws {
            let router = try Stage().launch()
            let row = textKey("row", .encryptedSQLite(database: "main"))
            try await router.set("v", for: row)
            try await expectAtOnce(row, "v", router)
        }
    #endif

    @Test func `a large value, and a value with a custom serializer, are decoded off the main actor`() async throws {
        let router = StorageRouter(configuration: .inMemory())
        let large = StorageKey<[String]>(name: "large", domain: .userDefaults, owner: "Tests", description: "Many texts")
        let texts = (0..<5_000).map { "text \($0)" }
        try await router.set(texts, for: large)
        #expect(try await isSuspended(reading: large, from: router, expecting: texts))
        let own = StorageKey<String>(
            name: "own", domain: .userDefaults,
            serializer: .custom(
                name: "reversed", encode: { Data($0.utf8.reversed()) },
                decode: {
                    #expect(!Thread.isMainThread)
                    return String(decoding: $0.reversed(), as: UTF8.self)
                }), owner: "Tests", description: "A text")
        try await router.set("own", for: own)
        #expect(try await isSuspended(reading: own, from: router, expecting: "own"))
    }

    @Test func `a read returns nil for an expired value, and throws in a cancelled task or while the store is locked`() async throws {
        let clock = TestClock()
        var configuration = StorageConfiguration.inMemory()
        configuration.use(clock)
        let router = StorageRouter(configuration: configuration)
        try await router.set("v", for: text)
        let session = textKey("session", .userDefaults).expiring(after: .seconds(60))
        try await router.set("s", for: session)
        clock.advance(by: .seconds(61))
        #expect(try await router.value(for: session) == nil)
        let cancelled = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await router.get(text)
        }
        await #expect(throws: (any Error).self) { try await cancelled.value }
        try await router.lock()
        await expectRefusal(StorageError.locked) { _ = try await router.get(text) }
    }
}

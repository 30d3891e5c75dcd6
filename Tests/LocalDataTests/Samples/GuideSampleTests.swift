import BackendContract
import Foundation
import GuideSamples
import GuideSamplesCustom
import LocalData
import LocalDataTesting
import Synchronization
import TestSupport
import Testing

/// Runs the migration samples of the guide unchanged. A sweep migrates the values of all keys of a catalog.
@Suite(.inTurn, .isolatedStorage) struct GuideSampleTests {
    private var storage: StorageRouter { .shared }

    @Test func `the token of the guide moves when it is first read`() async throws {
        try await storage.set("abc", for: Samples.legacyToken)
        #expect(try await storage.get(Samples.modernToken) == "abc")
        #expect(try await storage.value(for: Samples.legacyToken) == nil)
        #expect(try await storage.exists(Samples.modernToken))
    }

    @Test func `a sweep of the guide catalog moves the token`() async throws {
        try await storage.set("abc", for: Samples.legacyToken)
        let report = try await Samples.sweep()
        #expect(report.moved.map(\.key) == ["modern_token"])
        try report.requireComplete()
        #expect(try await storage.get(Samples.modernToken) == "abc")
    }

    @Test func `the custom migration of the guide does not run while its key has no value`() async throws {
        await expectRefusal(StorageError.notFound) { _ = try await storage.get(CustomSamples.modernToken) }
        #expect(try await storage.value(for: CustomSamples.modernToken) == nil)
        let forced = try await storage.forceMigration(for: CustomSamples.modernToken)
        #expect(forced.state == .absent)
        await expectRefusal(StorageError.notFound) { _ = try await storage.get(CustomSamples.modernToken) }
    }

    @Test func `the custom migration of the guide runs when it is forced and its key has a value`() async throws {
        try await storage.set("abc", for: CustomSamples.modernToken)
        let forced = try await storage.forceMigration(for: CustomSamples.modernToken)
        #expect(forced.isSuccess)
        #expect(forced.state == .resolved)
        #expect(try await storage.get(CustomSamples.modernToken) == "abc")
    }

    /// A migration like the one of the guide, which counts its calls.
    private struct Counting: StorageMigration {
        typealias Count = (asked: Shared<Int>, run: Shared<Int>)

        let destinationKey: StorageKey<String>
        let count: Count
        let wantsToRun: @Sendable (StorageRouter, StorageKey<String>) async throws -> Bool

        func shouldMigrate(using storage: StorageRouter, context: MigrationContext) async throws -> Bool {
            count.asked.count()
            return try await wantsToRun(storage, destinationKey)
        }

        func migrate(using storage: StorageRouter, context: MigrationContext) async throws -> MigrationResult {
            count.run.count()
            return MigrationResult(success: true)
        }
    }

    private func key(
        _ count: Counting.Count, _ wantsToRun: @escaping @Sendable (StorageRouter, StorageKey<String>) async throws -> Bool
    ) -> StorageKey<String> {
        StorageKey(
            name: "modern_token", domain: .keychain(service: "com.myapp"), owner: "Tests", description: "The token",
            migration: { AnyStorageMigration(Counting(destinationKey: $0, count: count, wantsToRun: wantsToRun)) })
    }

    @Test func `a custom migration does not run for a key without a value, and runs once when it is forced`() async throws {
        let count: Counting.Count = (Shared(0), Shared(0))
        let key = key(count) { try await $0.exists($1) }
        await expectRefusal(StorageError.notFound) { _ = try await storage.get(key) }
        #expect(count.asked.number == 1)
        #expect(count.run.number == 0)
        try await storage.set("abc", for: key)
        #expect(try await storage.get(key) == "abc")
        #expect(count.run.number == 0)
        try await storage.forceMigration(for: key)
        #expect(count.run.number == 1)
    }

    @Test func `a migration that succeeds without writing a value leaves the value absent`() async throws {
        let count: Counting.Count = (Shared(0), Shared(0))
        let key = key(count) { _, _ in true }
        await expectRefusal(StorageError.notFound) { _ = try await storage.get(key) }
        #expect(count.run.number == 1)
        #expect(try await storage.value(for: key) == nil)
    }
}

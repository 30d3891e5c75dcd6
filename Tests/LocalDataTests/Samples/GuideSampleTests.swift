import BackendContract
import Foundation
import GuideSamples
import GuideSamplesCustom
import LocalData
import LocalDataTesting
import Synchronization
import TestSupport
import Testing

/// LD1, LD5 and LD6 with the samples of the guide, to the letter.
@Suite(.inTurn, .isolatedStorage) struct GuideSampleTests {
    private var router: StorageRouter { .shared }

    @Test func `LD1: the guide's token moves when it is first asked for`() async throws {
        try await router.set("abc", for: Samples.legacyToken)
        #expect(try await router.get(Samples.modernToken) == "abc")
        #expect(try await router.value(for: Samples.legacyToken) == nil)
        #expect(try await router.exists(Samples.modernToken))
    }

    @Test func `LD5: the guide's catalog moves it at once`() async throws {
        try await router.set("abc", for: Samples.legacyToken)
        let report = try await Samples.sweep()
        #expect(report.moved.map(\.key) == ["modern_token"])
        try report.requireComplete()
        #expect(try await router.get(Samples.modernToken) == "abc")
    }

    @Test func `LD6: the guide's own migration does not run while the destination is absent`() async throws {
        await expectRefusal(StorageError.notFound) { _ = try await router.get(CustomSamples.modernToken) }
        #expect(try await router.value(for: CustomSamples.modernToken) == nil)
        let forced = try await router.forceMigration(for: CustomSamples.modernToken)
        #expect(forced.state == .absent)
        await expectRefusal(StorageError.notFound) { _ = try await router.get(CustomSamples.modernToken) }
    }

    @Test func `LD6: the guide's own migration runs when it is forced and the destination is there`() async throws {
        try await router.set("abc", for: CustomSamples.modernToken)
        let forced = try await router.forceMigration(for: CustomSamples.modernToken)
        #expect(forced.isSuccess)
        #expect(forced.state == .resolved)
        #expect(try await router.get(CustomSamples.modernToken) == "abc")
    }

    /// The guide's migration, which counts what is asked of it.
    private struct Counting: StorageMigration {
        typealias Count = (asked: Shared<Int>, run: Shared<Int>)

        let destinationKey: StorageKey<String>
        let count: Count
        let wantsToRun: @Sendable (StorageRouter, StorageKey<String>) async throws -> Bool

        func shouldMigrate(using router: StorageRouter, context: MigrationContext) async throws -> Bool {
            count.asked.count()
            return try await wantsToRun(router, destinationKey)
        }

        func migrate(using router: StorageRouter, context: MigrationContext) async throws -> MigrationResult {
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

    @Test func `LD6: absent, migrate is not called; present and forced, it is called once`() async throws {
        let count: Counting.Count = (Shared(0), Shared(0))
        let key = key(count) { try await $0.exists($1) }
        await expectRefusal(StorageError.notFound) { _ = try await router.get(key) }
        #expect(count.asked.number == 1)
        #expect(count.run.number == 0)
        try await router.set("abc", for: key)
        #expect(try await router.get(key) == "abc")
        #expect(count.run.number == 0)
        try await router.forceMigration(for: key)
        #expect(count.run.number == 1)
    }

    @Test func `LD6: a success without a value written is still not found`() async throws {
        let count: Counting.Count = (Shared(0), Shared(0))
        let key = key(count) { _, _ in true }
        await expectRefusal(StorageError.notFound) { _ = try await router.get(key) }
        #expect(count.run.number == 1)
        #expect(try await router.value(for: key) == nil)
    }
}

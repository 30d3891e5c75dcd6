import Foundation
import LocalData
import LocalDataTesting
import Testing
import TokenClient

/// In this suite, `StorageRouter.shared` is a separate router in memory for each test.
@Suite(.isolatedStorage) struct TokenClientTests {
    private var legacy: StorageKey<String> { StorageKey(name: "token.work", domain: .userDefaults) }

    @Test func `a sweep moves the token of the account in use and deletes the legacy copy`() async throws {
        let router = StorageRouter.shared
        try await router.set("work", for: StorageKey(name: "account", domain: .userDefaults))
        try await router.set("t-1", for: legacy)
        let report = try await router.registerCatalog(AccountKeys(), migrateImmediately: true)
        try report.requireComplete()
        #expect(report.rows.map(\.owner) == ["AccountKeys", "AccountKeys"])
        #expect(try await router.get(AccountKeys.token) == "t-1")
        #expect(try await router.value(for: legacy) == nil)
    }

    @Test func `a synchronous library stores, lists and removes tokens in the keychain`() async throws {
        let store = KeychainTokenStore(BlockingStorage(StorageRouter.shared), service: "com.example.client")
        try await onThread {
            try store.save("secret", for: "example.com")
            #expect(try store.token(for: "example.com") == "secret")
            #expect(try store.hosts() == ["example.com"])
            try store.save(nil, for: "example.com")
            #expect(try store.hosts().isEmpty)
        }
    }

    /// Runs code on a new thread, as a blocking library does.
    private func onThread(_ work: @escaping @Sendable () throws -> Void) async throws {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result(catching: work)) }
        }
    }
}

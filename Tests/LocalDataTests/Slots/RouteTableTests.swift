import BackendContract
import LocalDataTesting
import TestSupport
import Testing

@testable import LocalData

/// Routes of the keys that a program keeps for longer than a router.
@Suite struct RouteTableTests {
    private static let newer = StorageDomain.keychain(service: "newer")
    private static let older = StorageDomain.userDefaults(suite: "older")
    private let key = AnyStorageKey.key(textKey("key", Self.newer).moved(from: textKey("key", Self.older)))

    @Test func `a key leads each router to its own store`() async throws {
        for text in ["one", "two"] {
            let machine = TestMachine()
            let router = machine.launch()
            try await router.set(text, for: textKey("key", Self.older))
            try await router.registerCatalog(TestCatalog([key]), migrateImmediately: true).requireComplete()
            #expect(try await router.get(textKey("key", Self.newer)) == text)
            #expect(try await machine.launch().value(for: textKey("key", Self.older)) == nil)
        }
    }

    @Test(.timeLimit(.minutes(10))) func `a key does not keep the routes of a router that is gone`() async throws {
        weak var routes: RouteTable?
        do {
            let router = TestMachine().launch()
            routes = router.slots.routes
            try await router.registerCatalog(TestCatalog([key]), migrateImmediately: true).requireComplete()
            try await router.shutdown()
        }
        for _ in 0..<100_000 where routes != nil { await Task.yield() }
        #expect(routes == nil)
    }
}

import BackendContract
import LocalData
import LocalDataTesting
import TestSupport
import Testing

/// A key with `copied(from:)`: its first value is a copy of the value of a source key, and the source key keeps its
/// value. A sweep visits all keys of a catalog and makes the copies that are missing.
@Suite(.inTurn) struct CopyTests {
    private let machine = TestMachine()
    private let email = textKey("email", .userDefaults(suite: "a"))
    private let notify = textKey("notify", .keychain(service: "s"))
    private var key: StorageKey<String> { notify.copied(from: email) }
    private var catalog: TestCatalog { TestCatalog(.key(email), .key(key)) }

    @Test func `a sweep copies the value of the source key, and the source key keeps its value`() async throws {
        let router = machine.launch()
        try await router.set("a@b", for: email)
        let report = try await router.registerCatalog(catalog, migrateImmediately: true)
        try report.requireComplete()
        #expect(report.rows.first { $0.key == "notify" }?.state == .copied)
        #expect(try await router.get(email) == "a@b")
        #expect(try await router.get(key) == "a@b")
        #expect(await router.sweep().rows.map(\.state) == [.unchanged, .unchanged])
        #expect(try await router.audit().quarantine.isEmpty)
    }

    @Test func `the value is copied only once, even if the source changes or the copy is removed`() async throws {
        let router = machine.launch()
        try await router.set("a@b", for: email)
        #expect(try await router.get(key) == "a@b")
        try await router.set("c@d", for: email)
        _ = await router.sweep(catalog)
        #expect(try await router.get(key) == "a@b")
        #expect(try await router.get(email) == "c@d")
        try await router.remove(key)
        _ = await router.sweep(catalog)
        #expect(try await router.value(for: key) == nil)
        #expect(try await router.get(email) == "c@d")
    }

    @Test func `a key that already has a value does not copy the value of the source key`() async throws {
        let router = machine.launch()
        try await router.set("a@b", for: email)
        try await router.set("mine", for: key)
        _ = await router.sweep(catalog)
        #expect(try await router.get(key) == "mine")
        #expect(try await router.get(email) == "a@b")
    }

    @Test func `a copy can be converted to another type`() async throws {
        let router = machine.launch()
        let size = testKey("size", .userDefaults(suite: "b"), of: Int.self).copied(from: email) { $0.count }
        try await router.set("a@b", for: email)
        #expect(try await router.get(size) == 3)
        #expect(try await router.get(email) == "a@b")
    }

    @Test func `a copy from the keyring to a property list, which protects less, is refused`() async throws {
        let router = machine.launch()
        try await router.set("secret", for: notify)
        let weak = textKey("weak", .userDefaults(suite: "b")).copied(from: notify)
        await expectRefusal(StorageError.weakerProtection) { _ = try await router.get(weak) }
        #expect(try await router.get(notify) == "secret")
    }

    @Test
    func `a source value that one key moves and a second key copies is deleted only after the second key has its copy`() async throws {
        let router = machine.launch()
        let moved = textKey("moved", .keychain(service: "s")).moved(from: email)
        try await router.set("a@b", for: email)
        try await router.registerCatalog(TestCatalog(.key(moved), .key(key)))
        #expect(try await router.get(moved) == "a@b")
        #expect(try await router.exists(email))
        #expect(try await router.get(key) == "a@b")
        _ = await router.sweep()
        #expect(try await !router.exists(email))
        #expect(try await router.get(key) == "a@b")
    }
}

import BackendContract
import Foundation
import LocalData
import LocalDataTesting
import MemoryBackend
import Synchronization
import TestSupport
import Testing

/// Keys with a witness: a note outside the store that a value exists.
///
/// A value that disappears without a removal is reported as vanished.
@Suite(.inTurn) struct WitnessTests {
    let stage: Stage
    /// A keyring whose items a test can delete, as another program could.
    let keyring = InMemoryStore(
        identity: BackendIdentity(kind: "keyring", store: "test"),
        capabilities: BackendCapabilities(durability: .durable, crossProcess: true, protection: .keychain))

    init() throws { stage = try Stage() }

    func launch() -> StorageRouter { stage.launch { [keyring] in $0.useBackend(for: .keychain) { _ in keyring } } }

    let plain = StorageKey<String>(name: "token", domain: .keychain, owner: "Tests", description: "The token", defaultValue: "default")
    var key: StorageKey<String> { plain.witnessed() }
    let old = StorageKey<String>(name: "oldToken", domain: .userDefaults, owner: "Tests", description: "The token of old")

    /// Deletes all values, as if another keyring had replaced this one.
    func reset() async throws {
        for address in try await keyring.addresses(in: .values) { _ = try await keyring.apply([.delete(address)]) }
    }

    func expectVanished(_ what: Comment, _ body: () async throws -> Void) async {
        let error = await #expect(throws: StorageError.self, what) { try await body() }
        #expect(error?.code == StorageError.vanished, what)
    }

    @Test func `a value that disappears without a removal is reported as vanished, and no default replaces it`() async throws {
        try await launch().set("secret", for: key)
        try await reset()
        let router = launch()
        await expectVanished("get") { _ = try await router.get(key) }
        await expectVanished("value") { _ = try await router.value(for: key) }
        await expectVanished("update") { try await router.update(key) { $0 = ($0 ?? "") + "x" } }
        await expectVanished("storedValue") { _ = try await router.storedValue(for: key) }
        #expect(try await router.get(plain) == "default", "a key without a witness does not report the loss")
        let error = await #expect(throws: StorageError.self) { try await router.get(key) }
        #expect(error?.message.contains("acknowledgeLoss") == true)
    }

    @Test func `after a loss, a new value, a removal or an acknowledgement ends the reports of the loss`() async throws {
        let router = launch()
        try await router.set("secret", for: key)
        try await reset()
        try await router.set("new", for: key)
        #expect(try await launch().get(key) == "new")
        try await reset()
        await expectVanished("after the second loss") { _ = try await router.get(key) }
        try await router.remove(key)
        #expect(try await launch().get(key) == "default")
        try await router.set("third", for: key)
        try await reset()
        try await router.acknowledgeLoss(for: key)
        #expect(try await router.get(key) == "default")
        #expect(try await launch().get(key) == "default")
    }

    @Test func `acknowledging a loss keeps a value that exists, and a later loss of the value is reported`() async throws {
        let router = launch()
        try await router.set("secret", for: key)
        try await router.acknowledgeLoss(for: key)
        #expect(try await router.get(key) == "secret")
        try await reset()
        await expectVanished("the read has noted the value") { _ = try await router.get(key) }
    }

    @Test func `a value without a note gets one when it is read`() async throws {
        // A note can be missing for two reasons. A set was killed after it wrote the value and before it wrote the
        // note. Or the value was set before the key had a witness. The key `plain` has no witness, so its set writes no
        // note.
        try await launch().set("secret", for: plain)
        #expect(try await launch().get(key) == "secret")
        try await reset()
        await expectVanished("get") { _ = try await launch().get(key) }
    }

    @Test func `after a removal that was killed before it deleted the note, the value is not reported as vanished`() async throws {
        let moving = key.moved(from: old)
        try await launch().set("secret", for: moving)
        // A removal writes the tombstone, the record of the removal, and then deletes the note. The key here has no
        // witness, so its removal leaves the note. A removal that is killed after its first step leaves it, too.
        try await launch().remove(plain.moved(from: old))
        #expect(try await launch().get(moving) == "default")
        // The read found the tombstone and deleted the note. So after the keyring has lost its content, nothing is
        // missed.
        try await reset()
        #expect(try await launch().get(moving) == "default")
    }

    @Test func `a legacy value does not replace a vanished value until the loss is acknowledged`() async throws {
        struct Keys: StorageKeyCatalog {
            let key: StorageKey<String>
            var allKeys: [AnyStorageKey] { [.key(key)] }
        }
        let moving = key.moved(from: old)
        let router = launch()
        try await router.set("older", for: old)
        #expect(try await router.get(moving) == "older")
        try await router.set("newer", for: moving)
        try await reset()
        try await launch().set("older", for: old)
        let next = launch()
        await expectVanished("get") { _ = try await next.get(moving) }
        let report = await next.sweep(Keys(key: moving))
        #expect(report.rows.map(\.errorCode) == [.vanished])
        #expect(try await next.get(old) == "older")
        try await next.acknowledgeLoss(for: moving)
        #expect(try await next.get(moving) == "older")
    }

    @Test func `a batch that sets a vanished value ends the loss, and notes the values that it sets`() async throws {
        let stage = try Stage()
        let key = StorageKey<String>(name: "a", domain: .userDefaults, owner: "Tests", description: "A value").witnessed()
        let router = stage.launch()
        try await router.batch { $0.set("1", for: key) }
        try FileManager.default.removeItem(atPath: stage.preferences + "/standard.plist")
        await expectVanished("get") { _ = try await router.get(key) }
        try await router.batch { $0.set("2", for: key) }
        #expect(try await stage.launch().get(key) == "2")
        try await router.batch { $0.remove(key) }
        #expect(try await stage.launch().value(for: key) == nil)
    }

    @Test func `a key without a witness leaves the notes unchanged, and the notes contain no plaintext`() async throws {
        let router = launch()
        try await router.set("secret", for: plain)
        let path = stage.root.path + "/data/witness.plist"
        let other = StorageKey<String>(name: "another", domain: .keychain, owner: "Tests", description: "Another value")
        try await router.set("other", for: other.witnessed())
        let before = FileManager.default.contents(atPath: path)
        let list = try #require(before.map { String(decoding: $0, as: UTF8.self) })
        for word in ["token", "another", "keychain", "secret", "other"] { #expect(!list.contains(word), "\(word)") }
        _ = try await router.get(plain)
        #expect(FileManager.default.contents(atPath: path) == before)
    }

    @Test func `the purge of an expired value removes its note`() async throws {
        let clock = TestClock()
        func launch() -> StorageRouter {
            stage.launch { [keyring] configuration in
                configuration.use(clock)
                configuration.useBackend(for: .keychain) { _ in keyring }
            }
        }
        let key = key.expiring(after: .seconds(60))
        try await launch().set("secret", for: key)
        let path = stage.root.path + "/data/witness.plist"
        func notes() throws -> Int {
            let list = try PropertyListSerialization.propertyList(from: Data(contentsOf: URL(fileURLWithPath: path)), format: nil)
            return try #require(list as? [String: Any]).keys.count { $0.count == 32 }
        }
        #expect(try notes() == 1)
        let router = launch()
        try await router.registerCatalog(TestCatalog(.key(key)))
        clock.advance(by: .seconds(61))
        await router.sweep()
        clock.pass(.seconds(86_400))
        #expect(await router.sweep().rows.map(\.state) == [.expired])
        #expect(try notes() == 0)
    }

    /// A keyring whose program a test can replace.
    private struct ReplaceableKeyring: WrappingBackend, DescribableKeyring {
        let base: any StorageBackend
        let program: Shared<String?>

        func describeKeyring() async throws(BackendError) -> KeyringDescription {
            KeyringDescription(provider: try await keeper(), collection: "login", algorithm: "dh")
        }

        func keeper() async throws(BackendError) -> String {
            guard let program = program.value.withLock(\.self) else { throw BackendError(.unavailable, "There is no keyring.") }
            return "\(program) with login"
        }
    }

    @Test func `the error of a vanished value names the keyring that had the value last, and the keyring that answers now`() async throws {
        let program = Shared<String?>("gnome-keyring-daemon")
        let (keyring, key) = (ReplaceableKeyring(base: keyring, program: program), key)
        func launch() -> StorageRouter { stage.launch { $0.useBackend(for: .keychain) { _ in keyring } } }
        func vanished() async -> String {
            await expectRefusal(.vanished, of: "token", saying: "acknowledgeLoss") { _ = try await launch().get(key) }?.message ?? ""
        }
        // An entry without a keyring, as earlier versions wrote it, stays valid and gets one when the value is seen.
        program.value.withLock { $0 = nil }
        try await launch().set("secret", for: key)
        try await reset()
        #expect(await !vanished().contains("kept it"))
        try await launch().set("secret", for: key)
        program.value.withLock { $0 = "gnome-keyring-daemon" }
        #expect(try await launch().get(key) == "secret")
        try await reset()
        #expect(await vanished().contains("gnome-keyring-daemon with login kept it, and answers now too"))
        program.value.withLock { $0 = "keepassxc" }
        #expect(await vanished().contains("gnome-keyring-daemon with login kept it, and keepassxc with login answers now"))
        // A value that was seen in the new keyring is attributed to that one.
        try await launch().set("secret", for: key)
        #expect(try await launch().get(key) == "secret")
        try await reset()
        #expect(await vanished().contains("keepassxc with login kept it"))
    }

    /// A keyring that runs a closure after its next read and before it returns the answer.
    private final class Interrupted: StorageBackend {
        let inner: InMemoryStore
        let afterRead = Mutex<(@Sendable () async -> Void)?>(nil)

        init(_ inner: InMemoryStore) { self.inner = inner }

        var identity: BackendIdentity { inner.identity }
        var capabilities: BackendCapabilities { inner.capabilities }
        func read(_ addresses: [StorageAddress], _ freshness: ReadFreshness) async throws(BackendError) -> [StorageProbe] {
            let probes = try await inner.read(addresses, freshness)
            let interruption = afterRead.withLock { interruption in
                defer { interruption = nil }
                return interruption
            }
            await interruption?()
            return probes
        }
        func apply(_ mutations: [StorageMutation]) async throws(BackendError) -> [MutationResult] { try await inner.apply(mutations) }
        func addresses(in namespace: StorageNamespace) async throws(BackendError) -> [StorageAddress] {
            try await inner.addresses(in: namespace)
        }
        func synchronize() async throws(BackendError) -> StorageDurability { try await inner.synchronize() }
    }

    @Test func `a value that another program sets during a read of its empty slot is not reported as vanished`() async throws {
        let interrupted = Interrupted(keyring)
        let router = stage.launch { $0.useBackend(for: .keychain) { _ in interrupted } }
        let (other, key) = (launch(), key)
        interrupted.afterRead.withLock {
            $0 = { _ = await #expect(throws: Never.self) { try await other.set("theirs", for: key) } }
        }
        #expect(try await router.get(key) == "theirs")
    }

    @Test(.timeLimit(.minutes(5))) func `concurrent programs never report a removed or a new value as vanished`()
        async throws
    {
        let stage = try Stage()
        let key = StorageKey<Int>(name: "a", domain: .userDefaults, owner: "Tests", description: "A value").witnessed()
        try await withThrowingTaskGroup { group in
            for worker in 0..<4 {
                group.addTask {
                    let router = stage.launch()
                    for round in 0..<25 {
                        switch (round + worker) % 3 {
                        case 0: try await router.set(round, for: key)
                        case 1: try await router.remove(key)
                        default: _ = try await router.value(for: key)
                        }
                        _ = try await router.value(for: key)
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    #if SQLite
        @Test func `a value with a witness is reported as vanished if the database file is missing`() async throws {
            let stage = try Stage()
            let key = StorageKey<String>(
                name: "a", domain: .encryptedSQLite(database: "main"), owner: "Tests", description: "A value"
            ).witnessed()
            let router = stage.launch { $0.keySource = .keyFile("sealing.key") }
            try await router.set("secret", for: key)
            try await router.shutdown()
            try FileManager.default.removeItem(atPath: stage.root.path + "/data/databases")
            await expectVanished("get") { _ = try await stage.launch { $0.keySource = .keyFile("sealing.key") }.get(key) }
        }
    #endif

    #if Keyring
        @Test(.tags(.keyring)) func `an item that another program deletes from the keyring is reported as vanished`() async throws {
            let stage = try Stage(keyring: true)
            let key = StorageKey<String>(
                name: "token", domain: .keychain(service: stage.service), owner: "Tests", description: "The token"
            ).witnessed()
            try await stage.launch().set("secret", for: key)
            let environment = try #require(stage.keyring).environment
            #expect(try await run("secret-tool", ["clear", "service", stage.service], environment: environment).status == 0)
            let router = stage.launch()
            await expectVanished("get") { _ = try await router.get(key) }
            await expectRefusal(.vanished, saying: "gnome-keyring-daemon with \(PrivateKeyring.collection) kept it") {
                _ = try await router.get(key)
            }
            try await router.set("new", for: key)
            #expect(try await router.get(key) == "new")
            try await router.remove(key)
            #expect(try await router.value(for: key) == nil)
        }
    #endif
}

import BackendContract
import Foundation
import LocalData
import MemoryBackend
import Synchronization
import TestSupport
import Testing

/// Values that are gone without having been removed.
@Suite(.inTurn) struct WitnessTests {
    let stage: Stage
    /// A keyring that a test resets, as another program would.
    let keyring = InMemoryStore(
        identity: BackendIdentity(kind: "keyring", store: "test"),
        capabilities: BackendCapabilities(durability: .durable, crossProcess: true, protection: .keychain))

    init() throws { stage = try Stage() }

    func launch() -> StorageRouter { stage.launch { [keyring] in $0.useBackend(for: .keychain) { _ in keyring } } }

    let plain = StorageKey<String>(name: "token", domain: .keychain, owner: "Tests", description: "The token", defaultValue: "default")
    var key: StorageKey<String> { plain.witnessed() }
    let old = StorageKey<String>(name: "oldToken", domain: .userDefaults, owner: "Tests", description: "The token of old")

    /// What happens to a keyring that is replaced by another one.
    func reset() async throws {
        for address in try await keyring.addresses(in: .values) { _ = try await keyring.apply([.delete(address)]) }
    }

    func expectVanished(_ what: Comment, _ body: () async throws -> Void) async {
        let error = await #expect(throws: StorageError.self, what) { try await body() }
        #expect(error?.code == StorageError.vanished, what)
    }

    @Test func `a value that is gone without having been removed has vanished: no default, and no value to begin with`() async throws {
        try await launch().set("secret", for: key)
        try await reset()
        let router = launch()
        await expectVanished("get") { _ = try await router.get(key) }
        await expectVanished("value") { _ = try await router.value(for: key) }
        await expectVanished("update") { try await router.update(key) { $0 = ($0 ?? "") + "x" } }
        await expectVanished("storedValue") { _ = try await router.storedValue(for: key) }
        #expect(try await router.get(plain) == "default", "a key without a witness knows nothing of it")
        let error = await #expect(throws: StorageError.self) { try await router.get(key) }
        #expect(error?.message.contains("acknowledgeLoss") == true)
    }

    @Test func `set, remove and acknowledging the loss end it`() async throws {
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

    @Test func `acknowledging a loss leaves a value that is there alone, and it can vanish again`() async throws {
        let router = launch()
        try await router.set("secret", for: key)
        try await router.acknowledgeLoss(for: key)
        #expect(try await router.get(key) == "secret")
        try await reset()
        await expectVanished("the read noted it again") { _ = try await router.get(key) }
    }

    @Test func `a value that nobody had noted is noted when it is read`() async throws {
        // As after a set that was killed before the note, and for values from before the key had a witness.
        try await launch().set("secret", for: plain)
        #expect(try await launch().get(key) == "secret")
        try await reset()
        await expectVanished("get") { _ = try await launch().get(key) }
    }

    @Test func `a removal that was killed before its note does not make the value vanish`() async throws {
        let moving = key.moved(from: old)
        try await launch().set("secret", for: moving)
        // The tombstone is written, and the note is still there: a key without a witness writes no note.
        try await launch().remove(plain.moved(from: old))
        #expect(try await launch().get(moving) == "default")
        // Reading has ended the note: a keyring without the tombstone is an empty one.
        try await reset()
        #expect(try await launch().get(moving) == "default")
    }

    @Test func `an older copy does not take the place of a value that has vanished, until the loss is accepted`() async throws {
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

    @Test func `changes of several keys at once end it and note it`() async throws {
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

    @Test func `a plan neither notes nor ends anything, and the list names nothing in the clear`() async throws {
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

    /// A keyring in which something happens after the next look at it, before the answer comes.
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

    @Test func `a value that another program sets after the look at its empty place has not vanished`() async throws {
        let interrupted = Interrupted(keyring)
        let router = stage.launch { $0.useBackend(for: .keychain) { _ in interrupted } }
        let (other, key) = (launch(), key)
        interrupted.afterRead.withLock {
            $0 = { _ = await #expect(throws: Never.self) { try await other.set("theirs", for: key) } }
        }
        #expect(try await router.get(key) == "theirs")
    }

    @Test(.timeLimit(.minutes(5))) func `programs that set, remove and read at once never take a removed or new value for a vanished one`()
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
        @Test func `a database whose file is gone has lost the values that have a witness`() async throws {
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
        @Test(.tags(.keyring)) func `an item that another program deletes from the keyring has vanished`() async throws {
            let stage = try Stage(keyring: true)
            let key = StorageKey<String>(
                name: "token", domain: .keychain(service: stage.service), owner: "Tests", description: "The token"
            ).witnessed()
            try await stage.launch().set("secret", for: key)
            let environment = try #require(stage.keyring).environment
            #expect(try await run("secret-tool", ["clear", "service", stage.service], environment: environment).status == 0)
            let router = stage.launch()
            await expectVanished("get") { _ = try await router.get(key) }
            try await router.set("new", for: key)
            #expect(try await router.get(key) == "new")
            try await router.remove(key)
            #expect(try await router.value(for: key) == nil)
        }
    #endif
}

#if SQLite
    import BackendContract
    import BackendRuntime
    import Foundation
    import LocalData
    import LocalDataBackup
    import MemoryBackend
    import Synchronization
    import TestSupport
    import Testing

    /// Locks of routers and of single domains: calls are refused, and the keys are removed from memory.
    @Suite(.inTurn) struct LockTests {
        private let stage: Stage
        private let list = textKey("a", .userDefaults(suite: "list"))
        private let sealed = textKey("b", .userDefaults(suite: "list"), .encrypted)
        private let row = textKey("c", .encryptedSQLite(database: "main"))
        private let other = textKey("d", .encryptedSQLite(database: "other"))
        private let secret = textKey("e", .keychain)
        private var keys: [StorageKey<String>] { [list, sealed, row, other, secret] }

        init() throws { stage = try Stage() }

        private func launch(_ change: (inout StorageConfiguration) -> Void = { _ in }) -> StorageRouter {
            stage.launch {
                $0.keychain = .sealedVault(.configured)
                change(&$0)
            }
        }

        /// A flag that `arm()` sets. `take()` returns whether it is set, and resets it.
        private final class Armed: Sendable {
            private let isOn = Mutex(false)
            func arm() { isOn.withLock { $0 = true } }
            func take() -> Bool {
                isOn.withLock { isOn in
                    defer { isOn = false }
                    return isOn
                }
            }
        }

        /// Expects that a call throws `locked` and has changed nothing.
        private func expectLocked(at location: SourceLocation = #_sourceLocation, _ call: () async throws -> Void) async {
            let error = await #expect(throws: StorageError.self, sourceLocation: location) { try await call() }
            #expect(error?.code == StorageError.locked, "\(String(describing: error))", sourceLocation: location)
            #expect(error?.outcome == .notApplied, sourceLocation: location)
        }

        @Test func `a locked router refuses every read and change, and allows them again after it is unlocked`() async throws {
            let router = launch()
            for key in keys { try await router.set("value of \(key.name)", for: key) }
            #expect(try await router.lock())
            for key in keys {
                await expectLocked { _ = try await router.get(key) }
                await expectLocked { try await router.set("lost", for: key) }
                await expectLocked { try await router.update(key) { (value: inout String?) in value = "lost" } }
                await expectLocked { try await router.remove(key) }
                await expectLocked { _ = try await router.exists(key) }
                await expectLocked { _ = try await router.storedValue(for: key) }
                await expectLocked { try await router.batch { $0.set("lost", for: key) } }
                await expectLocked { _ = try await router.names(of: key.domain) }
                guard case .locked = await router.status(of: key.domain) else {
                    Issue.record("\(key.domain) is not locked")
                    continue
                }
            }
            await expectLocked { _ = try await router.addRecoveryKey(to: row.domain) }
            await expectLocked { try await router.changePassphrase(of: .passphrase(), to: "new") }
            let blocked = try await router.registerCatalog(TestCatalog(keys.map { .key($0) }), migrateImmediately: true)
            #expect(blocked.rows.map(\.state) == Array(repeating: .blocked, count: keys.count), "\(blocked)")
            // Other routers are not locked.
            #expect(try await launch().get(row) == "value of c")
            try await router.unlock()
            for key in keys { #expect(try await router.get(key) == "value of \(key.name)") }
            for key in keys { try await router.set("new value of \(key.name)", for: key) }
            for key in keys { #expect(try await launch().get(key) == "new value of \(key.name)") }
        }

        @Test func `a lock of one domain does not lock other domains`() async throws {
            let router = launch()
            for key in keys { try await router.set("value of \(key.name)", for: key) }
            #expect(try await router.lock(row.domain))
            await expectLocked { _ = try await router.get(row) }
            await expectLocked { try await router.set("lost", for: row) }
            for key in keys where key.domain != row.domain { #expect(try await router.get(key) == "value of \(key.name)") }
            try await router.unlock(row.domain)
            #expect(try await router.get(row) == "value of c")
            // One domain can be unlocked while the others stay locked.
            try await router.lock()
            try await router.unlock(row.domain)
            #expect(try await router.get(row) == "value of c")
            for key in keys where key.domain != row.domain { await expectLocked { _ = try await router.get(key) } }
            try await router.unlock()
            for key in keys { #expect(try await router.get(key) == "value of \(key.name)") }
        }

        /// Returns a router that pauses a database change.
        ///
        /// After `isArmed` is armed, the next change stops before it takes the lock of the database, until the gate is
        /// opened.
        private func pausing() -> (router: StorageRouter, isArmed: Armed, gate: Gate) {
            let (isArmed, gate) = (Armed(), Gate())
            let files = HookedFiles { operation, path in
                if operation == "lock", path.contains("sqlite-"), isArmed.take() { gate.block() }
            }
            return (launch { $0.runtime.files = files }, isArmed, gate)
        }

        @Test func `lock waits until a running change is durable, and refuses new changes`() async throws {
            let (router, isArmed, gate) = pausing()
            try await router.set("before", for: row)
            isArmed.arm()
            let change = Task { try await router.set("finished", for: row) }
            await gate.arrived(1)
            let locking = Task { try await router.lock(waitingAtMost: .seconds(60)) }
            // The lock has begun when a new call is refused.
            var isRefused = false
            while !isRefused {
                do { _ = try await router.get(list, default: "none") } catch StorageError.locked { isRefused = true }
                // A read that is answered at once never suspends. Without the yield, two such loops occupy all threads.
                await Task.yield()
            }
            await expectLocked { try await router.set("lost", for: other) }
            gate.open()
            #expect(try await locking.value)
            try await change.value
            await expectLocked { _ = try await router.get(row) }
            #expect(try await launch().get(row) == "finished")
            try await router.unlock()
            #expect(try await router.get(row) == "finished")
        }

        @Test func `a change that runs longer than lock waits is stopped and changes nothing`() async throws {
            let (router, isArmed, gate) = pausing()
            try await router.set("before", for: row)
            isArmed.arm()
            let change = Task { try await router.set("lost", for: row) }
            await gate.arrived(1)
            #expect(try await !router.lock(waitingAtMost: .zero))
            await expectLocked { _ = try await router.get(row) }
            gate.open()
            await expectLocked { try await change.value }
            #expect(try await launch().get(row) == "before")
            try await router.unlock()
            #expect(try await router.get(row) == "before")
        }

        @Test func `a sequence of values waits while its domain is locked and continues with the latest value`() async throws {
            let router = launch()
            try await router.set("first", for: list)
            var values = router.values(for: list).makeAsyncIterator()
            #expect(try await values.next() == "first")
            // The lock begins before the sequence delivers this value, so the sequence skips it.
            try await router.set("second", for: list)
            try await router.lock()
            await expectLocked {
                var late = router.values(for: list).makeAsyncIterator()
                _ = try await late.next()
            }
            try await launch().set("third", for: list)
            try await router.unlock()
            #expect(try await values.next() == "third")
        }

        @Test func `a wrong passphrase leaves a domain locked, and the right one opens it`() async throws {
            let typed = Mutex("right")
            let asked = Mutex(0)
            let router = launch {
                $0.keySource = .passphrase()
                $0.scryptCost = ScryptCost.tooCheapForAnythingButTests(logN: 4, blockSize: 1)
                $0.passphrase = { _ in
                    asked.withLock { $0 += 1 }
                    return typed.withLock(\.self)
                }
            }
            try await router.set("value", for: row)
            try await router.lock()
            typed.withLock { $0 = "wrong" }
            let error = await #expect(throws: StorageError.self) { try await router.unlock(row.domain) }
            #expect(error?.code == StorageError.encryptionKeyMismatch)
            await expectLocked { _ = try await router.get(row) }
            typed.withLock { $0 = "right" }
            let before = asked.withLock(\.self)
            try await router.unlock(row.domain)
            #expect(try await router.get(row) == "value")
            #expect(asked.withLock(\.self) == before + 1)
        }

        /// A keyring that the test locks, as another program could.
        private final class Keyring: LockableBackend {
            private let inner: InMemoryStore
            let isLocked = Mutex(false)
            let asked = Mutex(0)

            init(_ inner: InMemoryStore) { self.inner = inner }

            var identity: BackendIdentity { inner.identity }
            var capabilities: BackendCapabilities { inner.capabilities }
            func read(_ addresses: [StorageAddress], _ freshness: ReadFreshness) async throws(BackendError) -> [StorageProbe] {
                if isLocked.withLock(\.self) { return addresses.map { _ in .locked } }
                return try await inner.read(addresses, freshness)
            }
            func apply(_ mutations: [StorageMutation]) async throws(BackendError) -> [MutationResult] {
                if isLocked.withLock(\.self) { return mutations.map { _ in .locked } }
                return try await inner.apply(mutations)
            }
            func addresses(in namespace: StorageNamespace) async throws(BackendError) -> [StorageAddress] {
                try await inner.addresses(in: namespace)
            }
            func synchronize() async throws(BackendError) -> StorageDurability { .durable }
            func status() async -> BackendStatus {
                asked.withLock { $0 += 1 }
                return isLocked.withLock(\.self) ? .locked : .ready
            }
            func unlock() async throws(BackendError) { isLocked.withLock { $0 = false } }
        }

        @Test(arguments: [true, false])
        func `a router locks together with the keyring only if its configuration says so`(_ follows: Bool) async throws {
            let keyring = Keyring(
                InMemoryStore(
                    identity: BackendIdentity(kind: "keyring", store: "test"),
                    capabilities: BackendCapabilities(durability: .durable, crossProcess: true, protection: .keychain)))
            let router = stage.launch {
                $0.keySource = .keychain
                $0.useBackend(for: .keychain) { _ in keyring }
                if follows { $0.locksWithKeychain = .milliseconds(2) }
            }
            try await router.set("row", for: row)
            try await router.set("sealed", for: sealed)
            // Without `locksWithKeychain`, the router never asks the keyring for its status.
            keyring.isLocked.withLock { $0 = true }
            guard follows else {
                #expect(try await router.get(row) == "row")
                #expect(try await router.get(sealed) == "sealed")
                #expect(keyring.asked.withLock { $0 } == 0)
                return
            }
            for key in [row, sealed] {
                var isRefused = false
                while !isRefused {
                    do { _ = try await router.get(key) } catch StorageError.locked { isRefused = true }
                    await Task.yield()
                }
            }
            await expectLocked { try await router.set("lost", for: row) }
            keyring.isLocked.withLock { $0 = false }
            #expect(try await router.get(row) == "row")
            #expect(try await router.get(sealed) == "sealed")
        }
    }

    extension StorageRouter {
        /// Returns the value of a key, or another value if it is absent.
        fileprivate nonisolated func get(_ key: StorageKey<String>, default other: String) async throws -> String {
            try await value(for: key) ?? other
        }
    }
#endif

#if SQLite
    import BackendContract
    import BackendRuntime
    import Foundation
    import LocalData
    import LocalDataBackup
    import Synchronization
    import TestSupport
    import Testing

    /// A backup beside `lock()`: it is refused, or ended with a typed error, and leaves nothing half.
    @Suite(.inTurn) struct BackupLockTests {
        private let kit: BackupStage

        init() throws { kit = try BackupStage() }

        private func expectRefused(_ router: StorageRouter) async throws {
            await expectRefusal(.locked) { _ = try await router.backup(to: kit.kit, openedBy: [kit.secret], including: [.userDefaults]) }
            #expect(try FileManager.default.contentsOfDirectory(atPath: kit.stage.directory.path) == ["root"])
        }

        @Test func `a locked router makes no backup, and makes one once it is unlocked`() async throws {
            try await kit.fill()
            let router = kit.router()
            _ = try await router.get(kit.row)
            #expect(try await router.lock())
            try await expectRefused(router)
            try await router.unlock()
            try await router.backup(to: kit.kit, openedBy: [kit.secret], including: [.userDefaults])
            try await router.shutdown()
            try await kit.restore(into: "other")
            #expect(try await kit.values("other") == kit.expected())
        }

        @Test func `with one domain locked there is no backup of the others either`() async throws {
            try await kit.fill()
            let router = kit.router()
            _ = try await router.get(kit.row)
            #expect(try await router.lock(kit.row.domain))
            try await expectRefused(router)
            try await router.unlock(kit.row.domain)
            // Nothing is locked any more, the other domains were not.
            try await router.backup(to: kit.kit, openedBy: [kit.secret], including: [.userDefaults])
            try await router.shutdown()
        }

        @Test(arguments: [true, false]) func `a backup that is under way ends when the router or a domain is locked`(
            isWhole: Bool
        ) async throws {
            try await kit.fill()
            let lock = Mutex<Task<Bool, any Error>?>(nil)
            let holder = Mutex<StorageRouter?>(nil)
            let (isClosed, begun) = (DispatchSemaphore(value: 0), Writes())
            let (row, plain) = (kit.row, isWhole ? kit.plain : kit.row)
            let files = HookedFiles { operation, path in
                // The draft of the backup is made: the states of all stores are taken, and nothing is written yet.
                guard operation == "create", path.contains("/.kit.localdata-"), begun.isFirst else { return }
                guard let router = holder.withLock(\.self) else { return }
                lock.withLock { $0 = Task { if isWhole { try await router.lock() } else { try await router.lock(row.domain) } } }
                Task {
                    while (try? await router.value(for: plain)) != nil { await Task.yield() }
                    isClosed.signal()
                }
                // The lock has begun, and waits for what is under way.
                isClosed.wait()
            }
            let router = kit.router("root", files)
            holder.withLock { $0 = router }
            _ = try await router.get(kit.row)
            try await expectRefused(router)
            // The lock was not over before the backup was.
            #expect(try await lock.withLock(\.self)?.value == true)
            try await router.unlock()
            try await router.backup(to: kit.kit, openedBy: [kit.secret], including: [.userDefaults])
            try await router.shutdown()
            holder.withLock { $0 = nil }
        }
    }
#endif

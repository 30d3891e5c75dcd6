#if SQLite
    import BackendContract
    import BackendRuntime
    import Foundation
    import LocalData
    import LocalDataBackup
    import Synchronization
    import TestSupport
    import Testing

    /// Backups of a locked router, and backups during which `lock()` is called: they throw `locked` and leave no file.
    ///
    /// A locked router refuses all calls until it is unlocked. A program can also lock one domain, such as one
    /// database.
    @Suite(.inTurn) struct BackupLockTests {
        private let kit: BackupStage

        init() throws { kit = try BackupStage() }

        private func expectRefused(_ router: StorageRouter) async throws {
            await expectRefusal(.locked) { _ = try await router.backup(to: kit.kit, openedBy: [kit.secret], including: [.userDefaults]) }
            #expect(try FileManager.default.contentsOfDirectory(atPath: kit.stage.directory.path) == ["root"])
        }

        @Test func `a locked router refuses a backup, and makes one after it is unlocked`() async throws {
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

        @Test func `one locked domain prevents a backup of all domains`() async throws {
            try await kit.fill()
            let router = kit.router()
            _ = try await router.get(kit.row)
            #expect(try await router.lock(kit.row.domain))
            try await expectRefused(router)
            try await router.unlock(kit.row.domain)
            // This was the only locked domain, so nothing is locked now.
            try await router.backup(to: kit.kit, openedBy: [kit.secret], including: [.userDefaults])
            try await router.shutdown()
        }

        @Test(arguments: [true, false]) func `a backup in progress fails when the router or a domain is locked`(
            isWhole: Bool
        ) async throws {
            try await kit.fill()
            let lock = Mutex<Task<Bool, any Error>?>(nil)
            let holder = Mutex<StorageRouter?>(nil)
            let (isClosed, begun) = (DispatchSemaphore(value: 0), Writes())
            let (row, plain) = (kit.row, isWhole ? kit.plain : kit.row)
            let files = HookedFiles { operation, path in
                // The backup creates its draft, the file that it renames at the end. It has captured the states of all
                // stores, and has not written anything.
                guard operation == "create", path.contains("/.kit.localdata-"), begun.isFirst else { return }
                guard let router = holder.withLock(\.self) else { return }
                lock.withLock { $0 = Task { if isWhole { try await router.lock() } else { try await router.lock(row.domain) } } }
                Task {
                    while (try? await router.value(for: plain)) != nil { await Task.yield() }
                    isClosed.signal()
                }
                // Reads are refused now: the lock has begun and waits for the running backup.
                isClosed.wait()
            }
            let router = kit.router("root", files)
            holder.withLock { $0 = router }
            _ = try await router.get(kit.row)
            try await expectRefused(router)
            // `lock` returned true: it waited until the backup had ended.
            #expect(try await lock.withLock(\.self)?.value == true)
            try await router.unlock()
            try await router.backup(to: kit.kit, openedBy: [kit.secret], including: [.userDefaults])
            try await router.shutdown()
            holder.withLock { $0 = nil }
        }
    }
#endif

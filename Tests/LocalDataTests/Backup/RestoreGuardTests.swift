#if SQLite
    import BackendRuntime
    import Foundation
    import LocalData
    import LocalDataBackup
    import Synchronization
    import TestSupport
    import Testing

    /// Restores, imports and backups in unusual situations: an unfinished forgetting, a cancelled task, a number that no clock has.
    @Suite(.slow("goes through real files many times"), .inTurn) struct RestoreGuardTests {
        private let kit: BackupStage

        init() throws { kit = try BackupStage() }

        /// Writes the mark that a killed call of `forget` leaves.
        private func leaveMark(_ root: String) throws {
            let mark = URL(fileURLWithPath: kit.stage.directory.file("\(root)/data/forget.json"))
            try FileManager.default.createDirectory(at: mark.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(#"{"domains":[{"kind":{"name":"encryptedSQLite"},"scope":"main"}]}"#.utf8).write(to: mark)
        }

        @Test func `a restore waits until an unfinished forgetting is complete, which would destroy the restored values`() async throws {
            try await kit.fill()
            let router = kit.router()
            try await router.backup(to: kit.kit, openedBy: [kit.secret])
            try await router.shutdown()
            try leaveMark("other")
            func restore() async throws {
                try await StorageRouter.restore(from: kit.kit, with: kit.secret, into: kit.configuration("other"))
            }
            await expectRefusal(StorageError.unavailable) { try await restore() }
            let other = kit.router("other")
            #expect(try await other.value(for: kit.plain) == nil)
            try await other.shutdown()
            try await restore()
            #expect(try await kit.values("other") == kit.all.map { "\(BackupStage.marker) \($0.name)" })
        }

        @Test func `a sequence completes an unfinished forgetting before its first element`() async throws {
            try leaveMark("root")
            var values = kit.router().values(for: kit.plain).makeAsyncIterator()
            #expect(try await values.next() == .some(nil))
            #expect(!FileManager.default.fileExists(atPath: kit.stage.directory.file("root/data/forget.json")))
            struct Note: Codable, Sendable, Identifiable { var id: String }
            try leaveMark("other")
            var records = kit.router("other").records(in: StorageCollection<Note>("notes", domain: .userDefaults)).makeAsyncIterator()
            #expect(try await records.next() == nil)
        }

        /// Returns a router whose sealed files are written on one known lane.
        private func router(on lane: DispatchLane, _ files: (any FileSystem)? = nil) -> StorageRouter {
            var configuration = kit.configuration("root", files)
            configuration.runtime.makeLane = { $0 == "sealed-file" ? lane : DispatchLane(label: $0) }
            return StorageRouter(configuration: configuration)
        }

        /// Waits until the work that a lane has is done.
        private func finish(_ lane: DispatchLane) async {
            await withCheckedContinuation { continuation in lane.enqueue { continuation.resume() } }
        }

        private func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: kit.stage.directory.path).sorted() }

        @Test func `a backup that is cancelled while it copies throws, and leaves neither a file nor a draft`() async throws {
            try await kit.fill()
            for _ in 0..<10 {
                let lane = DispatchLane(label: "sealed-file")
                let router = router(on: lane)
                let (file, secret) = (kit.kit, kit.secret)
                let task = Task {
                    _ = try await router.backup(to: file, openedBy: [secret]) { _ in withUnsafeCurrentTask { $0?.cancel() } }
                }
                let error = await expectRefusal(StorageError.cancelled) { try await task.value }
                #expect(error?.outcome == .notApplied)
                // The removal of a draft does not delay the call that failed.
                await finish(lane)
                #expect(try names() == ["root"])
                try await router.shutdown()
            }
        }

        @Test(arguments: ["synchronizeFile", "link", "synchronizeDirectory"])
        func `a backup that is cancelled while it names its file leaves the whole file and no draft`(_ step: String) async throws {
            try await kit.fill()
            let (folder, root) = (kit.stage.directory.path, kit.stage.directory.file("root"))
            let (lane, begin, isWriting, writes) = (DispatchLane(label: "sealed-file"), Gate(), Shared(false), Writes())
            let files = HookedFiles { operation, path in
                if operation == "create", path.contains("/.kit.localdata-") { isWriting.value.withLock { $0 = true } }
                // The stores are in the root folder. Every other operation is on the file of the backup.
                guard isWriting.value.withLock(\.self), operation == step, path.hasPrefix(folder), !path.hasPrefix(root), writes.isFirst
                else { return }
                writes.task?.cancel()
            }
            let router = router(on: lane, files)
            let (file, secret) = (kit.kit, kit.secret)
            let task: Task<Void, any Error> = Task {
                await begin.pass()
                _ = try await router.backup(to: file, openedBy: [secret])
            }
            writes.task = task
            begin.open()
            // The call may end before the cancellation reaches it. Then it succeeds. Otherwise the file may exist.
            do { try await task.value } catch let error as StorageError {
                #expect(error.code == StorageError.cancelled && error.outcome == .unknown, "\(error)")
            }
            #expect(writes.isOver)
            await finish(lane)
            #expect(try names() == ["kit", "root"])
            #expect(try await StorageRouter.verifyBackup(at: file, with: secret).isSound)
            try await router.shutdown()
        }

        @Test func `an import refuses a time of expiry that no clock has`() async throws {
            let router = kit.router()
            try await router.set("text", for: kit.plain, lifetime: .seconds(600))
            var lines = Data()
            _ = try await router.exportAsPlaintextThatAnyoneCanRead([.key(kit.plain)]) { lines += $0 }
            let text = String(decoding: lines, as: UTF8.self)
            let changed = text.replacing(/"expires":[0-9.]+/, with: "\"expires\":1e300")
            #expect(changed != text)
            await expectRefusal(StorageError.corrupted) {
                _ = try await router.importPlaintext(Data(changed.utf8), into: [.key(kit.plain)])
            }
        }
    }
#endif

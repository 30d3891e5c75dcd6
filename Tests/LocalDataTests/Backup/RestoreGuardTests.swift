#if SQLite
    import BackendRuntime
    import Foundation
    import LocalData
    import LocalDataBackup
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

        @Test(.timeLimit(.minutes(5))) func `a cancelled backup leaves no draft`() async throws {
            try await kit.fill()
            for number in 0..<10 {
                let router = kit.router()
                let file = kit.kit.appendingPathExtension("\(number)")
                let secret = kit.secret
                let task = Task {
                    _ = try await router.backup(to: file, openedBy: [secret]) { _ in withUnsafeCurrentTask { $0?.cancel() } }
                }
                _ = await task.result
                try await router.shutdown()
            }
            let folder = kit.stage.directory.path
            func drafts() throws -> [String] {
                try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".tmp") }
            }
            // The removal of a draft does not delay the call that failed.
            while try !drafts().isEmpty { await Task.yield() }
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

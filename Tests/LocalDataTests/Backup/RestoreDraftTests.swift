#if SQLite
    import BackendContract
    import BackendRuntime
    import Foundation
    import LocalData
    import LocalDataBackup
    import Synchronization
    import TestSupport
    import Testing

    /// A thread-safe holder of the error that a second restore throws.
    private final class Refusal: Sendable {
        private let state = Mutex<(any Error)?>(nil)
        var error: (any Error)? {
            get { state.withLock(\.self) }
            set { state.withLock { $0 = newValue } }
        }
    }

    /// The draft files of a restore.
    ///
    /// A restore writes each store to a draft, then a journal with the remaining steps, and then renames the drafts to
    /// their destinations. Drafts of property lists are plaintext, so they must not outlive the restore.
    @Suite(.slow("goes through real files many times"), .inTurn) struct RestoreDraftTests {
        private let kit: BackupStage

        init() throws { kit = try BackupStage() }

        private func drafts(_ root: String) throws -> [String] {
            try kit.files(root).keys.filter { $0.contains(".restore-") || $0.contains("restore-drafts") }
        }

        /// Kills a restore after it has written its drafts and before it writes its journal.
        private func kill(_ root: String) async throws {
            let files = HookedFiles()
            try await kit.restore(into: "whole of \(root)", files)
            let count = files.operations.count
            for number in 1...count {
                try? FileManager.default.removeItem(atPath: kit.stage.directory.file(root))
                files.arm(.stops, at: number)
                _ = try? await kit.restore(into: root, files)
                files.arm(nil)
                if try drafts(root).contains(where: { $0.contains("vaults/.v-") }) { break }
            }
            #expect(try drafts(root).contains { $0.contains("standard.plist.restore-") })
            #expect(try drafts(root).contains("data/restore-drafts.json"))
        }

        @Test func `the next program that opens a store removes the drafts of a killed restore`() async throws {
            try await kit.fill()
            try await kit.backup()
            try await kill("run")
            #expect(try kit.files("run").values.contains { $0.range(of: Data(BackupStage.marker.utf8)) != nil })
            let router = kit.router("run")
            #expect(try await router.value(for: kit.plain) == nil)
            try await router.shutdown()
            #expect(try drafts("run").isEmpty)
            #expect(try kit.files("run").values.allSatisfy { $0.range(of: Data(BackupStage.marker.utf8)) == nil })
        }

        @Test func `if a killed restore listed drafts in folders that no longer exist, the list is deleted, and stores open`() async throws
        {
            let root = kit.stage.directory.file("moved")
            try FileManager.default.createDirectory(
                atPath: root + "/data", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            let noted = ["\(root)/data/databases/.main.sqlite.restore-0011223344556677", "/nowhere/.main.sqlite.restore-0011223344556677"]
            try JSONEncoder().encode(noted).write(to: URL(fileURLWithPath: root + "/data/restore-drafts.json"))
            let router = kit.router("moved")
            #expect(try await router.value(for: kit.plain) == nil)
            try await router.shutdown()
            #expect(try drafts("moved").isEmpty)
        }

        /// A restore that continues from its journal assumes that a missing draft was already renamed to its
        /// destination.
        /// So each draft must be durable before the journal.
        @Test func `the directory entries of the drafts are durable before the journal is written`()
            async throws
        {
            try await kit.fill()
            try await kit.backup()
            let seen = Shared<[String]>([])
            try await kit.restore(into: "run", HookedFiles { operation, path in seen.note("\(operation) \(path)") })
            let journal = try #require(seen.all.firstIndex { $0.contains(".restore.json.") })
            let draft = try #require(seen.all.firstIndex { $0.contains("standard.plist.restore-") })
            let folder = kit.stage.directory.file("run") + "/preferences"
            #expect(seen.all[draft..<max(draft, journal)].contains("synchronizeDirectory \(folder)"))
        }

        @Test func `the next backup, and the restore of another backup, remove the drafts of a killed restore`() async throws {
            try await kit.fill()
            try await kit.backup()
            let other = URL(fileURLWithPath: kit.kit.path + "2")
            try await kit.backup(to: other)
            try await kill("run")
            try await kit.restore(into: "run", from: other)
            #expect(try drafts("run").isEmpty)
            #expect(try await kit.values("run") == kit.expected())
            try await kill("again")
            try await kit.backup("again", to: URL(fileURLWithPath: kit.kit.path + "3"))
            #expect(try drafts("again").isEmpty)
        }

        @Test func `opening a store keeps the drafts of a running restore, and a second restore is refused`() async throws {
            try await kit.fill()
            try await kit.backup()
            let looked = Writes()
            let (refused, stopped) = (Refusal(), Refusal())
            let kit = kit
            let files = HookedFiles { operation, path in
                guard operation == "synchronizeFile", path.contains("standard.plist.restore-"), looked.isFirst else { return }
                let done = DispatchSemaphore(value: 0)
                Task {
                    let router = kit.router("run")
                    do { _ = try await router.value(for: kit.plain) } catch { stopped.error = error }
                    try? await router.shutdown()
                    do { try await kit.restore(into: "run") } catch { refused.error = error }
                    done.signal()
                }
                done.wait()
            }
            // The router in the hook above finds no store, or it creates an empty folder. In both cases, the first
            // restore completes.
            try await kit.restore(into: "run", files)
            #expect(looked.isOver)
            #expect((refused.error as? StorageError)?.code == .timedOut)
            #expect(stopped.error == nil)
            #expect(try await kit.values("run") == kit.expected())
            #expect(try drafts("run").isEmpty)
        }

        @Test func `a database that changes while a restore is prepared is not replaced`() async throws {
            try await kit.fill()
            let names = Set(try await kit.backup().stores.map(\.name))
            try await kit.fill("root", "older")
            let database = kit.stage.directory.file("root") + "/data/databases/main.sqlite"
            let changed = Writes()
            let files = HookedFiles { _, path in
                // The restore creates its drafts after it has compared all stores with the backup.
                guard path.contains(".restore-"), !path.hasSuffix(".lock"), changed.isFirst else { return }
                // SQLite does not write a page whose bytes stay the same, so the change inserts a new row.
                try? PlainDatabase(path: database).execute("INSERT INTO state VALUES (2, zeroblob(60))")
            }
            await expectRefusal(.conflict) { _ = try await kit.restore(into: "root", files, replacing: names) }
            #expect(changed.isOver)
            #expect(try await kit.values("root") == kit.expected("older"))
            #expect(try drafts("root").isEmpty)
            #expect(try kit.files("root").keys.allSatisfy { !$0.contains(".replaced-") })
        }
    }
#endif

#if SQLite
    import BackendContract
    import Foundation
    import LocalData
    import LocalDataBackup
    import TestSupport
    import Testing

    /// Backups and restores that stop at each file operation, as if the process had been killed.
    ///
    /// A restore first writes a draft, a new file, for each store. Then it writes a journal with the remaining steps.
    /// Then it renames each draft to the file that it replaces. While the journal exists, no store opens.
    @Suite(.slow("goes through real files many times"), .inTurn) struct BackupFaultTests {
        private let stage: BackupStage

        init() throws { stage = try BackupStage() }

        private func copy(_ root: String, to other: String) throws {
            let (from, to) = (stage.stage.directory.file(root), stage.stage.directory.file(other))
            try? FileManager.default.removeItem(atPath: to)
            try FileManager.default.copyItem(atPath: from, toPath: to)
        }

        @Test func `a killed backup leaves no partial file and no plaintext, and the next backup succeeds`() async throws {
            try await stage.fill()
            let files = HookedFiles()
            try await stage.backup("root", files)
            let count = files.operations.count
            #expect(count > 5)
            var killed = 0
            for number in 1...count {
                try? FileManager.default.removeItem(at: stage.kit)
                files.arm(.stops, at: number)
                do { try await stage.backup("root", files) } catch { killed += 1 }
                files.arm(nil)
                for name in try FileManager.default.contentsOfDirectory(atPath: stage.stage.directory.path) where name != "root" {
                    let bytes = FileManager.default.contents(atPath: stage.stage.directory.file(name)) ?? Data()
                    #expect(bytes.range(of: Data(BackupStage.marker.utf8)) == nil)
                }
                if FileManager.default.fileExists(atPath: stage.kit.path) {
                    try await StorageRouter.verifyBackup(at: stage.kit, with: stage.secret)
                    try FileManager.default.removeItem(at: stage.kit)
                }
                try await stage.backup()
                #expect(try FileManager.default.contentsOfDirectory(atPath: stage.stage.directory.path).allSatisfy { !$0.hasPrefix(".") })
            }
            print("a backup of every store, killed at each of \(count) steps: \(killed) without a file")
            #expect(killed > 5)
        }

        @Test func `a backup that fails because the disk is full leaves no draft, whatever it was writing`() async throws {
            try await stage.fill()
            let files = HookedFiles()
            try await stage.backup("root", files)
            let count = files.operations.count
            var failed = 0
            for number in 1...count {
                try? FileManager.default.removeItem(at: stage.kit)
                // The operation leaves its file behind and fails, like a write that fills the disk.
                files.arm(.failsAfter(ENOSPC), at: number)
                do { try await stage.backup("root", files) } catch { failed += 1 }
                files.arm(nil)
                let names = try FileManager.default.contentsOfDirectory(atPath: stage.stage.directory.path)
                #expect(names.allSatisfy { !$0.hasPrefix(".") }, "operation \(number) left \(names)")
            }
            #expect(failed > 2)
        }

        @Test func `a killed restore leaves old values, new values or stores that refuse to open, and a retry completes it`() async throws {
            try await stage.fill()
            let names = Set(try await stage.backup().stores.map(\.name))
            try await stage.fill("root", "older")
            try copy("root", to: "run")
            let files = HookedFiles()
            try await stage.restore(into: "run", files, replacing: names)
            #expect(try await stage.values("run") == stage.expected())
            let count = files.operations.count
            var (before, between, after) = (0, 0, 0)
            for number in sample(1...count, 24) {
                try copy("root", to: "run")
                files.arm(.stops, at: number)
                _ = try? await stage.restore(into: "run", files, replacing: names)
                files.arm(nil)
                do {
                    let values = try await stage.values("run")
                    #expect(values == stage.expected("older") || values == stage.expected(), "killed at \(number)")
                    if values == stage.expected() { after += 1 } else { before += 1 }
                    // The stores opened, so there is no journal: the restore was killed before it wrote the journal, or
                    // after it had removed it at the end. In both cases no draft may remain, because a store that opens
                    // removes the drafts of a killed restore. Only an unfinished list of drafts may remain.
                    #expect(
                        try stage.files("run").keys.allSatisfy { !$0.contains("restore-") || $0.hasSuffix("restore-drafts.json.tmp") },
                        "killed at \(number)")
                } catch let error as StorageError {
                    #expect(
                        error.code == .unavailable && error.message.hasPrefix("A restore was interrupted"), "killed at \(number): \(error)")
                    between += 1
                }
                let report = try await stage.restore(into: "run", replacing: names)
                #expect(try await stage.values("run") == stage.expected(), "killed at \(number), \(report)")
                let left = try stage.files("run").keys.filter { $0.contains("restore-") || $0.hasSuffix("restore.json") }
                #expect(left.isEmpty, "killed at \(number)")
            }
            print(
                "a restore of \(names.count) stores, killed at each of \(count) steps: \(before) before, \(between) between, \(after) after"
            )
            #expect(before > 3 && between > 3, "before \(before), between \(between), after \(after) of \(count)")
        }

        @Test func `after a restore, a value that was set after the backup is absent, and a restored value that is lost again is reported`()
            async throws
        {
            let (kept, later) = (stage.plain.witnessed(), textKey("later", .userDefaults).witnessed())
            try await stage.fill()
            let names = Set(try await stage.backup().stores.map(\.name))
            let router = stage.router()
            try await router.set("not in the backup", for: later)
            #expect(try await router.value(for: kept) != nil)
            try await router.shutdown()
            try await stage.restore(into: "root", replacing: names)
            let next = stage.router()
            #expect(try await next.value(for: later) == nil)
            #expect(try await next.value(for: kept) != nil)
            try await next.shutdown()
            try FileManager.default.removeItem(atPath: stage.stage.directory.file("root") + "/preferences/standard.plist")
            let error = await #expect(throws: StorageError.self) { try await stage.router().value(for: kept) }
            #expect(error?.code == StorageError.vanished)
        }

        @Test func `an interrupted restore can be completed in a copied or moved folder, and the original stays unchanged`()
            async throws
        {
            try await stage.fill()
            let names = Set(try await stage.backup().stores.map(\.name))
            try await stage.fill("root", "older")
            try copy("root", to: "run")
            let files = HookedFiles()
            try await stage.restore(into: "run", files, replacing: names)
            let count = files.operations.count
            var copies = 0
            for number in sample(1...count, 16) {
                try copy("root", to: "run")
                files.arm(.stops, at: number)
                _ = try? await stage.restore(into: "run", files, replacing: names)
                files.arm(nil)
                guard try stage.files("run").keys.contains("data/restore.json") else { continue }
                copies += 1
                let original = try stage.files("run")
                try copy("run", to: "copied")
                try await stage.restore(into: "copied", replacing: names)
                #expect(try await stage.values("copied") == stage.expected(), "killed at \(number)")
                #expect(try stage.files("run") == original, "killed at \(number)")
                let manager = FileManager.default
                try? manager.removeItem(atPath: stage.stage.directory.file("moved"))
                try manager.moveItem(atPath: stage.stage.directory.file("run"), toPath: stage.stage.directory.file("moved"))
                try await stage.restore(into: "moved", replacing: names)
                #expect(try await stage.values("moved") == stage.expected(), "killed at \(number)")
            }
            #expect(copies > 3)
        }
    }
#endif

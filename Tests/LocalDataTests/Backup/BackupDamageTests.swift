#if SQLite
    import BackendContract
    import Foundation
    import LocalData
    import LocalDataBackup
    import TestSupport
    import Testing

    /// Backups of damaged databases.
    ///
    /// The backup contains all other stores. A damaged value is still damaged after a restore and never becomes absent.
    ///
    /// A database encrypts its rows with its data key. It contains this data key wrapped: encrypted with a sealing key.
    /// The sealing key comes from a key source, such as a key file or the keyring.
    @Suite(.inTurn) struct BackupDamageTests {
        private let kit: BackupStage
        private let main = StorageDomain.encryptedSQLite(database: "main")

        init() throws { kit = try BackupStage() }

        private var path: String { kit.stage.directory.file("root") + "/data/databases/main.sqlite" }
        private var keys: [StorageKey<String>] { (0..<120).map { textKey("n\($0)", main) } }

        /// Fills every store, and stores enough values in the database that its rows take several pages.
        private func fill() async throws {
            try await kit.fill()
            let router = kit.router()
            let text = String(repeating: "x", count: 400)
            try await router.batch { batch in for key in keys { batch.set("\(key.name) \(text)", for: key) } }
            try await router.shutdown()
        }

        /// Returns the beginning of each key's value, "absent" for a key without a value, or the code of the read
        /// error.
        private func found(_ root: String) async throws -> [String] {
            let router = kit.router(root)
            var found: [String] = []
            for key in keys {
                do { found.append(try await router.value(for: key).map { String($0.prefix(8)) } ?? "absent") } catch let error
                    as StorageError
                {
                    found.append(error.code.description)
                }
            }
            try await router.shutdown()
            return found
        }

        /// Changes the pages of the database file.
        private func changePages(_ change: (inout [[UInt8]]) throws -> Void) throws {
            let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
            var pages = stride(from: 0, to: bytes.count, by: 4_096).map { Array(bytes[$0..<min(bytes.count, $0 + 4_096)]) }
            try change(&pages)
            try Data(pages.flatMap(\.self)).write(to: URL(fileURLWithPath: path))
        }

        private static func number(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }

        /// Backs up, verifies and restores the damaged database, and expects the same readable values before and after.
        /// - Parameter isFile: Whether pages of the file are damaged. If false, only the content of a row is damaged.
        private func expectSameDamage(_ what: Comment, isFile: Bool = true) async throws {
            let before = try await found("root")
            let made = try await kit.backup()
            let damaged = made.stores.filter { $0.isDamaged }.map(\.name)
            #expect(damaged == (isFile ? ["encryptedSQLite(main)"] : []), what)
            #expect(made.stores.allSatisfy { $0.problem == nil }, what)
            let verified = try await StorageRouter.verifyBackup(at: kit.kit, with: kit.secret)
            #expect(verified.stores.map(\.isDamaged) == made.stores.map(\.isDamaged) && !verified.isSound, what)
            #expect(made.isSound == !isFile, what)
            #expect(verified.stores.map(\.digest) == made.stores.map(\.digest), what)
            let report = try await kit.restore(into: "other")
            #expect(report.missing.isEmpty && report.restored.contains("encryptedSQLite(main)"), what)
            #expect(try await found("other") == before, what)
            let others = [kit.plain, kit.sealed, kit.vault]
            #expect(try await kit.values("other", keys: others) == others.map { "\(BackupStage.marker) \($0.name)" }, what)
            // Restoring the same backup again finds that the restored pages are unchanged.
            if isFile {
                #expect(try await kit.restore(into: "other", replacing: ["ledger"]).unchanged.contains("encryptedSQLite(main)"), what)
            }
            // The backup left no temporary copy of the pages beside the database.
            let names = try FileManager.default.contentsOfDirectory(atPath: (path as NSString).deletingLastPathComponent)
            #expect(names.allSatisfy { !$0.contains(".copy-") }, what)
        }

        @Test func `a backup keeps a damaged page unchanged, and a restore keeps every readable value readable`() async throws {
            try await fill()
            try changePages { pages in
                // A leaf page of a table (type 0x0D in the SQLite file format) with more than two rows.
                let leaf = try #require(pages.indices.dropFirst().last { pages[$0][0] == 0x0D && Self.number(pages[$0][3..<5]) > 2 })
                pages[leaf] = [UInt8](repeating: 0, count: 4_096)
            }
            let found = try await found("root")
            #expect(found.contains("corrupted") && found.contains { $0.hasSuffix("xxx") } && !found.contains("absent"))
            try await expectSameDamage("a leaf of zeros")
        }

        @Test func `a backup and a restore do not change a damaged page that refers to the same child page twice`() async throws {
            try await fill()
            try changePages { pages in
                // An inner page of a table (type 0x05 in the SQLite file format): its second child pointer now points
                // to the first child.
                let inner = try #require(pages.indices.dropFirst().first { pages[$0][0] == 0x05 && Self.number(pages[$0][3..<5]) > 2 })
                let cells = (0..<2).map { Self.number(pages[inner][(12 + 2 * $0)..<(14 + 2 * $0)]) }
                for place in 0..<4 { pages[inner][cells[1] + place] = pages[inner][cells[0] + place] }
            }
            try await expectSameDamage("an inner page that names one child twice")
        }

        @Test func `a backup keeps a row with NULL in a column that is declared as NOT NULL`() async throws {
            try await fill()
            let declared = "slot BLOB NOT NULL, version INTEGER NOT NULL, sealed"
            func declare(_ old: String, _ new: String) throws {
                try PlainDatabase(path: path).execute(
                    "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, '\(old)', '\(new)') WHERE name = 'records'")
            }
            let loose = "slot BLOB, version INTEGER, sealed"
            try declare(declared, loose)
            try PlainDatabase(path: path).execute("UPDATE records SET version = NULL WHERE id = (SELECT max(id) FROM records)")
            try declare(loose, declared)
            try await expectSameDamage("a NULL")
        }

        @Test func `a backup keeps rows that cannot be decrypted`() async throws {
            try await fill()
            try PlainDatabase(path: path).execute("UPDATE records SET sealed = zeroblob(200) WHERE id = (SELECT max(id) FROM records)")
            try await expectSameDamage("a row of zeros", isFile: false)
        }

        @Test func `a backup reports a file that is no longer a database, and contains all other stores`() async throws {
            try await fill()
            try changePages { pages in pages[0] = [UInt8](repeating: 0x5A, count: 4_096) }
            let made = try await kit.backup()
            #expect(made.stores.filter { $0.problem != nil }.map(\.name) == ["encryptedSQLite(main)"] && !made.isSound)
            let verified = try await StorageRouter.verifyBackup(at: kit.kit, with: kit.secret)
            #expect(verified.stores.map(\.problem) == made.stores.map(\.problem) && !verified.isSound)
            let others = [kit.plain, kit.sealed, kit.vault]
            let expected = others.map { "\(BackupStage.marker) \($0.name)" }
            let report = try await kit.restore(into: "other")
            #expect(report.missing == ["encryptedSQLite(main)"] && !report.restored.contains("encryptedSQLite(main)"))
            #expect(try await kit.values("other", keys: others) == expected)
            // The backup has no content for this store, so the restore leaves the existing file unchanged.
            let file = try Data(contentsOf: URL(fileURLWithPath: path))
            let again = try await kit.restore(into: "root", replacing: Set(made.stores.map(\.name)))
            #expect(again.missing == ["encryptedSQLite(main)"])
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == file)
            #expect(try await kit.values("root", keys: others) == expected)
        }

        @Test func `a restore of a damaged database is refused on a machine whose key source already has another key`() async throws {
            let router = kit.router()
            let text = String(repeating: "x", count: 400)
            try await router.batch { batch in for key in keys { batch.set("\(key.name) \(text)", for: key) } }
            try await router.shutdown()
            try changePages { pages in
                let leaf = try #require(pages.indices.dropFirst().last { pages[$0][0] == 0x0D && Self.number(pages[$0][3..<5]) > 2 })
                pages[leaf][1_000] ^= 0xFF
                pages[leaf][0] = 0
            }
            let before = try await found("root")
            let again = kit.router()
            try await again.backup(to: kit.kit, openedBy: [kit.secret])
            try await again.shutdown()
            let other = kit.router("other")
            try await other.set("mine", for: textKey("own", .encryptedSQLite(database: "own")))
            try await other.shutdown()
            // A row that cannot be read may need a key that only the backup has. The restore could not make such a row
            // readable with the other sealing key. So the restore is refused.
            await expectRefusal(.encryptionKeyMismatch) { _ = try await kit.restore(into: "other", replacing: ["ledger"]) }
            try await kit.restore(into: "third")
            #expect(try await found("third") == before)
        }
    }
#endif

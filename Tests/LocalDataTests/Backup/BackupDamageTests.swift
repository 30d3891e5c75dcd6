#if SQLite
    import BackendContract
    import Foundation
    import LocalData
    import LocalDataBackup
    import TestSupport
    import Testing

    /// Backups of stores that are damaged: everything else is in them, what is damaged stays damaged, and nothing damaged becomes absent.
    @Suite(.inTurn) struct BackupDamageTests {
        private let kit: BackupStage
        private let main = StorageDomain.encryptedSQLite(database: "main")

        init() throws { kit = try BackupStage() }

        private var path: String { kit.stage.directory.file("root") + "/data/databases/main.sqlite" }
        private var keys: [StorageKey<String>] { (0..<120).map { textKey("n\($0)", main) } }

        /// A program with so many values that the rows fill several pages.
        private func fill() async throws {
            try await kit.fill()
            let router = kit.router()
            let text = String(repeating: "x", count: 400)
            try await router.batch { batch in for key in keys { batch.set("\(key.name) \(text)", for: key) } }
            try await router.shutdown()
        }

        /// What a program finds under each name: the beginning of its value, that it is absent, or an error.
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

        /// Changes the pages of the database's file.
        private func changePages(_ change: (inout [[UInt8]]) throws -> Void) throws {
            let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
            var pages = stride(from: 0, to: bytes.count, by: 4_096).map { Array(bytes[$0..<min(bytes.count, $0 + 4_096)]) }
            try change(&pages)
            try Data(pages.flatMap(\.self)).write(to: URL(fileURLWithPath: path))
        }

        private static func number(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }

        /// Backs up, verifies and restores the damaged database, and compares what can be read.
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
            // The same backup again finds what it has restored, page by page.
            if isFile {
                #expect(try await kit.restore(into: "other", replacing: ["ledger"]).unchanged.contains("encryptedSQLite(main)"), what)
            }
            // No copy of the pages is left, here or there.
            let names = try FileManager.default.contentsOfDirectory(atPath: (path as NSString).deletingLastPathComponent)
            #expect(names.allSatisfy { !$0.contains(".copy-") }, what)
        }

        @Test func `a damaged page is in the backup as it is, and what could be read can be read after a restore`() async throws {
            try await fill()
            try changePages { pages in
                // A leaf of a table of rows, with more than one row.
                let leaf = try #require(pages.indices.dropFirst().last { pages[$0][0] == 0x0D && Self.number(pages[$0][3..<5]) > 2 })
                pages[leaf] = [UInt8](repeating: 0, count: 4_096)
            }
            let found = try await found("root")
            #expect(found.contains("corrupted") && found.contains { $0.hasSuffix("xxx") } && !found.contains("absent"))
            try await expectSameDamage("a leaf of zeros")
        }

        @Test func `rows that a damaged page repeats are in the backup as they are`() async throws {
            try await fill()
            try changePages { pages in
                // An inner page of the table of rows: its second child becomes the first one again.
                let inner = try #require(pages.indices.dropFirst().first { pages[$0][0] == 0x05 && Self.number(pages[$0][3..<5]) > 2 })
                let cells = (0..<2).map { Self.number(pages[inner][(12 + 2 * $0)..<(14 + 2 * $0)]) }
                for place in 0..<4 { pages[inner][cells[1] + place] = pages[inner][cells[0] + place] }
            }
            try await expectSameDamage("a child twice")
        }

        @Test func `a NULL where a value must be is in the backup as it is`() async throws {
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

        @Test func `rows that do not open are in the backup as rows`() async throws {
            try await fill()
            try PlainDatabase(path: path).execute("UPDATE records SET sealed = zeroblob(200) WHERE id = (SELECT max(id) FROM records)")
            try await expectSameDamage("a row of zeros", isFile: false)
        }

        @Test func `a file that is no database any more is named, and keeps nothing else out of the backup`() async throws {
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
            // What is in its place stays, whatever it is.
            let file = try Data(contentsOf: URL(fileURLWithPath: path))
            let again = try await kit.restore(into: "root", replacing: Set(made.stores.map(\.name)))
            #expect(again.missing == ["encryptedSQLite(main)"])
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == file)
            #expect(try await kit.values("root", keys: others) == expected)
        }

        @Test func `a damaged database is given to the key that is here`() async throws {
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
            // Which keys the rows need that were not opened is unknown: the other key is refused, as for single sealed values.
            await expectRefusal(.encryptionKeyMismatch) { _ = try await kit.restore(into: "other", replacing: ["ledger"]) }
            try await kit.restore(into: "third")
            #expect(try await found("third") == before)
        }
    }
#endif

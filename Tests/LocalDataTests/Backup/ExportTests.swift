#if SQLite
    import BackendContract
    import Foundation
    import LocalData
    import LocalDataBackup
    import TestSupport
    import Testing

    /// Exports of single values and collections, and their import into another program. An export is a sealed
    /// (encrypted) file.
    @Suite(.inTurn) struct ExportTests {
        struct Account: Codable, Sendable, Equatable, Identifiable {
            let id: String
            var balance: Int
        }

        private let kit: BackupStage
        private let accounts = StorageCollection<Account>(
            "accounts", domain: .encryptedSQLite(database: "main"), owner: "Tests", description: "Accounts")
        private var entries: [AnyStorageKey] { kit.all.map { .key($0) } + [.collection(accounts)] }

        init() throws { kit = try BackupStage() }

        private func fill() async throws {
            try await kit.fill()
            let router = kit.router()
            try await router.set(Account(id: "admin/root", balance: 7), in: accounts, attributes: ["colour": "blue"])
            try await router.set(Account(id: "b", balance: 8), in: accounts, lifetime: .seconds(3_600))
            try await router.shutdown()
        }

        @Test func `values and records are exported to one sealed file and imported with their metadata`() async throws {
            try await fill()
            let router = kit.router()
            let written = try await router.export(entries, to: kit.kit, openedBy: [kit.secret])
            try await router.shutdown()
            #expect(Set(written.written) == ["plain", "sealed", "row", "vault", "accounts/admin/root", "accounts/b"])
            #expect(written.written.count == 6 && written.damaged.isEmpty)
            let bytes = try Data(contentsOf: kit.kit)
            for text in [BackupStage.marker, "accounts", "blue"] { #expect(bytes.range(of: Data(text.utf8)) == nil) }
            let other = kit.router("other")
            let report = try await other.importValues(from: kit.kit, with: kit.secret, into: entries)
            #expect(report.added == written.written && report.unknown.isEmpty)
            let root = try #require(try await other.storedValue("admin/root", in: accounts))
            #expect(root.value.balance == 7 && root.attributes["colour"] == "blue" && root.expiresAt == nil)
            #expect(try await other.storedValue("b", in: accounts)?.expiresAt != nil)
            let again = try await other.importValues(from: kit.kit, with: kit.secret, into: entries)
            #expect(again.unchanged == written.written)
            try await other.shutdown()
            #expect(try await kit.values("other") == kit.expected())
        }

        @Test func `an import replaces existing values only on request, and stores only the keys that the caller gives`() async throws {
            try await fill()
            let router = kit.router()
            try await router.export(entries, to: kit.kit, openedBy: [kit.secret])
            try await router.shutdown()
            let other = kit.router("other")
            try await other.set("mine", for: kit.row)
            try await other.set(Account(id: "b", balance: 1), in: accounts)
            let before = try #require(try await other.storedValue("b", in: accounts)?.modifiedAt)
            let some: [AnyStorageKey] = [.key(kit.row), .collection(accounts)]
            let report = try await other.importValues(from: kit.kit, with: kit.secret, into: some)
            #expect(report.kept == ["row", "accounts/b"] && report.added == ["accounts/admin/root"])
            #expect(report.unknown.sorted() == ["plain", "sealed", "vault"])
            #expect(try await other.get(kit.row) == "mine")
            #expect(try await other.storedValue("b", in: accounts)?.modifiedAt == before)
            #expect(try await other.value(for: kit.plain) == nil)
            let replaced = try await other.importValues(from: kit.kit, with: kit.secret, into: some, replacing: true)
            #expect(replaced.replaced == ["row", "accounts/b"])
            #expect(try await other.get(kit.row) == "\(BackupStage.marker) row")
            #expect(try await other.value("b", in: accounts)?.balance == 8)
            try await other.shutdown()
        }

        @Test func `an import of a truncated or changed export stores nothing, and an import of a backup is refused`() async throws {
            try await fill()
            let router = kit.router()
            var lines = Data()
            try await router.exportAsPlaintextThatAnyoneCanRead(entries) { lines += $0 }
            let text = try #require(String(data: lines, encoding: .utf8))
            #expect(text.contains("\(BackupStage.marker) plain") && text.hasPrefix(#"{"application":"#))
            let rows = text.split(separator: "\n", omittingEmptySubsequences: true)
            #expect(rows.count == 8)
            let other = kit.router("other")
            let cut = rows.dropLast().joined(separator: "\n") + "\n"
            let without = (rows.prefix(2) + rows.suffix(rows.count - 3)).joined(separator: "\n") + "\n"
            for broken in [cut, without, String(text.dropLast()), String(text.dropLast(9)), "", "{}\n", text + "{}\n"] {
                let error = await #expect(throws: StorageError.self) { try await other.importPlaintext(Data(broken.utf8), into: entries) }
                #expect(error?.code == .corrupted)
            }
            #expect(try kit.files("other").isEmpty)
            #expect(try await other.importPlaintext(lines, into: entries).added.count == 6)
            try await router.backup(to: kit.kit, openedBy: [kit.secret])
            let error = await #expect(throws: StorageError.self) {
                try await other.importValues(from: kit.kit, with: kit.secret, into: entries)
            }
            #expect(error?.code == .unsupported)
            try await other.shutdown()
            try await router.shutdown()
        }

        @Test func `an independent Python program decrypts an export and prints its lines`() async throws {
            try await fill()
            let router = kit.router()
            try await router.export([.key(kit.plain), .collection(accounts)], to: kit.kit, openedBy: [kit.secret])
            try await router.shutdown()
            let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
                .appending(path: "Fixtures/backups/kit.py").path
            let result = try await run(
                "/usr/bin/python3", ["-B", script, "lines", kit.kit.path], input: "correct horse battery staple\n")
            #expect(result.status == 0, "\(result.stderr)")
            #expect(result.stdout.contains(#""name":"plain","value":"\#(BackupStage.marker) plain""#))
            #expect(result.stdout.hasSuffix(#"{"lines":3}"# + "\n"))
        }
    }
#endif

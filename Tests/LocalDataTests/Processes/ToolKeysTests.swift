#if SQLite
    import Foundation
    import LocalData
    import TestSupport
    import Testing

    /// The keys of databases with the `localdata` tool. A recovery key opens a database whose key is lost.
    @Suite(.inTurn, .slow("starts programs"), .tags(.process)) struct ToolKeysTests: ToolUser {
        let folder: TemporaryDirectory

        init() throws { folder = try TemporaryDirectory() }

        private var keyFile: String { folder.file("root/data/sealing-key") }

        private func store() async throws {
            #expect(try await tool("set", "sqlite:documents", "note", input: "under the stone").status == 0)
        }

        private func note(_ more: String...) async throws -> ProgramResult {
            try await run(
                try Program.built("localdata"),
                owned(["get", "sqlite:documents", "note"]) + more + ["--root", folder.file("root")], environment: environment)
        }

        @Test func `a person who has lost the key of a database recovers it with the tool`() async throws {
            try await store()
            let recoveryKey = try await tool("keys", "add", "sqlite:documents").stdout
            try FileManager.default.removeItem(atPath: keyFile)
            let lost = try await note()
            #expect(lost.status == 78 && lost.stderr.contains("localdata keys recover"), "\(lost)")
            for wrong in ["not a key\n", "\n"] {
                let refused = try await tool("keys", "recover", "sqlite:documents", input: wrong)
                #expect(refused.status != 0 && !FileManager.default.fileExists(atPath: keyFile), "\(refused)")
            }
            let recovered = try await tool("keys", "recover", "sqlite:documents", input: recoveryKey)
            #expect(recovered.status == 0 && recovered.stdout.contains("  recovery key "), "\(recovered)")
            #expect(try await note().stdout == "under the stone")
            #expect(try await tool("keys", "rotate", "sqlite:documents", "--json").stdout == #"{"rows":1}"# + "\n")
            #expect(try await tool("verify", "sqlite:documents").status == 0)
            #expect(try await note().stdout == "under the stone")
        }

        private struct Recipient: Decodable {
            let id: String
            let isRecoveryKey: Bool
        }

        private func recipients() async throws -> [Recipient] {
            let answer = try await tool("keys", "recipients", "sqlite:documents", "--json")
            return try JSONDecoder().decode([Recipient].self, from: Data(answer.stdout.utf8))
        }

        @Test func `a recovery key is listed among the recipients of a database, and removed with consent`() async throws {
            try await store()
            let text = try await tool("keys", "add", "sqlite:documents").stdout
            #expect(try await tool("set", "sqlite:other", "a", input: "b").status == 0)
            #expect(try await tool("keys", "add", "sqlite:other", "--existing", input: text).status == 0)
            let id = try #require(try await recipients().first(where: \.isRecoveryKey)?.id)
            #expect(try await tool("keys", "remove", "sqlite:documents", id).status == 64)
            #expect(try await recipients().map(\.isRecoveryKey).contains(true))
            #expect(try await tool("keys", "remove", "sqlite:documents", id, "--yes").status == 0)
            #expect(try await recipients().map(\.isRecoveryKey) == [false])
            let unknown = try await tool("keys", "remove", "sqlite:documents", id, "--yes")
            #expect(unknown.status == 66, "\(unknown)")
        }

        @Test func `a database is given to another key source, and the former one does not open it`() async throws {
            try await store()
            try await provideKey("second")
            let changed = try await tool(
                "keys", "change-source", "sqlite:documents", "--from", "file:\(keyFile)", "--key-source", "credential:second")
            #expect(changed.status == 0, "\(changed)")
            #expect(try await note("--key-source", "credential:second").stdout == "under the stone")
            #expect(try await note().status == 78)
        }

        @Test func `a changed passphrase opens the data, and the former one does not`() async throws {
            let set = try await onTerminal(
                "set", "sqlite:documents", "note", "--passphrase", answers: ["abc\n", "correct horse\n", "correct horse\n"])
            #expect(set.status == 0, "\(set.stdout)")
            let changed = try await onTerminal(
                "keys", "change-passphrase", "--passphrase", answers: ["correct horse\n", "battery staple\n", "battery staple\n"])
            #expect(changed.status == 0 && !changed.stdout.contains("staple"), "\(changed.stdout)")
            let read = try await onTerminal("get", "sqlite:documents", "note", "--passphrase", answers: ["battery staple\n"])
            #expect(read.status == 0 && read.stdout.contains("abc"), "\(read.stdout)")
            #expect(try await onTerminal("get", "sqlite:documents", "note", "--passphrase", answers: ["correct horse\n"]).status == 78)
        }

        @Test func `a renamed database opens under its new name once it is adopted`() async throws {
            try await store()
            let databases = folder.file("root/data/databases")
            for ending in ["", "-wal"] where FileManager.default.fileExists(atPath: "\(databases)/documents.sqlite\(ending)") {
                try FileManager.default.copyItem(
                    atPath: "\(databases)/documents.sqlite\(ending)", toPath: "\(databases)/archive.sqlite\(ending)")
            }
            #expect(try await tool("get", "sqlite:archive", "note").status == 78)
            let adopted = try await tool("keys", "adopt", "sqlite:archive", "--from", "sqlite:documents")
            #expect(adopted.status == 0, "\(adopted)")
            #expect(try await tool("get", "sqlite:archive", "note").stdout == "under the stone")
        }

        @Test func `the former name of a renamed database is not lost once the database is adopted`() async throws {
            try await store()
            let databases = folder.file("root/data/databases")
            for name in try FileManager.default.contentsOfDirectory(atPath: databases) {
                try FileManager.default.moveItem(
                    atPath: "\(databases)/\(name)",
                    toPath: "\(databases)/\(name.replacingOccurrences(of: "documents", with: "archive"))")
            }
            #expect(try await tool("list").stdout.contains("sqlite:documents  LOST"))
            #expect(try await tool("keys", "adopt", "sqlite:archive", "--from", "sqlite:documents").status == 0)
            let list = try await tool("list")
            #expect(list.status == 0 && list.stdout == "sqlite:archive  1 value\n", "\(list)")
        }

        @Test func `a recovery key that cannot be printed is not added`() async throws {
            try await store()
            let arguments = owned(["keys", "add", "sqlite:documents"]) + ["--root", folder.file("root")]
            let full = try await run(
                "/bin/sh", ["-c", "\"$0\" \"$@\" > /dev/full", try Program.built("localdata")] + arguments, environment: environment)
            #expect(full.status == 74, "\(full)")
            let recipients = try await tool("keys", "recipients", "sqlite:documents")
            #expect(recipients.status == 0 && !recipients.stdout.contains("recovery key"), "\(recipients)")
        }

        @Test func `only a program that mounts the commands plans, sweeps and destroys keys`() async throws {
            try await store()
            for arguments in [["plan"], ["migrate"], ["windows", "list"], ["keys", "destroy-older", "--yes"]] {
                let refused = try await run(
                    try Program.built("localdata"), owned(arguments) + ["--root", folder.file("root")], environment: environment)
                #expect(refused.status == 64 && refused.stderr.contains("myapp storage \(arguments[0])"), "\(refused)")
            }
            let audit = try await tool("audit", "--json")
            #expect(audit.stdout == #"{"migrations":[],"quarantine":[],"residue":{},"rows":[],"warnings":{}}"# + "\n", "\(audit)")
        }
    }
#endif

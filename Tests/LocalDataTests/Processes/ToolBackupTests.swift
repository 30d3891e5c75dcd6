#if SQLite
    import Foundation
    import TestSupport
    import Testing

    /// Backups and exports by the tool `localdata`.
    @Suite(.inTurn, .tags(.process)) struct ToolBackupTests: ToolUser {
        let folder: TemporaryDirectory

        init() throws { folder = try TemporaryDirectory() }

        private func run(_ root: String, _ arguments: String..., input: String = "") async throws -> ProgramResult {
            try await TestSupport.run(
                try Program.built("localdata"), arguments + ["--root", folder.file(root)], environment: environment, input: input)
        }

        @Test func `a backup is made, verified and restored, and its passphrase is no argument`() async throws {
            #expect(try await run("root", "set", "sqlite:main", "a", input: "secret").status == 0)
            #expect(try await run("root", "set", "defaults:settings", "b", input: "plain").status == 0)
            let file = folder.file("kit")
            let made = try await run("root", "backup", file, "--include", "defaults:settings", "--json", input: "open sesame\n")
            #expect(made.status == 0 && made.stdout.contains(#""name":"encryptedSQLite(main)""#), "\(made)")
            let verified = try await TestSupport.run(
                try Program.built("localdata"), ["verify-backup", file], environment: environment, input: "another\n")
            #expect(verified.status == 65 && verified.stdout.isEmpty, "\(verified)")
            let restored = try await run("other", "restore", file, input: "open sesame\n")
            #expect(restored.status == 0 && restored.stdout.contains("restored userDefaults(settings)\n"), "\(restored)")
            #expect(try await run("other", "get", "sqlite:main", "a", "--reveal").stdout == "secret\n")
            #expect(try await run("other", "set", "sqlite:main", "a", input: "newer").status == 0)
            let refused = try await run("other", "restore", file, input: "open sesame\n")
            #expect(refused.status == 75 && refused.stderr.contains("encryptedSQLite(main)"), "\(refused)")
            #expect(try await run("other", "get", "sqlite:main", "a", "--reveal").stdout == "newer\n")
            #expect(try await run("third", "restore", file).status == 64)
        }

        @Test func `values are exported as lines, and imported where there is nothing`() async throws {
            #expect(try await run("root", "set", "sqlite:main", "a", input: "secret").status == 0)
            #expect(try await run("root", "set", "sqlite:main", "b", "--from-json", input: "[1, 2.5, null]").status == 0)
            let lines = try await run("root", "export", "sqlite:main", "--as-plaintext-that-anyone-can-read")
            #expect(lines.status == 0 && lines.stdout.contains(#""name":"b","value":[1,2.5,null]"#), "\(lines)")
            #expect(try await run("other", "set", "sqlite:main", "a", input: "mine").status == 0)
            let stored = try await run("other", "import", "sqlite:main", "a", "b", input: lines.stdout)
            #expect(stored.stdout == "added b\nkept a\n", "\(stored)")
            #expect(try await run("other", "get", "sqlite:main", "a", "--reveal").stdout == "mine\n")
            let replaced = try await run("other", "import", "sqlite:main", "a", "--replace", input: lines.stdout)
            #expect(replaced.stdout == "replaced a\nnot named b\n", "\(replaced)")
            #expect(try await run("root", "export", "sqlite:main").status == 64)
        }
    }
#endif

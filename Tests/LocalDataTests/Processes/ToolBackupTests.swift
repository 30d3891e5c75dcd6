#if SQLite
    import BackendRuntime
    import Foundation
    import LocalData
    import TestSupport
    import Testing

    /// Backups and exports with the `localdata` tool. A freshness anchor is a record of a database's latest state,
    /// stored outside the database file. A sealed value is encrypted with a key from a key source, such as a key file.
    @Suite(.inTurn, .slow("starts programs"), .tags(.process)) struct ToolBackupTests: ToolUser {
        let folder: TemporaryDirectory

        init() throws { folder = try TemporaryDirectory() }

        private func run(_ root: String, _ arguments: String..., input: String = "") async throws -> ProgramResult {
            try await TestSupport.run(
                try Program.built("localdata"), owned(arguments) + ["--root", folder.file(root)], environment: environment, input: input)
        }

        @Test func `the tool backs up the stores of a service and refuses to make an empty backup`() async throws {
            var configuration = StorageConfiguration.service(applicationID: "com.example.service")
            configuration.runtime.host.environment = ["STATE_DIRECTORY": try folder.folder("state")]
            configuration.deadlines.files = .seconds(120)
            let router = StorageRouter(configuration: configuration)
            try await router.set("secret", for: textKey("a", .encryptedSQLite(database: "main")))
            try await router.set("plain", for: textKey("b", .userDefaults))
            try await router.shutdown()
            let file = folder.file("kit")
            func backup(_ root: String, _ more: String...) async throws -> ProgramResult {
                try await TestSupport.run(
                    try Program.built("localdata"), ["backup", file, "--root", folder.file(root)] + more, environment: environment,
                    input: "open sesame\n")
            }
            let id = ["--app-id", "com.example.service"]
            let above = try await backup("state", id[0], id[1])
            #expect(above.status == 66 && above.stderr.contains("--root \(folder.file("state"))/LocalData"), "\(above)")
            let other = try await backup("state/LocalData", id[0], id[1], "--include", "defaults:nothing")
            #expect(other.status == 66 && other.stderr.contains("defaults:nothing"), "\(other)")
            #expect(!FileManager.default.fileExists(atPath: file))
            // The only application in the folder need not be named.
            let made = try await backup("state/LocalData")
            #expect(made.status == 0 && made.stdout.contains("sqlite:main: "), "\(made)")
            #expect(made.stdout.contains("defaults:\(configuration.userDefaultsName): ") && made.stderr.isEmpty, "\(made)")
            #expect(try await backup("state/LocalData").status == 73)
            let wrong = try await TestSupport.run(
                try Program.built("localdata"),
                ["get", "sqlite:main", "a", "--app-id", "another", "--root", folder.file("state/LocalData")], environment: environment)
            #expect(wrong.status == 78 && wrong.stderr.contains("--app-id com.example.service"), "\(wrong)")
        }

        @Test func `a backup is made, verified and restored, and its passphrase comes from standard input`() async throws {
            #expect(try await run("root", "set", "sqlite:main", "a", input: "secret").status == 0)
            #expect(try await run("root", "set", "defaults:settings", "b", input: "plain").status == 0)
            let file = folder.file("kit")
            let made = try await run("root", "backup", file, "--include", "defaults:settings", "--json", input: "open sesame\n")
            #expect(made.status == 0 && made.stdout.contains(#""name":"sqlite:main""#), "\(made)")
            let verified = try await TestSupport.run(
                try Program.built("localdata"), ["verify", "--backup", file], environment: environment, input: "another\n")
            #expect(verified.status == 78 && verified.stdout.isEmpty, "\(verified)")
            let foreign = try await TestSupport.run(
                try Program.built("localdata"), ["verify", "--backup", file, "--app-id", "com.typo"], environment: environment,
                input: "open sesame\n")
            #expect(foreign.status == 78 && foreign.stderr.contains("--app-id "), "\(foreign)")
            let restored = try await run("other", "restore", file, input: "open sesame\n")
            #expect(restored.status == 0 && restored.stdout.contains("restored defaults:settings\n"), "\(restored)")
            #expect(try await run("other", "get", "sqlite:main", "a").stdout == "secret")
            #expect(try await run("other", "set", "sqlite:main", "a", input: "newer").status == 0)
            let refused = try await run("other", "restore", file, input: "open sesame\n")
            #expect(refused.status == 73 && refused.stderr.contains("sqlite:main"), "\(refused)")
            #expect(refused.stderr.contains("--replace NAME"), "\(refused)")
            let unknown = try await run("other", "restore", file, "--replace", "sqlite:typo", "--yes", input: "open sesame\n")
            #expect(unknown.status == 66 && unknown.stderr.contains("sqlite:typo"), "\(unknown)")
            #expect(unknown.stderr.contains("sqlite:main"), "\(unknown)")
            let json = try await run("other", "restore", file, "--replace", "sqlite:typo", "--yes", "--json", input: "open sesame\n")
            #expect(json.stderr.contains(#""error":"unknownStore""#) && json.stderr.contains(#""name":"sqlite:typo""#), "\(json)")
            let unasked = try await run("other", "restore", file, "--replace", "sqlite:main", input: "open sesame\n")
            #expect(unasked.status == 64 && unasked.stderr.contains("--yes"), "\(unasked)")
            #expect(try await run("other", "get", "sqlite:main", "a").stdout == "newer")
            let replaced = try await run(
                "other", "restore", file, "--replace", "sqlite:main", "--replace", "ledger", "--yes", input: "open sesame\n")
            #expect(replaced.status == 0 && replaced.stdout.contains("restored sqlite:main\n"), "\(replaced)")
            #expect(try await run("other", "get", "sqlite:main", "a").stdout == "secret")
            #expect(try await run("third", "restore", file).status == 64)
            let script = "printf 'open sesame\\377\\n' | \"$0\" verify --backup \"$1\""
            let invalid = try await TestSupport.run(
                "/bin/sh", ["-c", script, try Program.built("localdata"), file], environment: environment)
            #expect(invalid.status == 64 && invalid.stderr.contains("not text"), "\(invalid)")
        }

        @Test func `an older database file is refused by its freshness anchor, and accepted only with an option`() async throws {
            let (anchor, database) = (folder.file("anchors/main"), folder.file("root") + "/data/databases/main.sqlite")
            func verify(_ more: String...) async throws -> ProgramResult {
                try await TestSupport.run(
                    try Program.built("localdata"),
                    owned(["verify", "sqlite:main", "--anchor", anchor, "--root", folder.file("root")]) + more,
                    environment: environment)
            }
            #expect(try await run("root", "set", "sqlite:main", "a", input: "older").status == 0)
            #expect(try await verify().status == 66)
            // The program makes the anchor.
            var configuration = StorageConfiguration(root: URL(fileURLWithPath: folder.file("root")), applicationID: "localdata")
            configuration.freshnessAnchors["main"] = .file(anchor)
            configuration.deadlines.files = .seconds(120)
            let program = StorageRouter(configuration: configuration)
            #expect(try await program.value(for: textKey("a", .encryptedSQLite(database: "main"))) == "older")
            try await program.shutdown()
            let older = try Data(contentsOf: URL(fileURLWithPath: database))
            #expect(try await run("root", "set", "sqlite:main", "a", input: "later").status == 0)
            #expect(try await verify().status == 0)
            for ending in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: database + ending) }
            try older.write(to: URL(fileURLWithPath: database))
            let refused = try await verify()
            #expect(refused.status == 65 && (refused.stderr.contains("rolledBack") || refused.stderr.contains("older")), "\(refused)")
            #expect(try await run("root", "verify", "sqlite:main", "--accept-older-file").status == 64)
            #expect(try await run("root", "verify", "defaults:main", "--anchor", anchor).status == 64)
            let accepted = try await verify("--accept-older-file", "--yes")
            #expect(accepted.status == 0 && accepted.stdout.hasPrefix("sound: 1 row"), "\(accepted)")
            #expect(try await verify().status == 0)
            #expect(try await run("root", "get", "sqlite:main", "a").stdout == "older")
        }

        @Test func `a backup reports a damaged database and leaves it out, and a restore reports that it is missing`() async throws {
            #expect(try await run("root", "set", "sqlite:main", "a", input: "secret").status == 0)
            #expect(try await run("root", "set", "sqlite:other", "b", input: "secret").status == 0)
            let (file, database) = (folder.file("kit"), folder.file("root") + "/data/databases/main.sqlite")
            try Data(repeating: 0x5A, count: 8_192).write(to: URL(fileURLWithPath: database))
            let made = try await run("root", "backup", file, "--json", input: "open sesame\n")
            #expect(made.status == 65 && made.stdout.contains(#""problem":"corrupted""#), "\(made)")
            let verified = try await run("root", "verify", "--backup", file, input: "open sesame\n")
            #expect(verified.status == 65, "\(verified)")
            let restored = try await run("other", "restore", file, input: "open sesame\n")
            #expect(restored.status == 65 && restored.stderr.contains("not in the backup: sqlite:main"), "\(restored)")
            #expect(try await run("other", "get", "sqlite:other", "b").stdout == "secret")
        }

        @Test func `values are exported as lines, and an import keeps existing values unless --replace is given`() async throws {
            #expect(try await run("root", "set", "sqlite:main", "a", input: "secret").status == 0)
            #expect(try await run("root", "set", "sqlite:main", "b", "--from-json", input: "[1, 2.5, null]").status == 0)
            let lines = try await run("root", "export", "sqlite:main", "--as-plaintext-that-anyone-can-read")
            #expect(lines.status == 0 && lines.stdout.contains(#""name":"b","value":[1,2.5,null]"#), "\(lines)")
            #expect(try await run("other", "set", "sqlite:main", "a", input: "mine").status == 0)
            let stored = try await run("other", "import", "sqlite:main", "a", "b", input: lines.stdout)
            #expect(stored.stdout == "added b\nkept a\n", "\(stored)")
            #expect(try await run("other", "get", "sqlite:main", "a").stdout == "mine")
            #expect(try await run("other", "import", "sqlite:main", "a", "--replace", input: lines.stdout).status == 64)
            let replaced = try await run("other", "import", "sqlite:main", "a", "--replace", "--yes", input: lines.stdout)
            #expect(replaced.stdout == "replaced a\nnot named b\n", "\(replaced)")
            #expect(try await run("root", "export", "sqlite:main").status == 64)
            let absent = try await run("other", "import", "sqlite:main", "c", input: lines.stdout)
            #expect(absent.status == 1 && absent.stderr.contains("not in the export of sqlite:main: c"), "\(absent)")
            #expect(try await run("root", "export", "sqlite:main", "c", "--as-plaintext-that-anyone-can-read").status == 1)
        }

        @Test func `bytes stay bytes in an export and an import`() async throws {
            #expect(try await run("root", "set", "defaults:d", "a", "--raw", input: "\u{0}raw\n").status == 0)
            let lines = try await run("root", "export", "defaults:d", "--as-plaintext-that-anyone-can-read")
            #expect(lines.stdout.contains(#""kind":"data""#), "\(lines)")
            for place in ["defaults:d", "sqlite:main"] {
                let moved = lines.stdout.replacingOccurrences(
                    of: "userDefaults(d)", with: place == "defaults:d" ? "userDefaults(d)" : "encryptedSQLite(main)")
                #expect(try await run("other", "import", place, "a", input: moved).stdout == "added a\n")
                #expect(try await run("other", "get", place, "a", "--kind").stdout == "a: data, 5 bytes\n")
                #expect(try await run("other", "get", place, "a").stdout == "\u{0}raw\n")
                #expect(try await run("other", "import", place, "a", input: moved).stdout == "unchanged a\n")
            }
        }

        @Test func `a rotation keeps the older key of a source, because values that are sealed one by one may need it`() async throws {
            #expect(try await run("root", "set", "sqlite:main", "a", input: "secret").status == 0)
            let key = folder.file("root") + "/data/sealing-key"
            let before = String(decoding: try fileBytes(key), as: UTF8.self)
            let rotated = try await run("root", "keys", "rotate", "--json")
            #expect(rotated.stdout == #"{"databases":1,"olderKeys":1,"remaining":[],"values":0}"# + "\n", "\(rotated)")
            let lines = String(decoding: try fileBytes(key), as: UTF8.self)
            #expect(lines.hasSuffix(before) && lines != before)
            #expect(try await run("root", "keys", "rotate").stdout.hasSuffix("The source keeps 1 older key.\n"))
            #expect(String(decoding: try fileBytes(key), as: UTF8.self) == lines)
            #expect(try await run("root", "get", "sqlite:main", "a").stdout == "secret")
            let empty = try await tool("keys", "rotate", "--key-source", "file:\(folder.file("none"))")
            #expect(empty.status == 78 && empty.stderr.contains("no key can be replaced"), "\(empty)")
            #expect(!empty.stderr.contains("already sealed"), "\(empty)")
        }

        @Test func `a backup without the key of a database fails with the path of the missing key`() async throws {
            #expect(try await run("root", "set", "sqlite:main", "a", input: "secret").status == 0)
            let key = folder.file("root") + "/data/sealing-key"
            try FileManager.default.moveItem(atPath: key, toPath: folder.file("moved"))
            let missing = try await run("root", "backup", folder.file("kit"), input: "open sesame\n")
            #expect(missing.status == 78 && missing.stderr.contains("There is no key in key file \(key)"), "\(missing)")
            #expect(!missing.stderr.contains("databaseKeySources"), "\(missing)")
            let other = try await run(
                "root", "backup", folder.file("kit"), "--key-source", "file:\(folder.file("none"))", input: "open sesame\n")
            #expect(other.status == 78 && other.stderr.contains("--key-source"), "\(other)")
            #expect(!FileManager.default.fileExists(atPath: folder.file("kit")))
        }

        @Test func `the help of import says that names are required, and that of export says that they are not`() async throws {
            let (imported, exported) = (try await run("root", "import", "--help"), try await run("root", "export", "--help"))
            #expect(imported.stdout.contains("<names> ...") && !imported.stdout.contains("all names"), "\(imported.stdout)")
            #expect(exported.stdout.contains("Default: all names"), "\(exported.stdout)")
            #expect(try await run("root", "import", "sqlite:main").status == 64)
        }

        @Test func `a new passphrase with fewer than 8 characters is refused before a file is written`() async throws {
            #expect(try await run("root", "set", "sqlite:main", "a", input: "secret").status == 0)
            let file = folder.file("kit")
            for short in ["x", "1234567"] {
                let backup = try await run("root", "backup", file, input: "\(short)\n")
                #expect(backup.status == 64 && backup.stderr.contains("8 characters"), "\(backup)")
                let export = try await run("root", "export", "sqlite:main", "--to", file, input: "\(short)\n")
                #expect(export.status == 64 && export.stderr.contains("8 characters"), "\(export)")
                let typed = try await onTerminal("backup", file, answers: ["\(short)\n", "\(short)\n"])
                #expect(typed.status == 64 && typed.stdout.contains("8 characters"), "\(typed.stdout)")
            }
            #expect(!FileManager.default.fileExists(atPath: file))
            #expect(try await run("root", "backup", file, input: "12345678\n").status == 0)
            // An existing file opens with any passphrase that it was made with.
            let opened = try await TestSupport.run(
                try Program.built("localdata"), ["verify", "--backup", file], environment: environment, input: "x\n")
            #expect(opened.status == 78, "\(opened)")
        }
    }
#endif

#if SQLite
    import BackendRuntime
    import Foundation
    import LocalData
    import Sealing
    import TestSupport
    import Testing

    /// The `localdata` tool, run as a separate program: encrypted databases and their keys.
    ///
    /// The data key of a database encrypts its rows. A sealing key encrypts data keys and single values. It comes from
    /// a key source, such as a credential, a key file or the keyring. A vault is an encrypted database that replaces
    /// the keyring. To set damaged data aside is to move it to the quarantine, the store for displaced data.
    @Suite(.inTurn, .slow("starts programs"), .tags(.process)) struct ToolTests: ToolUser {
        let folder: TemporaryDirectory

        init() throws { folder = try TemporaryDirectory() }

        @Test func `a new key is one line, differs each time and uses the random source of the runtime`() async throws {
            let program = try Program.built("localdata")
            let (first, second) = (try await run(program, ["keys", "new"]), try await run(program, ["keys", "new"]))
            #expect(first.stdout != second.stdout)
            #expect(first.stdout.hasSuffix("\n") && first.stdout.split(separator: "\n").count == 1)
            #expect(try SealingKey(text: first.stdout).id.count == 8)
            #expect(first.stderr.split(separator: "\n").count == 1 && !first.stderr.contains("LocalData-key"))

            var runtime = Runtime.live
            runtime.randomness = Randomness(words: { 0x0807_0605_0403_0201 })
            #expect(
                KeySourceReference.newKeyText(runtime)
                    == "LocalData-key-1 be203ca189f0077f AQIDBAUGBwgBAgMEBQYHCAECAwQFBgcIAQIDBAUGBwg=")
        }

        @Test func `the tool sets, lists, reads and removes values of a database with the key of a systemd credential`() async throws {
            try await provideKey("vault")
            let set = try await tool("set", "sqlite:documents", "note", "--key-source", "credential:vault", input: "under the stone\n")
            #expect(set.status == 0, "\(set.stderr)")
            #expect(try await tool("status", "sqlite:documents", "--key-source", "credential:vault").stdout == "sqlite:documents: ready\n")
            #expect(try await tool("list", "sqlite:documents", "--key-source", "credential:vault").stdout == "note\n")
            #expect(
                try await tool("get", "sqlite:documents", "note", "--key-source", "credential:vault").stdout == "under the stone")
            let file = try Data(contentsOf: URL(fileURLWithPath: folder.file("root/data/databases/documents.sqlite")))
            #expect(file.range(of: Data("under the stone".utf8)) == nil)

            #expect(try await tool("remove", "sqlite:documents", "note", "--key-source", "credential:vault", "--yes").status == 0)
            #expect(try await tool("get", "sqlite:documents", "note", "--key-source", "credential:vault").status == 1)
        }

        @Test func `a rotation of the data key of a database keeps its values`() async throws {
            try await provideKey("vault")
            #expect(
                try await tool("set", "sqlite:documents", "note", "--key-source", "credential:vault", input: "under the stone\n")
                    .status == 0)
            let rotated = try await tool("keys", "rotate", "sqlite:documents", "--key-source", "credential:vault", "--json")
            #expect(rotated.status == 0 && rotated.stdout == "{\"rows\":1}\n", "\(rotated.stdout) \(rotated.stderr)")
            #expect(
                try await tool("get", "sqlite:documents", "note", "--key-source", "credential:vault").stdout == "under the stone")
            #expect(try await tool("set", "defaults:any", "a", input: "b").status == 0)
            #expect(try await tool("keys", "rotate", "defaults:any", "--key-source", "credential:vault").status == 69)
        }

        @Test func `a damaged row is listed with a handle, a text for the commands that export it, set it aside or remove it`() async throws
        {
            try await provideKey("vault")
            for name in ["one", "two", "three"] {
                #expect(try await tool("set", "sqlite:documents", name, "--key-source", "credential:vault", input: "abc").status == 0)
            }
            let path = folder.file("root/data/databases/documents.sqlite")
            func overwrite() throws {
                try PlainDatabase(path: path).execute(
                    "UPDATE records SET sealed = zeroblob(200) WHERE id = (SELECT min(id) FROM records)")
            }
            func handle() async throws -> String {
                let listed = try await tool("damaged", "list", "sqlite:documents", "--key-source", "credential:vault").stdout
                return String(listed.prefix { $0 != " " })
            }
            try overwrite()
            let names = try await tool("list", "sqlite:documents", "--key-source", "credential:vault")
            #expect(names.status == 0 && names.stdout.split(separator: "\n").count == 2 && names.stderr.contains("damaged"))
            let first = try await handle()
            let bytes = try await tool("damaged", "export", "sqlite:documents", first, "--key-source", "credential:vault")
            #expect(bytes.status == 0 && bytes.stdout.utf8.count >= 200)
            #expect(
                try await tool("damaged", "set-aside", "sqlite:documents", first, "--key-source", "credential:vault", "--yes").status == 0)
            #expect(
                try await tool("damaged", "set-aside", "sqlite:documents", first, "--key-source", "credential:vault", "--yes").status == 1)
            #expect(try await tool("quarantine", "list").stdout.split(separator: "\n").count == 1)
            try overwrite()
            #expect(
                try await tool("damaged", "remove", "sqlite:documents", try await handle(), "--key-source", "credential:vault", "--yes")
                    .status == 0)
            let left = try await tool("list", "sqlite:documents", "--key-source", "credential:vault")
            #expect(left.stdout.split(separator: "\n").count == 1 && left.stderr.isEmpty)
            #expect(try await tool("damaged", "remove", "sqlite:documents", "none", "--key-source", "credential:vault").status == 64)
        }

        @Test func `verify reports a row that was removed from the database file, with exit status 65`() async throws {
            try await provideKey("vault")
            for name in ["one", "two"] {
                #expect(try await tool("set", "sqlite:documents", name, "--key-source", "credential:vault", input: "abc").status == 0)
            }
            let sound = try await tool("verify", "sqlite:documents", "--key-source", "credential:vault")
            #expect(sound.status == 0 && sound.stdout == "sound: 2 rows, 2 commits\n", "\(sound.stderr)")
            try PlainDatabase(path: folder.file("root/data/databases/documents.sqlite")).execute(
                "DELETE FROM records WHERE id = (SELECT min(id) FROM records)")
            let lost = try await tool("verify", "sqlite:documents", "--key-source", "credential:vault", "--json")
            let json =
                #"{"areRowsWhole":false,"commits":2,"damagedLabels":0,"damagedRows":0,"expectedRows":2,"isSound":false,"rows":1,"rowsOfDestroyedKeys":0}"#
            #expect(lost.status == 65 && lost.stdout == json + "\n", "\(lost.stdout)")
            let text = try await tool("verify", "sqlite:documents", "--key-source", "credential:vault")
            #expect(text.status == 65 && text.stdout.contains("2 were"), "\(text.stdout)")
            #expect(
                try await tool("verify", "sqlite:documents", "--key-source", "credential:vault", "--accept-contents", "--yes").status == 0)
            try writeList(["a": "b"])
            #expect(try await tool("verify", "defaults:old").status == 69)
        }

        private struct Named: Codable, Sendable { var id: String }

        /// In a release window, a program keeps the legacy location of a value up to date for its earlier release.
        @Test func `the tool requests the end of a release window, and the next sweep of the program ends it`() async throws {
            let router = StorageRouter(
                configuration: StorageConfiguration(root: URL(fileURLWithPath: folder.file("root")), applicationID: "localdata"))
            let old = textKey("token", .userDefaults(suite: "old"))
            let key = textKey("token", .userDefaults(suite: "new")).moved(from: old, keeping: .untilReleased)
            try await router.set("one", for: key)
            #expect(try await router.row(of: key).state == .mirrored)
            let asked = try await tool("windows", "end", "defaults:new", "token")
            #expect(asked.status == 0, "\(asked.stderr)")
            #expect(try await router.get(old) == "one")
            #expect(try await router.row(of: key).state == .purged)
            #expect(try await router.row(of: key).state == .unchanged)
            #expect(try await !router.exists(old))
            let notes = StorageCollection<Named>("notes", domain: .userDefaults(suite: "new"), owner: "Tests", description: "Notes") {
                $0.id
            }
            let oldNotes = StorageCollection<Named>("old", domain: .userDefaults(suite: "old"), owner: "Tests", description: "Notes") {
                $0.id
            }
            let kept = notes.moved(from: oldNotes, keeping: .untilReleased)
            try await router.set(Named(id: "a"), in: kept)
            let all = try await tool("windows", "end", "defaults:new", "notes", "--collection")
            #expect(all.status == 0, "\(all.stderr)")
            #expect(try await router.count(in: oldNotes) == 1)
            try await router.registerCatalog(TestCatalog(.collection(kept)))
            #expect(await router.sweep().isComplete)
            #expect(try await router.count(in: oldNotes) == 0)
            #expect(try await router.count(in: kept) == 1)
            try await router.shutdown()
            let unnamed = try await run(
                try Program.built("localdata"), ["windows", "end", "defaults:new", "token"], environment: environment)
            #expect(unnamed.status == 64 && unnamed.stderr.contains("--root"), "\(unnamed.stderr)")
        }

        @Test func `the tool stores and reveals JSON with every digit, and otherwise describes it without its content`() async throws {
            try await provideKey("vault")
            let json = #"{"list":[1,18446744073709551615,0.12345678901234567891],"none":null,"yes":true}"#
            #expect(
                try await tool("set", "sqlite:documents", "mixed", "--from-json", "--key-source", "credential:vault", input: json)
                    .status == 0)
            let shown = try await tool("get", "sqlite:documents", "mixed", "--key-source", "credential:vault")
            #expect(shown.stdout.filter { !$0.isWhitespace } == json)
            let described = try await tool("get", "sqlite:documents", "mixed", "--kind", "--key-source", "credential:vault")
            #expect(described.stdout == "mixed: an object with 3 fields\n")
            #expect(
                try await tool("set", "sqlite:documents", "mixed", "--from-json", "--key-source", "credential:vault", input: "{")
                    .status == 64)
        }

        @Test func `values that another program wrote into a property list are described by their kind`() async throws {
            let values: [String: Any] = [
                "date": Date(timeIntervalSinceReferenceDate: 0), "data": Data("hi".utf8), "text": "12", "flag": true, "real": 0.5,
                "object": ["list": [1, -2]],
            ]
            try writeList(values)
            let expected = [
                "date": ("a date", "2001-01-01T00:00:00Z"), "data": ("data, 2 bytes", "hi"), "text": ("text, 2 characters", "12"),
                "flag": ("a truth value", "true"), "real": ("a number", "0.5"), "object": ("an object with 1 fields", #"{"list":[1,-2]}"#),
            ]
            for (name, (kind, text)) in expected {
                let described = try await tool("get", "defaults:old", name, "--kind")
                #expect(described.stdout == "\(name): \(kind)\n", "\(described.stderr)")
                #expect(try await tool("get", "defaults:old", name).stdout.filter { !$0.isWhitespace } == text)
            }
        }

        @Test func `a damaged property list is set aside on request, and an intact one is not`() async throws {
            let file = try folder.folder("root/preferences") + "/old.plist"
            try Data("<plist><dict><key>".utf8).write(to: URL(fileURLWithPath: file))
            let read = try await tool("get", "defaults:old", "a")
            #expect(read.status == 65 && read.stderr.contains("set-aside"), "\(read.stderr)")
            let aside = try await tool("damaged", "set-aside", "defaults:old", "--yes")
            #expect(aside.status == 0, "\(aside.stderr)")
            let kept = try String(contentsOfFile: aside.stdout.trimmingCharacters(in: .newlines), encoding: .utf8)
            #expect(kept == "<plist><dict><key>")
            #expect(try await tool("set", "defaults:old", "a", input: "new").status == 0)
            #expect(try await tool("damaged", "set-aside", "defaults:old", "--yes").status != 0)
            #expect(try await tool("get", "defaults:old", "a").stdout == "new")
        }

        @Test func `a database does not open with a wrong key, another key source or no key, and its value stays`() async throws {
            try await provideKey("vault")
            let key = try String(contentsOfFile: folder.file("credentials/vault"), encoding: .utf8)
            #expect(try await tool("set", "sqlite:documents", "note", "--key-source", "credential:vault", input: "abc").status == 0)
            #expect(try await tool("get", "sqlite:documents", "note").status == 78)
            try await provideKey("vault")
            #expect(try await tool("get", "sqlite:documents", "note", "--key-source", "credential:vault").status == 78)
            try FileManager.default.removeItem(atPath: folder.file("credentials/vault"))
            let missing = try await tool("set", "sqlite:documents", "note", "--key-source", "credential:vault", input: "def")
            #expect(missing.status == 78 && missing.stderr.contains("keys recover"), "\(missing.stderr)")
            try Data(key.utf8).write(to: URL(fileURLWithPath: folder.file("credentials/vault")))
            #expect(try await tool("get", "sqlite:documents", "note", "--key-source", "credential:vault").stdout == "abc")
        }

        @Test func `with --vault, the tool stores keyring values in a vault and creates the key file of the vault`() async throws {
            let (key, source) = (folder.file("elsewhere"), "file:\(folder.file("elsewhere"))")
            #expect(try await tool("set", "keychain:example", "token", "--vault", "--key-source", source, input: "abc").status == 0)
            #expect(try SealingKey(text: String(contentsOfFile: key, encoding: .utf8)).id.count == 8)
            #expect(try await tool("get", "keychain:example", "token", "--vault", "--key-source", source).stdout == "abc")
        }

        @Test func `a passphrase is read without echo, and twice when it is new`() async throws {
            let made = try await onTerminal(
                "set", "sqlite:documents", "note", "--passphrase", answers: ["abc\n", "correct horse\n", "correct horse\n"])
            #expect(made.status == 0, "\(made.stdout)")
            #expect(made.stdout.contains("New passphrase default: ") && made.stdout.contains("Repeat the passphrase: "))
            #expect(made.stdout.contains("0 answers left") && !made.stdout.contains("horse"))
            #expect(made.stdout.contains("Value of note: ") && !made.stdout.contains("abc"))

            let read = try await onTerminal(
                "get", "sqlite:documents", "note", "--passphrase", answers: ["correct horse\n"])
            #expect(read.status == 0 && read.stdout.contains("abc"), "\(read.stdout)")
            #expect(read.stdout.contains("Passphrase default: ") && !read.stdout.contains("New") && !read.stdout.contains("horse"))
            let wrong = try await onTerminal("get", "sqlite:documents", "note", "--passphrase", answers: ["wrong\n"])
            #expect(wrong.status == 78, "\(wrong.stdout)")
        }

        @Test(arguments: [["correct horse\n", "correct house\n"], ["\u{3}"], ["correct horse\n", "\u{3}"], ["\n", "\n"]])
        func `a mistyped, interrupted or empty new passphrase creates nothing`(answers: [String]) async throws {
            let made = try await onTerminal(
                "set", "sqlite:documents", "note", "--passphrase", answers: ["abc\n"] + answers)
            #expect(made.status == 75 && made.stdout.contains("0 answers left"), "\(made.stdout)")
            #expect(!FileManager.default.fileExists(atPath: folder.file("root/data/default.passphrase")))
            #expect(!FileManager.default.fileExists(atPath: folder.file("root/data/databases/documents.sqlite")))
        }

        @Test func `without a terminal no passphrase can be entered, and the tool says so`() async throws {
            let made = try await run(
                "setsid",
                ["--wait", try Program.built("localdata")] + ["set", "sqlite:documents", "note"]
                    + owned(["--passphrase", "--root", folder.file("root")]), environment: environment, input: "a value")
            #expect(made.status == 75)
            #expect(made.stderr.contains("no terminal"))
        }

        @Test func `doctor and the JSON of a database's status warn of an SQLite version with a known fault, and its text does not`()
            async throws
        {
            #expect(try await tool("set", "sqlite:documents", "note", input: "abc").status == 0)
            try writeList(["a": "b"], suite: "a")
            let warning = StorageRouter(configuration: .xdg(applicationID: "x")).warning(about: .encryptedSQLite(database: "a"))
            func warns(_ arguments: String...) async throws -> Bool {
                let result = try await run(
                    try Program.built("localdata"), owned(arguments) + ["--root", folder.file("root")], environment: environment)
                return (result.stdout + result.stderr).contains("can damage a database")
            }
            #expect(try await warns("status", "sqlite:documents", "--json") == (warning != nil))
            #expect(try await warns("doctor") == (warning != nil))
            #expect(try await !warns("status", "sqlite:documents"))
            #expect(try await !warns("status", "defaults:a", "--json"))
        }

        @Test func `the set command changes nothing if its input is empty or if the stored value is of another kind`() async throws {
            #expect(try await tool("set", "defaults:svc", "port", "--from-json", input: "8080").status == 0)
            let empty = try await tool("set", "defaults:svc", "port", input: "")
            #expect(empty.status == 64 && empty.stderr.contains("standard input is empty"), "\(empty)")
            let text = try await tool("set", "defaults:svc", "port", input: "8081")
            #expect(text.status == 64 && text.stderr.contains("--from-json") && text.stderr.contains("--change-kind"), "\(text)")
            #expect(try await tool("get", "defaults:svc", "port").stdout == "8080")
            #expect(try await tool("set", "defaults:svc", "port", "--from-json", input: "8081").status == 0)
            #expect(try await tool("get", "defaults:svc", "port").stdout == "8081")
            #expect(try await tool("set", "defaults:svc", "port", "--change-kind", input: "none").status == 0)
            #expect(try await tool("set", "defaults:svc", "port", input: "\n").status == 0)
            #expect(try await tool("get", "defaults:svc", "port").stdout == "")
        }

        @Test func `a sealed value is not replaced by an unsealed one without --change-kind, and the other way around`() async throws {
            #expect(try await tool("set", "defaults:a", "k", "--sealed", input: "secret").status == 0)
            let refused = try await tool("set", "defaults:a", "k", input: "plain")
            #expect(refused.status == 64 && refused.stderr.contains("--sealed"), "\(refused)")
            #expect(try await tool("get", "defaults:a", "k", "--sealed").stdout == "secret")
            #expect(try await tool("set", "defaults:a", "k", "--change-kind", input: "plain").status == 0)
            #expect(try await tool("set", "defaults:a", "k", "--sealed", input: "secret").status == 64)
            #expect(try await tool("get", "defaults:a", "k").stdout == "plain")
        }

        @Test func `a sealing key is neither removed nor replaced without consent`() async throws {
            let place = ["keychain:example", "LocalData sealing key"]
            let text = try await run(try Program.built("localdata"), ["keys", "new"], environment: environment).stdout
            let vault = owned(["--vault", "--key-source", "file:\(folder.file("elsewhere"))", "--root", folder.file("root")])
            func unattended(_ arguments: [String], input: String = "") async throws -> ProgramResult {
                try await run(
                    "setsid", ["--wait", try Program.built("localdata")] + arguments + vault, environment: environment, input: input)
            }
            #expect(try await unattended(["set"] + place, input: text).status == 0)
            for command in [["remove"] + place, ["set"] + place] {
                let refused = try await unattended(command, input: "other")
                #expect(refused.status == 64 && refused.stderr.contains("sealing key"), "\(refused.stderr)")
                #expect(refused.stderr.contains("--destroy-sealing-key"), "\(refused.stderr)")
            }
            #expect(try await unattended(["get"] + place).stdout == text.trimmingCharacters(in: .newlines))
            // Only the name of the key, typed on a terminal, counts as consent.
            for (answer, status) in [("yes\n", Int32(64)), ("\u{3}", 64), ("LocalData sealing key\n", 0)] {
                let asked = try await onTerminal(
                    "remove", place[0], place[1], "--vault", "--key-source", "file:\(folder.file("elsewhere"))", answers: [answer])
                #expect(asked.status == status && asked.stdout.contains("lost for good"), "\(asked.stdout)")
            }
            #expect(try await unattended(["get"] + place).status == 1)
            #expect(try await unattended(["set"] + place, input: text).status == 0)
            #expect(try await unattended(["remove"] + place + ["--destroy-sealing-key"]).status == 0)
        }

        #if Keyring
            @Test(.tags(.keyring)) func `the key of a database in the session keyring is not removed without consent`() async throws {
                let (keyring, id) = (try PrivateKeyring.shared(), "org.example.\(UUID().uuidString)")
                let environment = keyring.environment.merging(["HOME": folder.path]) { $1 }
                func tool(_ arguments: String..., input: String = "") async throws -> ProgramResult {
                    try await run(
                        "setsid", ["--wait", try Program.built("localdata")] + arguments + ["--app-id", id],
                        environment: environment, input: input)
                }
                var stored = try await tool("set", "sqlite:documents", "note", input: "abc")
                // On a busy machine, the daemon may need longer than the tool waits for it.
                for _ in 0..<5 where stored.status != 0 { stored = try await tool("set", "sqlite:documents", "note", input: "abc") }
                #expect(stored.status == 0, "\(stored.stderr)")
                let refused = try await tool("remove", "keychain", "LocalData sealing key")
                #expect(refused.status == 64, "\(refused.stderr)")
                #expect(try await tool("get", "sqlite:documents", "note").stdout == "abc")
                let keeper = "kept by gnome-keyring-daemon in \(PrivateKeyring.collection), sent with dh-ietf1024-sha256-aes128-cbc-pkcs7"
                #expect(try await tool("status", "keychain").stdout == "keychain: ready\n  \(keeper)\n")
                #expect(try await tool("status", "keychain", "--json").stdout.contains(#""provider":"gnome-keyring-daemon""#))
            }
        #endif

        #if Keyring
            @Test(.tags(.keyring))
            func `the error of a locked keyring names the command that unlocks it, and that command does not name itself`() async throws {
                let keyring = try await offPool { try PrivateKeyring() }
                let environment = keyring.environment.merging(["HOME": folder.path]) { $1 }
                func tool(_ arguments: String..., input: String = "") async throws -> ProgramResult {
                    try await run(try Program.built("localdata"), arguments, environment: environment, input: input)
                }
                #expect(try await tool("set", "keychain:example", "token", input: "abc").status == 0)
                try await offPool { try keyring.lock() }
                let refused = try await tool("get", "keychain:example", "token")
                #expect(refused.status == 75 && refused.stderr.contains("localdata unlock keychain:example"), "\(refused.stderr)")
                #expect(!refused.stderr.contains("DOMAIN"), "\(refused.stderr)")
                // No program of this session can show a prompt.
                let unlock = try await tool("unlock", "keychain:example")
                #expect(unlock.status == 75 && !unlock.stderr.contains("localdata unlock"), "\(unlock.stderr)")
                #expect(unlock.stderr.contains("gnome-keyring-daemon --replace --unlock --components=secrets"), "\(unlock.stderr)")
            }
        #endif

        @Test func `without HOME the tool fails and does not use the home folder in the user database`() async throws {
            let result = try await run(
                try Program.built("localdata"), ["get", "defaults:never", "nothing"], environment: ["PATH": "/usr/bin:/bin"])
            #expect(result.status == 69 && result.stderr.contains("HOME"), "\(result.status) \(result.stderr)")
        }

        @Test(arguments: [
            ["list", "sqlite:documents"], ["list", "keychain:example", "--vault", "--key-source", "file:/nonexistent/key"],
            ["list", "sqlite:documents", "--app-id", "org.example", "--key-source", "file:key", "--passphrase"], ["list", "sqlite:"],
            ["list", "sqlite:documents", "--app-id", "org.example", "--key-source", "nothing"], ["list", "userDefaults:old"],
            ["list", "memory:default"], ["list", "--root", "/tmp", "--service", "example"],
        ])
        func `the tool requires an application id and exactly one key source`(arguments: [String]) async throws {
            let result = try await run(try Program.built("localdata"), arguments, environment: environment)
            #expect(result.status == 64 && result.stdout.isEmpty, "\(result.stderr)")
        }
    }
#endif

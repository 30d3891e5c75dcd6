#if SQLite
    import Foundation
    import TestSupport
    import Testing

    /// Machines with one fault each. `localdata doctor` runs as a separate program, and must name the fault. A printed command that is
    /// harmless is run, and must correct the fault.
    @Suite(.inTurn, .slow("starts programs"), .tags(.process)) struct DoctorTests {
        let folder: TemporaryDirectory

        // Other users must be able to reach the folder.
        init() throws { folder = try TemporaryDirectory(permissions: 0o755) }

        // MARK: The tool

        private struct Finding: Decodable {
            let check, finding, message: String
            let command: String?
        }

        private var environment: [String: String] { ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": folder.path] }
        private var root: String { folder.file("root") }
        private var keyFile: String { "\(root)/data/sealing-key" }
        private var database: String { "\(root)/data/databases/documents.sqlite" }
        private var service: [String] { ["--root", root] }

        private func localdata(_ arguments: [String], input: String = "") async throws -> ProgramResult {
            try await run(try Program.built("localdata"), arguments + service, environment: environment, input: input)
        }

        private func findings(_ result: ProgramResult) throws -> [Finding] {
            // A command that starts a keyring daemon prints a line of the daemon, too.
            let lines = result.lines.filter { !$0.hasPrefix("GNOME_KEYRING_CONTROL=") }
            #expect(lines.count == 1, "\(result.stdout) \(result.stderr)")
            let found = try JSONDecoder().decode([Finding].self, from: Data((lines.first ?? "").utf8))
            #expect(result.status == (found.contains { $0.finding == "problem" } ? 69 : 0), "\(result.stdout)")
            return found
        }

        private func doctor(_ arguments: [String], _ environment: [String: String]? = nil) async throws -> [Finding] {
            let words = ["doctor", "--json"] + arguments
            return try findings(try await run(try Program.built("localdata"), words, environment: environment ?? self.environment))
        }

        /// Expects that doctor finds exactly one problem.
        private func onlyProblem(_ arguments: [String], _ environment: [String: String]? = nil) async throws -> Finding {
            let found = try await doctor(arguments, environment)
            let problems = found.filter { $0.finding == "problem" }
            try #require(problems.count == 1, "\(found)")
            return problems[0]
        }

        /// Runs the command of a finding, as a person would paste it into a shell.
        private func follow(_ finding: Finding, _ environment: [String: String]? = nil, input: String = "") async throws {
            let command = try #require(finding.command)
            // A daemon that the command starts must not keep the files of this test open. Foundation's Process waits until
            // every process has closed its socket.
            let closing = #"for file in /proc/$$/fd/*; do n=${file##*/}; if [ "$n" -gt 2 ]; then eval "exec $n>&-"; fi; done"#
            let quiet = "\(closing) 2>/dev/null; { \(command); } >/dev/null 2>&1"
            let result = try await run("/bin/bash", ["-c", quiet], environment: environment ?? self.environment, input: input)
            #expect(result.status == 0, "\(command): \(result)")
        }

        /// Expects that doctor finds no problem. A daemon that was just started may need several attempts.
        private func expectHealthy(_ arguments: [String], _ environment: [String: String]? = nil, attempts: Int = 1) async throws {
            var problems: [Finding] = []
            for _ in 0..<attempts {
                problems = try await doctor(arguments, environment).filter { $0.finding == "problem" }
                if problems.isEmpty { return }
            }
            Issue.record("\(problems)")
        }

        /// Stores a value in an encrypted database of a service.
        private func makeService() async throws {
            let set = try await localdata(["set", "sqlite:documents", "note", "--app-id", "org.example"], input: "abc")
            try #require(set.status == 0, "\(set.stderr)")
        }

        /// The files and folders of the test, with their sizes, times and numbers.
        private func snapshot() throws -> [String: [String]] {
            var found: [String: [String]] = [:]
            for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path) {
                let attributes = try FileManager.default.attributesOfItem(atPath: folder.file(path))
                found[path] = [FileAttributeKey.size, .modificationDate, .systemFileNumber].map { "\(attributes[$0] ?? "none")" }
            }
            return found
        }

        // MARK: Keys

        @Test func `on a sound machine there is no problem, and doctor changes no file`() async throws {
            try await makeService()
            let before = try snapshot()
            let found = try await doctor(service)
            #expect(!found.contains { $0.finding == "problem" }, "\(found)")
            for check in ["database documents", "folder \(root)/data", "key source", "clock"] {
                #expect(found.contains { $0.check == check && $0.finding == "ok" }, "\(check): \(found)")
            }
            #expect(try snapshot() == before)
            let text = try await localdata(["doctor"])
            #expect(text.status == 0 && text.lines.contains { $0.hasPrefix("ok       database documents: ") }, "\(text)")
        }

        @Test func `a quarantine that is more than half full is a warning`() async throws {
            try await makeService()
            let path = "\(root)/data/quarantine/quarantine.plist"
            try FileManager.default.createDirectory(atPath: "\(root)/data/quarantine", withIntermediateDirectories: true)
            let entries = Dictionary(uniqueKeysWithValues: (0..<4_097).map { ("q\($0)", "value") })
            try PropertyListSerialization.data(fromPropertyList: entries, format: .xml, options: 0).write(to: URL(fileURLWithPath: path))
            try setPermissions(0o600, of: path)
            let found = try #require(try await doctor(service).first { $0.check == "quarantine" })
            #expect(found.finding == "warning" && found.message.contains("4097 values"), "\(found)")
            #expect(found.command?.contains("quarantine list") == true, "\(found)")
        }

        @Test func `a key file that others can read is made private`() async throws {
            try await makeService()
            try setPermissions(0o644, of: keyFile)
            let problem = try await onlyProblem(service)
            #expect(problem.check == "key source" && problem.message.contains("can be used by others"), "\(problem)")
            #expect(problem.command == "chmod 600 \(keyFile)")
            let text = try await localdata(["doctor"])
            let line = try #require(text.lines.firstIndex(where: { $0.hasPrefix("problem  key source: ") }), "\(text)")
            #expect(text.status == 69 && text.lines[line + 1] == "         chmod 600 \(keyFile)")
            try await follow(problem)
            try await expectHealthy(service)
        }

        @Test func `a missing key file is a problem if a database needs it`() async throws {
            let fresh = try await doctor(service)
            #expect(!fresh.contains { $0.finding == "problem" }, "\(fresh)")
            #expect(fresh.contains { $0.finding == "warning" && $0.message.contains("no such folder") }, "\(fresh)")
            try await makeService()
            try FileManager.default.moveItem(atPath: keyFile, toPath: folder.file("copy"))
            let problem = try await onlyProblem(service)
            #expect(problem.check == "key source" && problem.message.contains("which opens documents, is missing"), "\(problem)")
            #expect(problem.command == nil)
            try FileManager.default.moveItem(atPath: folder.file("copy"), toPath: keyFile)
            try await expectHealthy(service)
        }

        @Test(arguments: [true, false])
        func `a key file with another key, or with damaged content, is a problem`(isKey: Bool) async throws {
            try await makeService()
            let other = try await run(try Program.built("localdata"), ["keys", "new"], environment: environment).stdout
            try writeFile(isKey ? other : String(other.prefix(40)), to: keyFile)
            let problem = try await onlyProblem(service)
            let words = isKey ? "another key than the one that opens documents" : "does not contain keys"
            #expect(problem.check == "key source" && problem.message.contains(words), "\(problem)")
        }

        @Test func `if a key file of the same name is in the folder of the program, doctor names it`() async throws {
            try await makeService()
            let problem = try await onlyProblem(service + ["--key-source", "file:\(folder.file("other/sealing-key"))"])
            #expect(problem.command?.hasSuffix("doctor --root \(root) --key-source file:\(keyFile)") == true, "\(problem)")
            try await follow(problem)
        }

        @Test func `if another key source opens the databases, doctor suggests no new key`() async throws {
            try await makeService()
            let environment = environment.merging(["CREDENTIALS_DIRECTORY": try folder.folder("credentials")]) { $1 }
            for source in ["credential:vault", "file:\(folder.file("other/key"))", "passphrase"] {
                let found = try await doctor(service + ["--key-source", source], environment).filter { $0.check == "key source" }
                #expect(found.count == 1 && found[0].message.contains("in key file sealing-key, not in"), "\(found)")
            }
        }

        @Test func `a lost database is a problem`() async throws {
            try await makeService()
            for name in try FileManager.default.contentsOfDirectory(atPath: "\(root)/data/databases") {
                try FileManager.default.removeItem(atPath: "\(root)/data/databases/\(name)")
            }
            let problem = try await onlyProblem(service)
            #expect(problem.check == "database documents" && problem.message.contains("is lost"), "\(problem)")
        }

        @Test func `with the wrong key source, doctor names the right one`() async throws {
            try await makeService()
            let key = try await run(try Program.built("localdata"), ["keys", "new"], environment: environment).stdout
            let credentials = try folder.folder("credentials")
            try writeFile(key, to: "\(credentials)/vault")
            let environment = environment.merging(["CREDENTIALS_DIRECTORY": credentials]) { $1 }
            let problem = try await onlyProblem(service + ["--key-source", "credential:vault"], environment)
            #expect(problem.check == "key source" && problem.message.contains("in key file sealing-key, not in credential"), "\(problem)")
            #expect(problem.command?.hasSuffix("doctor --root \(root) --key-source file:\(keyFile)") == true, "\(problem)")
            try await follow(problem)
            let unset = try await doctor(service + ["--key-source", "credential:vault"])
            #expect(unset.contains { $0.message.contains("CREDENTIALS_DIRECTORY is not set") }, "\(unset)")
        }

        // MARK: Owners and permissions

        @Test func `a folder that other users can write is closed to them`() async throws {
            try await makeService()
            try setPermissions(0o777, of: "\(root)/data")
            let problem = try await onlyProblem(service)
            #expect(problem.check == "folder \(root)/data" && problem.message.hasPrefix("Other users can write to"), "\(problem)")
            try await follow(problem)
            try await expectHealthy(service)
        }

        @Test(.enabled(if: TestAccessControlList.areSupported, "needs access control lists"))
        func `a folder that an access control list opens to another user is closed to that user`() async throws {
            try await makeService()
            #expect(TestAccessControlList(mask: 7, users: [12_345: 7]).give(to: "\(root)/data"))
            let problem = try await onlyProblem(service)
            #expect(problem.check == "folder \(root)/data" && problem.message.contains("user 12345 can write to"), "\(problem)")
            try await follow(problem)
            try await expectHealthy(service)
        }

        @Test(.enabled(if: geteuid() == 0, "changes owners"))
        func `a file of another user is given back to the owner of the folder`() async throws {
            try await makeService()
            #expect(try await run("chown", ["nobody", database]).status == 0)
            let problem = try await onlyProblem(service)
            #expect(problem.check == "folder \(root)/data" && problem.message.contains("belongs to user nobody"), "\(problem)")
            #expect(problem.command == "chown root: \(database)")
            try await follow(problem)
            try await expectHealthy(service)
        }

        @Test(.enabled(if: geteuid() == 0, "changes owners"))
        func `root is advised to run as the user of a service`() async throws {
            try await makeService()
            #expect(try await run("chown", ["-R", "nobody:nogroup", root]).status == 0)
            let problem = try await onlyProblem(service)
            #expect(problem.check == "folder \(root)/data" && problem.message.contains("run it as nobody"), "\(problem)")
            #expect(problem.command?.hasPrefix("runuser -u nobody -- ") == true && problem.command?.contains("chown") == false)
            let before = try snapshot()
            try await follow(problem)
            #expect(try snapshot() == before)
        }

        // MARK: Lists and databases

        @Test func `a damaged property list is set aside by the printed command`() async throws {
            let list = try folder.folder("root/preferences") + "/old's.plist"
            try writeFile("<plist><dict><key>", to: list)
            let before = try snapshot()
            let problem = try await onlyProblem(service)
            #expect(problem.check == "list old's" && problem.message.contains("\(list) is damaged"), "\(problem)")
            #expect(try snapshot() == before)
            try await follow(problem)
            try await expectHealthy(service)
        }

        @Test func `a damaged ledger is moved away by the printed command`() async throws {
            try await makeService()
            let ledger = "\(root)/state/ledger.plist"
            try writeFile("", to: ledger)
            let problem = try await onlyProblem(service)
            #expect(problem.check == "list \(ledger)", "\(problem)")
            try await follow(problem)
            try await expectHealthy(service)
            #expect(FileManager.default.fileExists(atPath: ledger + ".damaged"))
        }

        @Test(arguments: [8_192, 0])
        func `a database with damaged pages, or without content, is moved away and kept`(offset: Int) async throws {
            try await makeService()
            var bytes = try fileBytes(database)
            if offset == 0 { bytes = [] } else { bytes.replaceSubrange(offset..<offset + 4_096, with: [UInt8](repeating: 0, count: 4_096)) }
            try writeFile(bytes, to: database)
            let before = try snapshot()
            let problem = try await onlyProblem(service)
            let words = offset == 0 ? "Its file is empty" : "Its pages are damaged"
            #expect(problem.check == "database documents" && problem.message.contains(words), "\(problem)")
            #expect(try snapshot() == before)
            try await follow(problem)
            try await expectHealthy(service)
            #expect(try fileBytes(database + ".damaged") == bytes)
        }

        @Test func `a database with content in its log is checked without a change`() async throws {
            try await makeService()
            // The connection stays open, so the log keeps its content.
            let other = try PlainDatabase(path: database)
            try other.execute("UPDATE records SET version = version")
            let before = try snapshot()
            let found = try await doctor(service)
            #expect(found.contains { $0.check == "database documents" && $0.message.hasPrefix("Its pages are not damaged") }, "\(found)")
            #expect(try snapshot() == before)
            _ = other
        }

        @Test func `an interrupted restore is a problem`() async throws {
            try await makeService()
            try writeFile("{}", to: "\(root)/data/restore.json")
            let before = try snapshot()
            let problem = try await onlyProblem(service)
            #expect(problem.check == "restore" && problem.message.contains("run the same restore again"), "\(problem)")
            #expect(try snapshot() == before)
        }

        // MARK: The machine

        @Test func `a clock behind the last change of the ledger is a problem`() async throws {
            try await makeService()
            let later = Date(timeIntervalSinceNow: 864_000)
            try FileManager.default.setAttributes([.modificationDate: later], ofItemAtPath: "\(root)/state/ledger.plist")
            let problem = try await onlyProblem(service)
            #expect(problem.check == "clock" && problem.message.contains("state/ledger.plist was changed at"), "\(problem)")
            #expect(problem.command.map { $0.hasSuffix("timedatectl set-ntp true") } ?? true)
        }

        @Test(.enabled("mounts a file system") { await mayMount() })
        func `a full disk is a problem until a file is removed`() async throws {
            let script = """
                mkdir "$1" && mount -t tmpfs -o size=16m,mode=0700 tmpfs "$1" && mkdir -m 700 "$1/data" || exit 1
                head -c 20000000 /dev/zero > "$1/data/filler"
                "$0" doctor --json --root "$1"; echo $?
                rm "$1/data/filler"
                "$0" doctor --json --root "$1"; echo $?
                """
            let words = ["--mount", "/bin/sh", "-c", script, try Program.built("localdata"), root]
            let lines = try await run("unshare", words, environment: environment).lines
            try #require(lines.count == 4 && lines[1] == "69" && lines[3] == "0", "\(lines)")
            let problems = try JSONDecoder().decode([Finding].self, from: Data(lines[0].utf8)).filter { $0.finding == "problem" }
            #expect(problems.map(\.check) == ["disk \(root)"] && problems.first?.message.hasPrefix("It is full") == true, "\(problems)")
            #expect(problems.first?.command?.hasSuffix("du -xah \(root) | sort -rh | head -n 20") == true, "\(problems)")
        }

        #if Keyring && os(Linux)
            @Test func `a stopped process that holds a lock is a problem until it continues`() async throws {
                try await makeService()
                let names = try FileManager.default.contentsOfDirectory(atPath: "\(root)/locks").filter { $0.hasSuffix(".lock") }
                let lock = "\(root)/locks/\(try #require(names.first))"
                let script = """
                    import fcntl, sys
                    file = open(sys.argv[1], "a")
                    fcntl.flock(file, fcntl.LOCK_EX)
                    print("held", flush=True)
                    sys.stdin.read()
                    """
                let holder = try RunningProgram("/usr/bin/python3", ["-c", script, lock])
                #expect(try await holder.line() == "held")
                try await expectHealthy(service)
                holder.signal(SIGSTOP)
                try await offPool { try waitUntilStopped(holder.processID) }
                let problem = try await onlyProblem(service)
                #expect(problem.check == "lock" && problem.message.contains("holds the lock \(lock)"), "\(problem)")
                #expect(problem.command == "kill -CONT \(holder.processID)")
                try await follow(problem)
                try await expectHealthy(service, attempts: 200)
                await holder.kill()
            }
        #endif

        // MARK: The session

        #if Keyring && os(Linux)
            /// The environment of a session without a display, and with an empty home folder.
            private func session(_ keyring: PrivateKeyring, _ more: [String: String] = [:]) -> [String: String] {
                var environment = keyring.environment
                for name in ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "CREDENTIALS_DIRECTORY", "STATE_DIRECTORY"] { environment[name] = nil }
                return environment.merging(more) { $1 }
            }

            /// Ends the daemons on the bus of a keyring that a printed command started.
            private func endDaemons(of keyring: PrivateKeyring) {
                let address = Data((keyring.environment["DBUS_SESSION_BUS_ADDRESS"] ?? "none").utf8)
                for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? [] {
                    guard let number = Int32(name), let words = try? String(contentsOfFile: "/proc/\(name)/comm", encoding: .utf8),
                        words.hasPrefix("gnome-keyring-d"),
                        FileManager.default.contents(atPath: "/proc/\(name)/environ")?.range(of: address) != nil
                    else { continue }
                    kill(number, SIGKILL)
                }
            }

            @Test func `without a session bus, the printed command gives a shell with one`() async throws {
                let problem = try await onlyProblem([])
                #expect(problem.check == "session bus" && problem.message.contains("There is no session bus"), "\(problem)")
                guard problem.command == "dbus-run-session -- sh" else { return }
                let input = "\(try Program.built("localdata")) doctor --json\n"
                let inner = try await run("/bin/sh", ["-c", "dbus-run-session -- sh"], environment: environment, input: input)
                #expect(try findings(inner).contains { $0.check == "session bus" && $0.finding == "ok" }, "\(inner)")
            }

            @Test(.tags(.keyring)) func `a bus that has ended, or that is stopped, is named`() async throws {
                let keyring = try await offPool { try PrivateKeyring() }
                try await expectHealthy([], session(keyring))
                keyring.stopBus()
                let stopped = try await onlyProblem([], session(keyring))
                #expect(stopped.check == "session bus" && stopped.message.contains("is stopped"), "\(stopped)")
                try await follow(stopped)
                try await expectHealthy([], session(keyring), attempts: 200)
                try await offPool { keyring.killBus() }
                let ended = try await onlyProblem([], session(keyring))
                #expect(ended.check == "session bus" && ended.message.contains("The bus has ended"), "\(ended)")
            }

            @Test(.tags(.keyring), arguments: [PrivateKeyring.Beginning.noDaemon, .empty])
            func `without a daemon or without a collection, the printed command creates a keyring`(
                beginning: PrivateKeyring.Beginning
            ) async throws {
                let keyring = try await offPool { try PrivateKeyring(beginning) }
                defer { endDaemons(of: keyring) }
                let problem = try await onlyProblem([], session(keyring))
                #expect(problem.check == "keyring", "\(problem)")
                let words = if case .empty = beginning { "There is no keyring yet" } else { "No program on the session bus keeps secrets" }
                #expect(problem.message.contains(words), "\(problem)")
                try await follow(problem, session(keyring), input: "correct horse\n")
                try await expectHealthy([], session(keyring), attempts: 50)
            }

            @Test(.tags(.keyring), arguments: ["GnomeKeyring\n\r\0\n", "GnomeKeyrin"])
            func `for a file that the daemon does not offer, the finding depends on the first bytes of the file`(bytes: String) async throws
            {
                let keyring = try await offPool { try PrivateKeyring(.empty) }
                defer { endDaemons(of: keyring) }
                try FileManager.default.createDirectory(atPath: keyring.keyringsDirectory, withIntermediateDirectories: true)
                try Data(bytes.utf8).write(to: URL(fileURLWithPath: keyring.keyringsDirectory + "/login.keyring"))
                let problem = try await onlyProblem([], session(keyring))
                #expect(problem.check == "keyring" && problem.message.contains("does not offer the collection"), "\(problem)")
                let isWhole = bytes.hasSuffix("\n")
                #expect(problem.message.contains(isWhole ? "another daemon may have created" : "which is damaged"), "\(problem)")
                #expect(problem.command?.hasPrefix("kill ") == (isWhole ? true : nil), "\(problem)")
            }

            @Test(.tags(.keyring)) func `a locked keyring without a display is unlocked by the printed command`() async throws {
                let keyring = try await offPool { try PrivateKeyring() }
                defer { endDaemons(of: keyring) }
                try await offPool { try keyring.restartDaemon(password: nil) }
                let problem = try await onlyProblem([], session(keyring))
                #expect(problem.check == "keyring" && problem.message.contains("no display"), "\(problem)")
                #expect(problem.command?.hasSuffix("gnome-keyring-daemon --replace --unlock --components=secrets") == true, "\(problem)")
                let shown = try await onlyProblem([], session(keyring, ["DISPLAY": ":99"]))
                #expect(shown.command?.hasSuffix(" unlock keychain:localdata") == true, "\(shown)")
                try await follow(problem, session(keyring), input: PrivateKeyring.password + "\n")
                try await expectHealthy([], session(keyring), attempts: 50)
            }

            @Test(.tags(.keyring)) func `the printed command does not end the keyring of another session`() async throws {
                let (keyring, other) = try await offPool { (try PrivateKeyring(), try PrivateKeyring()) }
                defer { endDaemons(of: keyring) }
                // This daemon finds its bus through XDG_RUNTIME_DIR alone.
                try await offPool {
                    try other.restartDaemon(password: PrivateKeyring.password, namesBus: false)
                    try keyring.restartDaemon(password: nil)
                }
                let problem = try await onlyProblem([], session(keyring))
                #expect(problem.command?.contains("kill") == false, "\(problem)")
                try await follow(problem, session(keyring), input: PrivateKeyring.password + "\n")
                try await expectHealthy([], session(keyring), attempts: 50)
                try await expectHealthy([], session(other))
            }

            @Test(.tags(.keyring)) func `a keyring without a password is a warning`() async throws {
                let keyring = try await offPool {
                    let keyring = try PrivateKeyring(.empty)
                    try keyring.setDefault(try keyring.createCollection("Login", password: ""))
                    return keyring
                }
                let found = try await doctor([], session(keyring))
                let warning = try #require(found.first(where: { $0.check == "keyring password" }), "\(found)")
                #expect(warning.finding == "warning" && warning.message.contains("/Login.keyring contains every secret in plain text"))
                #expect(!found.contains { $0.finding == "problem" }, "\(found)")
            }

            @Test(.tags(.keyring)) func `a daemon that is stopped continues with the printed command`() async throws {
                let keyring = try await offPool { try PrivateKeyring() }
                keyring.stopDaemon()
                let daemon = keyring.daemonProcessID
                try await offPool { try waitUntilStopped(daemon) }
                let problem = try await onlyProblem([], session(keyring))
                #expect(problem.check == "keyring" && problem.command == "kill -CONT \(daemon)", "\(problem)")
                try await follow(problem)
                try await expectHealthy([], session(keyring), attempts: 200)
            }
        #endif
    }

    /// Returns whether this user may mount a file system that only one program sees.
    private func mayMount() async -> Bool {
        (try? await run("unshare", ["--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]))?.status == 0
    }
#endif

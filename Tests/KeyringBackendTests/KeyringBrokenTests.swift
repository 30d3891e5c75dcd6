#if Keyring && os(Linux)
    import Foundation
    import Glibc
    import TestSupport
    import Testing

    /// Tests of keyrings that are locked, damaged or out of reach. Each test has a separate bus and gnome-keyring daemon.
    /// A worker process, the probe, makes the calls.
    @Suite(.inTurn, .timeLimit(.minutes(10)), .slow("waits for the deadlines of a broken bus"), .tags(.keyring, .process))
    struct KeyringBrokenTests {
        // MARK: Locked, empty, absent

        @Test func `a locked keyring is never mistaken for an empty one`() async throws {
            let fixture = try await ProbeFixture()
            let probe = try fixture.probe()
            #expect(try await probe.ask("put a one").outcome == "applied durable")
            try await offPool { try fixture.keyring.lock() }
            for command in ["get a", "get b", "put a two", "put b two", "delete a", "delete b"] {
                #expect(try await probe.ask(command).outcome == "locked", "\(command)")
            }
            #expect(try await probe.ask("list").outcome == "threw locked notApplied")
            #expect(try await probe.ask("status").outcome == "status locked")
            try await offPool { try fixture.keyring.unlock() }
            #expect(try await probe.ask("get a").outcome == "value one")
            #expect(try await probe.ask("get b").outcome == "absent")
        }

        @Test func `a daemon that was started without its password reports every name as locked, even one without an item`() async throws {
            let fixture = try await ProbeFixture()
            #expect(try await fixture.probe().ask("put a one").outcome == "applied durable")
            try await offPool { try fixture.keyring.restartDaemon(password: nil) }
            let probe = try fixture.probe()
            for command in ["get a", "get b", "put a two", "put b two", "delete a"] {
                #expect(try await probe.ask(command).outcome == "locked", "\(command)")
            }
            #expect(try await probe.ask("list").outcome == "threw locked notApplied")
        }

        @Test func `a wrong password leaves the keyring locked and its values unchanged`() async throws {
            let fixture = try await ProbeFixture()
            #expect(try await fixture.probe().ask("put a one").outcome == "applied durable")
            try await offPool { try fixture.keyring.restartDaemon(password: "wrong") }
            let probe = try fixture.probe()
            #expect(try await probe.ask("get a").outcome == "locked")
            #expect(try await probe.ask("put a two").outcome == "locked")
            try await offPool { try fixture.keyring.restartDaemon(password: PrivateKeyring.password) }
            #expect(try await probe.ask("get a").outcome == "value one")
        }

        /// Makes a keyring whose collection has a blank password, as automatic login does.
        private static func blank() async throws -> ProbeFixture {
            let fixture = try await ProbeFixture(.empty)
            try await offPool { try fixture.keyring.setDefault(try fixture.keyring.createCollection("Login", password: "")) }
            return fixture
        }

        @Test func `a keyring with a blank password is opened on demand without a prompt`() async throws {
            let fixture = try await Self.blank()
            #expect(try await fixture.probe().ask("put a one").outcome == "applied durable")
            for command in ["get a", "status", "list", "put a two"] {
                try await offPool { try fixture.keyring.restartDaemon(password: nil) }
                let answer = try await fixture.probe().ask(command).outcome
                #expect(["value one", "status ready", "list [\"a\"]", "applied durable"].contains(answer), "\(command): \(answer)")
            }
            #expect(try await fixture.probe().ask("get a").outcome == "value two")
        }

        @Test func `the description of a keyring without a password lists the values that this keyring would corrupt`() async throws {
            let fixture = try await Self.blank()
            let probe = try fixture.probe()
            #expect(try await probe.ask("put a one").outcome == "applied durable")
            for (name, text) in [("key", #"-----BEGIN\nMII"#), ("blank", " x"), ("plain", "x y")] {
                let attributes = ["application": "LocalData", "service": fixture.service, "namespace": "values", "account": name]
                let stored = try await run(
                    "secret-tool", ["store", "--label=theirs"] + attributes.arguments, environment: fixture.keyring.environment, input: text
                )
                #expect(stored.status == 0)
            }
            // The item "blank" may be missing in the list: if the daemon has already read its file again,
            // the leading blanks of its secret are lost, and nothing shows that they existed.
            let answer = try await probe.ask("keyring").outcome
            #expect(answer.contains(#"at risk: ["#) && answer.contains(#""key""#) && !answer.contains("plain"), "\(answer)")
        }

        @Test func `if the daemon cannot read a collection, the error names its file and advises not to create another keyring`()
            async throws
        {
            let fixture = try await Self.blank()
            #expect(try await fixture.probe().ask("put a one").outcome == "applied durable")
            let folder = fixture.keyring.keyringsDirectory
            let file = try #require(try FileManager.default.contentsOfDirectory(atPath: folder).first { $0.hasSuffix(".keyring") })
            try await offPool { fixture.keyring.killDaemon() }
            try writeFile("[keyring]\ndisplay-name=Login\nctime=0\n\n[1]\nsecret=one\ntorn line\n".utf8, to: "\(folder)/\(file)")
            try await offPool { try fixture.keyring.startDaemon(password: nil) }
            let reason = try await fixture.probe().ask("reason a")
            #expect(reason.contains("\(folder)/\(file)") && reason.contains("Do not create another keyring"), "\(reason)")
        }

        @Test func `without a default collection no value is reported as absent, and nothing is written`() async throws {
            let fixture = try await ProbeFixture(.empty)
            let probe = try fixture.probe()
            #expect(try await probe.ask("status").outcome == "status absent")
            #expect(try await probe.ask("get a").outcome == "unavailable unavailable")
            #expect(try await probe.ask("put a one").outcome == "failed unavailable notApplied")
            #expect(try await probe.ask("delete a").outcome == "failed unavailable notApplied")
            #expect(try await probe.ask("list").outcome == "threw unavailable notApplied")
            #expect(try await probe.ask("unlock").outcome == "threw unavailable notApplied")
        }

        @Test func `an item in another collection than the default one is reported as locked while that collection is locked`() async throws
        {
            let fixture = try await ProbeFixture()
            let probe = try fixture.probe()
            let other = try await offPool { try fixture.keyring.createCollection("other") }
            let attributes = ["application": "LocalData", "service": "probe", "namespace": "values", "account": "a"]
            try await offPool {
                try fixture.keyring.createItem("elsewhere", attributes, in: other)
                try fixture.keyring.lock(other)
            }
            #expect(try await probe.ask("get a").outcome == "locked")
            #expect(try await probe.ask("create a").outcome == "locked")
            #expect(try await probe.ask("get b").outcome == "absent")
            // The collection that has the item must be unlocked. That needs a prompt, and this test has no program that shows prompts.
            #expect(try await probe.ask("unlock").outcome == "threw locked notApplied")
        }

        @Test func `after a restart of the daemon, a value in a locked collection that is not the default one is listed without its name`()
            async throws
        {
            let fixture = try await ProbeFixture()
            #expect(try await fixture.probe().ask("put b one").outcome == "applied durable")
            let attributes = ["application": "LocalData", "service": "probe", "namespace": "values", "account": "a"]
            try await offPool {
                let other = try fixture.keyring.createCollection("other")
                try fixture.keyring.createItem("elsewhere", attributes, in: other)
                try fixture.keyring.restartDaemon(password: PrivateKeyring.password)
            }
            let probe = try fixture.probe()
            #expect(try await probe.ask("names").outcome == "names [\"b\"] nameless 1")
            #expect(try await probe.ask("get a").outcome == "locked")
            #expect(try await probe.ask("list").outcome == "threw locked notApplied")
        }

        @Test func `unlocking fails with the error locked if no program can show a prompt, and succeeds if the keyring is not locked`()
            async throws
        {
            let fixture = try await ProbeFixture()
            let probe = try fixture.probe()
            #expect(try await probe.ask("unlock").outcome == "unlocked")
            try await offPool { try fixture.keyring.lock() }
            #expect(try await probe.ask("unlock").outcome == "threw locked notApplied")
            #expect(try await probe.ask("status").outcome == "status locked")
        }

        @Test func `a prompt that the user closes is reported as dismissed`() async throws {
            let fixture = try await ProbeFixture()
            let probe = try fixture.probe()
            try await offPool { try fixture.keyring.lock() }
            let prompter = try FakePrompter(on: fixture.keyring, isSilent: false)
            #expect(try await probe.ask("unlock").outcome == "threw promptDismissed notApplied")
            withExtendedLifetime(prompter) {}
        }

        @Test func `an unlock whose prompt stays open times out at its deadline and does not delay reads`() async throws {
            // A busy machine may need more time for the first read than the prompt has. Reads that wait for the prompt would
            // need more time than any prompt.
            for milliseconds in [4_000, 30_000] {
                let fixture = try await ProbeFixture()
                let probe = try fixture.probe()
                _ = try await probe.ask("prompt-deadline \(milliseconds)")
                try await offPool { try fixture.keyring.lock() }
                let prompter = try FakePrompter(on: fixture.keyring, isSilent: true)
                let answer = try await probe.ask("look-during-prompt a").outcome
                if answer == "locked prompt=closed threw timedOut unknown", milliseconds == 4_000 { continue }
                #expect(answer == "locked prompt=open threw timedOut unknown")
                try await expectOnePrompt(fixture, probe)
                withExtendedLifetime(prompter) {}
                return
            }
        }

        /// Expects that reads are answered, and no second prompt is opened, after the deadline of a prompt that stays open.
        private func expectOnePrompt(_ fixture: ProbeFixture, _ probe: RunningProgram) async throws {
            #expect(try await probe.ask("get a").outcome == "locked")
            #expect(try await probe.ask("unlock").outcome == "threw timedOut notApplied", "no second prompt is opened")
            kill(probe.processID, SIGKILL)
            let other = try fixture.probe()
            #expect(try await other.ask("get a").outcome == "locked", "the daemon outlives the program whose prompt is open")
        }

        // MARK: No bus, no daemon

        @Test func `without a bus every call fails at once`() async throws {
            let fixture = try await ProbeFixture(.noDaemon)
            let empty = try TemporaryDirectory()
            let probe = try fixture.probe(changing: ["DBUS_SESSION_BUS_ADDRESS": nil, "XDG_RUNTIME_DIR": empty.path])
            for command in ["get a", "put a one", "delete a", "list", "status", "unlock", "synchronize"] {
                let answer = try await probe.ask(command)
                #expect(answer.contains("unavailable"), "\(command): \(answer)")
                #expect((answer.number("ms") ?? .max) < millisecondsOfBus, "\(command): \(answer)")
            }
        }

        @Test func `a bus that would have to be launched is not launched`() async throws {
            let fixture = try await ProbeFixture(.noDaemon)
            let probe = try fixture.probe(changing: ["DBUS_SESSION_BUS_ADDRESS": "autolaunch:"])
            #expect(try await probe.ask("get a").outcome == "unavailable unavailable")
        }

        @Test(arguments: ["tcp:host=localhost,port=1", "unixexec:path=/bin/true", "nonce-tcp:host=x", "unix:path=/none;tcp:host=localhost"])
        func `a bus address of another machine or of a program is refused`(address: String) async throws {
            let fixture = try await ProbeFixture(.noDaemon)
            let probe = try fixture.probe(changing: ["DBUS_SESSION_BUS_ADDRESS": address])
            #expect(try await probe.ask("get a").outcome == "unavailable unavailable")
        }

        @Test func `a bus in a folder that other users can write is refused`() async throws {
            let fixture = try await ProbeFixture()
            #expect(try await fixture.probe().ask("put a one").outcome == "applied durable")
            let home = String(fixture.keyring.file("bus").dropLast("/bus".count))
            let mode = try filePermissions(home) ?? 0o700
            try setPermissions(0o777, of: home)
            defer { try? setPermissions(mode, of: home) }
            #expect(try await fixture.probe().ask("get a").outcome == "unavailable untrusted")
            let found = try fixture.probe(changing: ["DBUS_SESSION_BUS_ADDRESS": nil])
            #expect(try await found.ask("get a").outcome == "unavailable untrusted")
            #expect(try await found.ask("put a two").outcome == "failed untrusted notApplied")
            #expect(try await fixture.probe().ask("unlock").outcome == "threw untrusted notApplied")
        }

        @Test(.enabled(if: geteuid() == 0, "changes owners")) func `a bus of another user is refused`() async throws {
            let fixture = try await ProbeFixture()
            #expect(chown(fixture.keyring.file("bus"), 65_534, 65_534) == 0)
            #expect(try await fixture.probe().ask("get a").outcome == "unavailable untrusted")
        }

        @Test(arguments: ["GIO_MODULE_DIR", "GIO_EXTRA_MODULES"])
        func `a folder of GIO modules that other users can write is refused before any module is loaded`(variable: String) async throws {
            let fixture = try await ProbeFixture()
            let modules = try TemporaryDirectory()
            let trusted = try fixture.probe(changing: [variable: modules.path])
            #expect(try await trusted.ask("put a one").outcome == "applied durable")
            try setPermissions(0o777, of: modules.path)
            let probe = try fixture.probe(changing: [variable: "/usr/lib:" + modules.path])
            #expect(try await probe.ask("get a").outcome == "unavailable untrusted")
        }

        @Test func `an unreachable bus address is unavailable at once`() async throws {
            let fixture = try await ProbeFixture(.noDaemon)
            for address in ["unix:path=/nonexistent/bus", "nonsense", "unix:path=\(fixture.keyring.file("bus.conf"))"] {
                let probe = try fixture.probe(changing: ["DBUS_SESSION_BUS_ADDRESS": address])
                let answer = try await probe.ask("get a")
                #expect(answer.outcome == "unavailable unavailable", "\(address)")
                #expect((answer.number("ms") ?? .max) < millisecondsOfBus, "\(address): \(answer)")
            }
        }

        @Test func `the bus is the socket in the run-time folder of the user if no bus address is set`() async throws {
            let fixture = try await ProbeFixture()
            let probe = try fixture.probe(changing: ["DBUS_SESSION_BUS_ADDRESS": nil])
            #expect(try await probe.ask("put a one").outcome == "applied durable")
            #expect(try await probe.ask("get a").outcome == "value one")
        }

        @Test func `calls on a bus without a keyring daemon fail as unavailable`() async throws {
            let probe = try await ProbeFixture(.noDaemon).probe()
            #expect(try await probe.ask("get a").outcome == "unavailable unavailable")
            #expect(try await probe.ask("put a one").outcome == "failed unavailable notApplied")
        }

        @Test(arguments: ["bogus", "file"]) func `a libsecret backend other than the Secret Service is refused at once`(
            backend: String
        ) async throws {
            let fixture = try await ProbeFixture()
            let probe = try fixture.probe(changing: ["SECRET_BACKEND": backend])
            let answer = try await probe.ask("get a")
            #expect(answer.outcome == "unavailable unavailable")
            #expect((answer.number("ms") ?? .max) < millisecondsOfBus, "\(answer)")
            #expect(try await fixture.probe(changing: ["SECRET_BACKEND": "service"]).ask("get a").outcome == "absent")
        }
    }
#endif

#if Keyring && os(Linux)
    import Foundation
    import Glibc
    import TestSupport
    import Testing

    /// Tests of daemons and buses that are killed or stopped.
    extension KeyringBrokenTests {
        // MARK: Killed

        @Test func `a store recovers and keeps its values when the daemon is killed between calls`() async throws {
            let fixture = try await ProbeFixture()
            let probe = try fixture.probe()
            #expect(try await probe.ask("put a one").outcome == "applied durable")
            #expect(try await probe.ask("get a").outcome == "value one")
            fixture.keyring.killDaemon()
            #expect(try await probe.ask("get a").outcome == "unavailable unavailable")
            #expect(try await probe.ask("put a two").outcome == "failed unavailable notApplied")
            try await offPool { try fixture.keyring.startDaemon(password: PrivateKeyring.password) }
            #expect(try await probe.ask("get a").outcome == "value one")
            #expect(try await probe.ask("put a two").outcome == "applied durable")
            try await offPool { try fixture.keyring.restartDaemon(password: PrivateKeyring.password) }
            #expect(try await probe.ask("put a three").outcome == "applied durable", "the first call after a restart may be a write")
            try await offPool { try fixture.keyring.restartDaemon(password: PrivateKeyring.password) }
            #expect(try await probe.ask("get a").outcome == "value three", "replacing a secret reached the disk before the reply")
            #expect(try await probe.ask("delete a").outcome == "applied durable")
            try await offPool { try fixture.keyring.restartDaemon(password: PrivateKeyring.password) }
            #expect(try await probe.ask("get a").outcome == "absent", "deleting reached the disk before the reply")
        }

        @Test func `a daemon that the bus starts again after a kill is locked, and reports no value as absent`() async throws {
            let fixture = try await ProbeFixture(isActivated: true)
            let probe = try fixture.probe()
            #expect(try await probe.ask("put a one").outcome == "applied durable")
            fixture.keyring.killDaemon()
            for command in ["get a", "get b", "put a two", "delete a"] {
                #expect(try await probe.ask(command).outcome == "locked", "\(command)")
            }
            try await offPool { try fixture.keyring.unlock() }
            #expect(try await probe.ask("get a").outcome == "value one")
            #expect(try await probe.ask("get b").outcome == "absent")
        }

        @Test(arguments: ["put a new", "put b new", "delete a"])
        func `if the daemon is killed before it reads a request to change a value, the outcome is unknown and no value is lost`(
            command: String
        ) async throws {
            let fixture = try await ProbeFixture()
            let probe = try fixture.probe()
            #expect(try await probe.ask("put a old").outcome == "applied durable")
            var outcome = ""
            // A daemon that is killed before the request reaches the bus never receives it.
            // The outcome is then `notApplied`. That is rare, so the loop repeats until the outcome is unknown.
            for _ in 0..<10 where outcome != "failed unavailable unknown" {
                // The daemon is stopped first, so that the request is already sent when the daemon dies.
                #expect(try await probe.ask("arm \(fixture.keyring.daemonProcessID) \(SIGSTOP)").outcome == "armed")
                async let answer = probe.ask(command)
                try await offPool { try waitUntilStopped(fixture.keyring.daemonProcessID) }
                fixture.keyring.killDaemon()
                outcome = try await answer.outcome
                #expect(outcome.hasPrefix("failed unavailable"), "\(outcome)")
                try await offPool { try fixture.keyring.startDaemon(password: PrivateKeyring.password) }
                #expect(try await probe.ask("get a").outcome == "value old")
                #expect(try await probe.ask("get b").outcome == "absent")
            }
            #expect(outcome == "failed unavailable unknown")
        }

        @Test func `a daemon killed at any moment keeps every acknowledged change, and at most one that was not acknowledged`() async throws
        {
            let fixture = try await ProbeFixture()
            let probe = try fixture.probe()
            var expected = 0
            #expect(try await probe.ask("put counter 0").outcome == "applied durable")
            for round in 0..<10 {
                async let answer = probe.ask("increment counter 100000")
                try await offPool { [keyring = fixture.keyring] in
                    usleep(useconds_t(20_000 + 7_300 * round))
                    keyring.killDaemon()
                    try keyring.startDaemon(password: PrivateKeyring.password)
                }
                // If only a read failed, the increments may have continued with the new daemon.
                // A second kill makes sure that they end.
                fixture.keyring.killDaemon()
                let text = try await answer
                try await offPool { try fixture.keyring.startDaemon(password: PrivateKeyring.password) }
                expected += text.number("won") ?? 0
                let found = try await probe.ask("get counter").outcome
                #expect(["value \(expected)", "value \(expected + 1)"].contains(found), "\(text)")
                expected = Int(found.dropFirst("value ".count)) ?? expected
            }
            #expect(expected > 0)
        }

        @Test func `a store works again in the same process after the bus died and restarted`() async throws {
            let fixture = try await ProbeFixture()
            let probe = try fixture.probe()
            #expect(try await probe.ask("put a one").outcome == "applied durable")
            fixture.keyring.killBus()
            #expect(try await probe.ask("get a").outcome == "unavailable unavailable")
            #expect(try await probe.ask("put a two").outcome == "failed unavailable notApplied")
            try await offPool {
                try fixture.keyring.startBus()
                try fixture.keyring.startDaemon(password: PrivateKeyring.password)
            }
            #expect(try await probe.ask("get a").outcome == "value one")
            #expect(try await probe.ask("put a two").outcome == "applied durable")
        }

        // MARK: Stopped

        @Test func `a call to a stopped daemon ends at its deadline, and the daemon answers again after it continues`() async throws {
            let fixture = try await ProbeFixture()
            let probe = try fixture.probe()
            #expect(try await probe.ask("put a one").outcome == "applied durable")
            #expect(try await probe.ask("deadline 500").outcome == "set")
            fixture.keyring.stopDaemon()
            for command in ["get a", "put a two", "delete a", "list"] {
                let answer = try await probe.ask(command)
                #expect(answer.outcome.hasPrefix("threw timedOut"), "\(command): \(answer)")
                #expect((450..<millisecondsOfBus).contains(answer.number("ms") ?? .max), "\(command): \(answer)")
            }
            fixture.keyring.continueDaemon()
            #expect(try await probe.ask("deadline 120000").outcome == "set")
            #expect(try await probe.ask("get a").outcome == "value one", "a write that timed out before its request was not applied")
            #expect(try await probe.ask("put a two").outcome == "applied durable")
        }

        @Test func `a change that was sent before the daemon stopped times out as unknown and may still take effect`()
            async throws
        {
            let fixture = try await ProbeFixture()
            let probe = try fixture.probe()
            #expect(try await probe.ask("put a one").outcome == "applied durable")
            #expect(try await probe.ask("arm \(fixture.keyring.daemonProcessID) \(SIGSTOP)").outcome == "armed")
            #expect(try await probe.ask("deadline 500").outcome == "set")
            let answer = try await probe.ask("put a two")
            #expect(answer.outcome == "threw timedOut unknown")
            #expect((answer.number("ms") ?? .max) < millisecondsOfBus, "\(answer)")
            // A call of another process also ends at its deadline.
            // It cannot change the slot before the pending change of the first process takes effect.
            let other = try fixture.probe()
            #expect(try await other.ask("deadline 500").outcome == "set")
            #expect(try await other.ask("put a three").outcome.hasPrefix("threw timedOut"))
            fixture.keyring.continueDaemon()
            #expect(try await probe.ask("deadline 120000").outcome == "set")
            #expect(try await probe.ask("get a").outcome == "value two")
        }

        @Test func `a call on a stopped bus ends at its deadline, delays no other task, and succeeds after the bus continues`() async throws
        {
            let fixture = try await ProbeFixture()
            let probe = try fixture.probe()
            #expect(try await probe.ask("put a one").outcome == "applied durable")
            #expect(try await probe.ask("deadline 2000").outcome == "set")
            fixture.keyring.stopBus()
            let answer = try await probe.ask("ping")
            #expect(answer.contains("timedOut,timedOut"), "\(answer)")
            #expect((answer.number("ms") ?? .max) < millisecondsOfBus, "\(answer)")
            // Another task that waited for the calls would run once or twice.
            #expect((answer.number("pings") ?? 0) > 5, "\(answer)")
            print("While two keyring calls hang on a stopped bus: \(answer)")
            fixture.keyring.continueBus()
            #expect(try await probe.ask("deadline 120000").outcome == "set")
            #expect(try await probe.ask("get a").outcome == "value one")
        }

        @Test func `connecting to a stopped bus ends at the deadline`() async throws {
            let fixture = try await ProbeFixture()
            fixture.keyring.stopBus()
            let probe = try fixture.probe()
            #expect(try await probe.ask("deadline 500").outcome == "set")
            for command in ["get a", "put a one", "status"] {
                let answer = try await probe.ask(command)
                #expect(answer.contains("timedOut"), "\(command): \(answer)")
                #expect((answer.number("ms") ?? .max) < millisecondsOfBus, "\(command): \(answer)")
            }
            fixture.keyring.continueBus()
            #expect(try await probe.ask("deadline 120000").outcome == "set")
            #expect(try await probe.ask("put a one").outcome == "applied durable")
        }

        @Test func `a lock that a stopped process holds delays changes until their deadline, but not reads`() async throws {
            let fixture = try await ProbeFixture()
            let (first, second) = (try fixture.probe(), try fixture.probe())
            #expect(try await first.ask("put a one").outcome == "applied durable")
            #expect(try await first.ask("arm \(first.processID) \(SIGSTOP)").outcome == "armed")
            async let stopped = first.ask("put a two")
            try await offPool { try waitUntilStopped(first.processID) }
            #expect(try await second.ask("deadline 500").outcome == "set")
            #expect(try await second.ask("put a three").outcome.hasPrefix("threw timedOut"))
            #expect(try await second.ask("deadline 120000").outcome == "set")
            #expect(try await second.ask("get a").outcome == "value one")
            kill(first.processID, SIGCONT)
            #expect(try await stopped.outcome == "applied durable")
            #expect(try await second.ask("put a three").outcome == "applied durable")
        }
    }
#endif

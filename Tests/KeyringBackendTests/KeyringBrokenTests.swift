#if Keyring && os(Linux)
    import Testing
    import TestSupport

    @Suite(.timeLimit(.minutes(2))) struct KeyringBrokenTests {
        @Test func `a store works, recovers and keeps its values when the daemon is killed between calls`() async throws {
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
        }
    }
#endif

#if Keyring && os(Linux)
    import TestSupport
    import Testing

    /// Tests of two processes that use one keyring.
    @Suite(.slow("uses a real keyring"), .inTurn, .timeLimit(.minutes(10)), .tags(.keyring, .process)) struct KeyringProcessTests {
        @Test(.slow("goes through real files many times")) func `two processes that increment by compare-and-swap lose no increment`()
            async throws
        {
            let fixture = try await ProbeFixture()
            let (first, second) = (try fixture.probe(), try fixture.probe())
            #expect(try await first.ask("put counter 0").outcome == "applied durable")
            // The daemon flushes each change to disk. On a busy disk one flush may take many seconds.
            for probe in [first, second] { #expect(try await probe.ask("deadline 120000").outcome == "set") }
            async let one = first.ask("increment counter 100")
            async let two = second.ask("increment counter 100")
            let answers = try await [one, two]
            #expect(answers.allSatisfy { $0.number("won") == 100 }, "\(answers)")
            #expect(try await first.ask("get counter").outcome == "value 200")
        }

        @Test func `of two processes that create one slot, one change is applied and the other one is a conflict`() async throws {
            let fixture = try await ProbeFixture()
            let (first, second) = (try fixture.probe(), try fixture.probe())
            for round in 0..<20 {
                async let one = first.ask("create slot\(round)")
                async let two = second.ask("create slot\(round)")
                let answers = try await [one.outcome, two.outcome]
                #expect(answers.filter { $0 == "applied durable" }.count == 1, "\(answers)")
                #expect(answers.filter { $0.hasPrefix("conflict value") }.count == 1, "\(answers)")
            }
        }
    }
#endif

#if SQLite && os(Linux)
    import RealFaults
    import TestSupport
    import Testing

    /// Real operations on real files, with a fault at each of their calls: the short form of `Scripts/prove faults cuts`.
    @Suite(.inTurn, .serialized, .slow("hundreds of programs are killed"), .tags(.process)) struct RealFaultTests {
        private func trials(_ name: String) async throws -> Trials {
            let place = try await Workplace()
            return try await Trials(try #require(place.operations.first { $0.name == name }), in: place)
        }

        /// What was wrong in any of the runs.
        private func violations<Element: Sendable>(
            _ elements: [Element], _ work: @escaping @Sendable (Element) async throws -> Trials.Outcome
        ) async throws -> [Trials.Violation] {
            try await Trials.outcomes(of: elements, work).flatMap(\.violations)
        }

        @Test(arguments: ["list: batch", "database: batch", "lazy get: list to sealed list"])
        func `killed at any change, or in the middle of one, a program leaves all or nothing`(operation: String) async throws {
            let trials = try await trials(operation)
            let faults = trials.kills + trials.tears
            #expect(faults.count > 7)
            let wrong = try await violations(faults) { try await trials.run($0) }
            #expect(wrong.isEmpty)
        }

        @Test(arguments: ["list: set", "database: remove"])
        func `whatever call fails, in whatever way, the answer is true`(operation: String) async throws {
            let trials = try await trials(operation)
            // Every thirteenth: another one each, as kinds and errors take turns.
            let faults = trials.failures.enumerated().filter { $0.offset % 13 == 0 }.map(\.element)
            #expect(faults.count > 10)
            let wrong = try await violations(faults) { try await trials.run($0) }
            #expect(wrong.isEmpty)
        }

        @Test func `a removal from quarantine whose flush fails says that it may have happened`() async throws {
            let trials = try await trials("discard what is quarantined")
            let faults = trials.failures.filter { "\($0)".hasPrefix("ENOSPC") }
            #expect(faults.count > 10)
            let wrong = try await violations(faults) { try await trials.run($0) }
            #expect(wrong.isEmpty)
        }

        @Test(arguments: ["list: first set", "database: set"])
        func `after a power cut at any moment the next program finds what was acknowledged`(operation: String) async throws {
            let trials = try await trials(operation)
            let cuts = try await trials.cuts()
            #expect(cuts.count > 10)
            let wrong = try await violations(cuts) { try await trials.run($0) }
            #expect(wrong.isEmpty)
        }

        // MARK: Several processes

        @Test func `processes that are killed and stopped at random leave calls that one order explains, and exact counters`() async throws
        {
            let round = try await ProcessRound(try await Workplace(), seconds: 6, seed: 1)
            #expect(round.kills > 5 && round.stops > 5 && round.history.count > 100)
            #expect(round.violations.isEmpty)
        }

        @Test(arguments: ProcessRound.Planted.allCases)
        func `a process that acknowledges what it did not do, or does it twice, is noticed`(planted: ProcessRound.Planted) async throws {
            let round = try await ProcessRound(try await Workplace(), seconds: 6, seed: 1, planted: planted)
            #expect(round.violations.contains { $0.contains("no order explains") || $0.contains("acknowledged") })
        }

        @Test(arguments: StoppedHolder.locks)
        func `while a process that holds a lock is stopped, others are told so at their deadline, and go on when it does`(
            lock: String
        ) async throws {
            let holder = try await StoppedHolder(lock, try await Workplace())
            #expect(holder.violations.isEmpty)
        }

        // MARK: Limits of the machine

        @Test(arguments: Limit.Kind.allCases.filter { ![.addressSpace, .preferences, .keyring, .quarantine].contains($0) })
        func `at a limit of the machine a caller is told what came of its call, and nothing is lost`(limit: Limit.Kind) async throws {
            #expect(try await Limit(limit, try await Workplace()).violations.isEmpty)
        }

        // MARK: Power cuts

        @Test(arguments: [("list: set", Trials.Planted.directories), ("database: set", .logs)])
        func `a flush that is left out is noticed`(operation: String, planted: Trials.Planted) async throws {
            let trials = try await trials(operation)
            let found = try await violations(try await trials.cuts(ignoring: planted)) { try await trials.run($0) }
            #expect(!found.isEmpty)
        }
    }
#endif

#if SQLite
    import Foundation
    import LocalData
    import TestSupport
    import Testing

    /// Processes that are killed while they convert 300 records in an encrypted database, or give them another type
    /// with `migrateAll`.
    @Suite(.inTurn, .serialized, .slow("kills processes at many places"), .tags(.process)) struct RecordProcessTests {
        private static let count = 300

        private func worker(_ stage: Stage) throws -> RunningProgram { try stage.worker(environment) }

        private var environment: [String: String] { ProcessInfo.processInfo.environment.filter { $0.key != "XDG_DATA_HOME" } }

        /// Kills two processes during a command, one after the other, and expects that a third process completes it.
        /// - Parameters:
        ///   - lines: The number of progress lines of a run that is not killed.
        ///   - rounds: The number of rounds. The first process is killed at another line in each round.
        private func kill(
            during command: String, lines: Int, rounds: Int, before: [String], check: String
        ) async throws {
            var interrupted = 0
            for round in 0..<rounds {
                let stage = try Stage()
                let first = try worker(stage)
                for step in ["records-seed"] + before { _ = try await first.ask(untilAnswer: "\(step) \(Self.count)") }
                try await first.kill(during: command, after: 1 + round * (lines - 2) / (rounds - 1))
                // The second process continues the work of the first one and is killed, too.
                let second = try worker(stage)
                try await second.kill(during: command, after: 1 + (round * 37) % 200)
                let third = try worker(stage)
                let answer = try await third.ask(untilAnswer: command)
                #expect(answer.hasPrefix(command == "records-evolve" ? "converted" : "retagged"), "\(answer)")
                let last = try worker(stage)
                #expect(try await last.ask(untilAnswer: "\(check) \(Self.count)") == "all", "round \(round)")
                #expect(try await last.ask(untilAnswer: command).hasSuffix(" \(command == "records-evolve" ? 1 : 0)"), "round \(round)")
                interrupted += 1
            }
            print("\(command): killed \(interrupted) times at places all over the run, and each time a second one")
        }

        @Test func `kill -9 during the conversion of 300 records in three steps loses and duplicates no record`() async throws {
            try await kill(during: "records-evolve", lines: 3 * Self.count, rounds: 3, before: [], check: "records-check")
        }

        @Test func `kill -9 during migrateAll over 300 records loses and duplicates no record`() async throws {
            try await kill(
                during: "records-retag", lines: 2 * Self.count, rounds: 3, before: ["records-evolve"], check: "records-check-retagged")
        }
    }
#endif

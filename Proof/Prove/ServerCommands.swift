import ArgumentParser
import Foundation
import ServerFaults
import TestSupport

#if PostgreSQL && os(Linux)
    extension ServerRound.Planted: ExpressibleByArgument {}

    /// The command that kills a server under load.
    struct ServerKills: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "server",
            abstract: "Kills a PostgreSQL server while clients use it; exits with 1 if the history of a slot is wrong.")

        @Option(help: "How often the server is killed.") var kills = 200
        @Option(help: "The seed of the calls and kills.") var seed: UInt64 = 1
        @Option(help: "A mistake that the judge must notice: `lost`, `twice`, `stale` or `returned`.") var planted: ServerRound.Planted?

        @Option(help: "The file to write the history to, which judge.py reads.") var history: String?

        func run() async throws {
            let round = try await ServerRound(kills: kills, seed: seed, planted: planted, history: history)
            for finding in round.findings.prefix(5) { print(finding) }
            print(
                "tried: \(round.kills) kills, \(round.calls) calls, \(round.acknowledged) acknowledged writes, \(round.unknown) without an answer"
            )
            if !round.findings.isEmpty { throw ExitCode(1) }
        }
    }

    /// The command that moves a database to a server with several processes.
    struct ServerMoves: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "server-moves",
            abstract:
                "Moves encrypted SQLite to PostgreSQL with four processes that are killed at random; exits with 1 if a value is not there once."
        )

        @Option(help: "How many values.") var keys = 20_000
        @Option(help: "How often a process is killed.") var kills = 40
        @Option(help: "The seed of the kills.") var seed: UInt64 = 1

        func run() async throws {
            let program = URL(filePath: CommandLine.arguments[0]).path
            let move = try await ServerMove(count: keys, kills: kills, seed: seed) { words in
                try RunningProgram(program, ["server-move"] + words)
            }
            for finding in move.findings.prefix(20) { print(finding) }
            print("tried: \(keys) keys, \(move.kills) kills, \(move.sweeps) sweeps that ended, \(Int(move.seconds)) s")
            if !move.findings.isEmpty { throw ExitCode(1) }
        }
    }

    /// One process of ``ServerMoves``.
    struct ServerMoveProcess: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "server-move", shouldDisplay: false)

        @Argument var folder: String
        @Argument var server: String
        @Argument var keys: Int

        func run() async throws { try await ServerMove.sweep(folder: folder, server: server, count: keys) }
    }
#endif

import ArgumentParser
import Foundation
import ScaleLoads
import TestSupport

#if PostgreSQL && os(Linux)
    /// The command that sweeps one catalog with several machines, while others use its keys.
    struct ServerSweep: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "server-sweep",
            abstract:
                "Moves values of four machines from SQLite to PostgreSQL while two others use them; exits with 1 if a value is lost."
        )

        @Option(help: "How many keys.") var keys = 100_000
        @Option(help: "The seed of the choices of the two others.") var seed: UInt64 = 1
        @Flag(help: "Acknowledge some writes without making them, which must be noticed.") var planted = false

        func run() async throws {
            let program = URL(filePath: CommandLine.arguments[0]).path
            let sweep = try await SharedSweep(count: keys, seed: seed, isForgetful: planted) { words in
                try RunningProgram(program, ["server-sweep-\(words[0])"] + words.dropFirst())
            }
            for finding in sweep.findings.prefix(20) { print(finding) }
            print(
                "tried: \(keys) keys, 4 machines, \(sweep.moved) moved, \(sweep.displaced) displaced,",
                "\(sweep.reads) reads and \(sweep.writes) writes of 2 others, \(Int(sweep.seconds)) s")
            if !sweep.findings.isEmpty { throw ExitCode(1) }
        }
    }

    /// A machine of ``ServerSweep`` that sweeps.
    struct ServerSweepMover: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "server-sweep-move", shouldDisplay: false)

        @Argument var folder: String
        @Argument var server: String
        @Argument var keys: Int

        func run() async throws { try await SharedSweep.move(folder: folder, server: server, count: keys) }
    }

    /// A machine of ``ServerSweep`` that reads and writes.
    struct ServerSweepVisitor: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "server-sweep-visit", shouldDisplay: false)

        @Argument var folder: String
        @Argument var server: String
        @Argument var keys: Int
        @Argument var number: Int
        @Argument var seed: UInt64
        @Flag var forgetful = false

        func run() async throws {
            try await SweepVisitor.run(
                folder: folder, server: server, count: keys, number: number, seed: seed, isForgetful: forgetful)
        }
    }

    /// A process of `Proof/Scale/sets.py`.
    struct ServerSets: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "server-sets", shouldDisplay: false)

        @Argument var folder: String
        @Argument var server: String
        @Argument var name: String
        @Argument var tasks: Int
        @Argument var seconds: Double

        func run() async throws {
            try await SetLoad.run(folder: folder, server: server, name: name, tasks: tasks, seconds: seconds)
        }
    }
#endif

#if PostgreSQL && Keyring && SQLite && os(Linux)
    /// A process of `Proof/Scale/soak.py`.
    struct SoakProcess: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "soak-process", shouldDisplay: false)

        @Argument var folder: String
        @Argument var server: String
        @Argument var seed: UInt64
        @Flag(help: "Leak descriptors and memory.") var leaking = false

        func run() async throws {
            try await SoakLoad.run(folder: folder, server: server, seed: seed, isLeaking: leaking)
        }
    }
#endif

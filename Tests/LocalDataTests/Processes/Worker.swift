import Foundation
import LocalData
import LocalDataBackup
import TestSupport

extension Stage {
    /// Starts the worker program: another process that uses the same stores.
    func worker(_ environment: [String: String] = ProcessInfo.processInfo.environment) throws -> RunningProgram {
        try RunningProgram(worker: "migration", arguments(environment["XDG_DATA_HOME"]), environment: environment)
    }

    /// Backs up, verifies and restores the stores of this stage, the folder of a test, in a separate process.
    /// - Returns: The peak memory in KiB at the start and after each of the three operations.
    func memoryOfKeeping(in file: String, _ key: RecoveryKey) async throws -> [Int] {
        let words = try Program.worker("migration", arguments(nil) + ["kit", file, key.text])
        let result = try await run(words[0], Array(words.dropFirst()), limit: 300)
        guard result.stdout.hasPrefix("peak ") else { throw ProgramFailure("\(result)") }
        return result.stdout.split(whereSeparator: \.isWhitespace).dropFirst().compactMap { Int($0) }
    }

    /// Starts a worker as an unprivileged user, because file permissions do not restrict root.
    func workerAsNobody() throws -> RunningProgram {
        let worker = try Program.worker("migration", arguments(nil))
        let words = try Program.asNobody(worker[0]) + worker.dropFirst()
        return try RunningProgram(words[0], Array(words.dropFirst()))
    }

    private func arguments(_ home: String?) -> [String] { [root.path, service, home ?? "-"] }
}

extension RunningProgram {
    /// Sends a command and returns its answer.
    func run(_ command: String...) async throws -> String { try await ask(command.joined(separator: " ")) }

    /// Sends a command, skips progress lines and returns the answer.
    func ask(untilAnswer command: String) async throws -> String {
        var line = try await ask(command)
        while line.hasPrefix("progress") { line = try await ask("") }
        return line
    }

    /// Sends a command and kills the program after a number of progress lines.
    func kill(during command: String, after count: Int) async throws {
        var line = try await ask(command)
        var seen = 1
        while line.hasPrefix("progress"), seen < count {
            line = try await ask("")
            seen += 1
        }
        await kill()
    }
}

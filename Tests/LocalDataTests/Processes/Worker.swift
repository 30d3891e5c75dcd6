import Foundation
import TestSupport

/// The worker program on a stage: another process that uses the same stores.
struct Worker {
    let program: InteractiveProgram

    init(_ stage: Stage, environment: [String: String] = ProcessInfo.processInfo.environment) throws {
        var home = "-"
        if let data = environment["XDG_DATA_HOME"] { home = data }
        program = try InteractiveProgram(
            try Program.built("MigrationWorker"), [stage.root.path, stage.service, home], environment: environment)
    }

    /// A worker that is nobody: permissions hold for it, as they do not for root.
    init(asNobodyOn stage: Stage) throws {
        program = try InteractiveProgram(
            try Program.path("setpriv"),
            [
                "--reuid=65534", "--regid=65534", "--clear-groups", try Program.built("MigrationWorker"), stage.root.path, stage.service,
                "-",
            ],
            environment: ProcessInfo.processInfo.environment)
    }

    /// Sends a command and waits for its answer.
    func run(_ command: String...) async throws -> String { try await program.ask(command.joined(separator: " ")) }
}

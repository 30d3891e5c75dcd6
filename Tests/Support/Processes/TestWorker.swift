extension Program {
    /// Returns the command that starts the program in `Tests/TestWorker`.
    /// - Parameter subject: `defaults`, `keyring`, `database` or `migration`.
    package static func worker(_ subject: String, _ arguments: [String] = []) throws -> [String] {
        [try built("TestWorker"), subject] + arguments
    }
}

extension RunningProgram {
    /// Starts the program in `Tests/TestWorker`.
    /// - Parameters:
    ///   - subject: `defaults`, `keyring`, `database` or `migration`.
    ///   - environment: The complete environment of the program; nil for that of the test.
    ///   - surroundings: An object that must outlive the program.
    package convenience init(
        worker subject: String, _ arguments: [String] = [], environment: [String: String]? = nil,
        keeping surroundings: (any Sendable)? = nil
    ) throws {
        let command = try Program.worker(subject, arguments)
        try self.init(command[0], Array(command.dropFirst()), environment: environment, keeping: surroundings)
    }
}

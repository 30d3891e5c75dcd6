import Foundation

/// SQLCipher 4 in a separate process, because a process can have only one SQLite. The process is a Python program,
/// `Scripts/benchmarks/sqlcipher.py`, with a wheel that `Scripts/bench` installs. It stores the same JSON in a sealed database and,
/// for the cost of Python's calls, in a plain one.
final class SQLCipherPeer {
    private let process = Process()
    private let (input, output) = (Pipe(), Pipe())

    /// Starts the process and fills its databases. Nil if `Scripts/bench` could not install the wheel.
    init?(folder: String, rows: Int, value: Data) throws {
        guard let python = ProcessInfo.processInfo.environment["BENCH_SQLCIPHER"] else { return nil }
        process.executableURL = URL(fileURLWithPath: python)
        process.arguments = ["Scripts/benchmarks/sqlcipher.py", folder, "\(rows)", String(decoding: value, as: UTF8.self)]
        (process.standardInput, process.standardOutput) = (input, output)
        try process.run()
        waitForAnswer()
    }

    deinit {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    /// Runs a command: `get` or `set`, `sealed` or `plain`, and how many values.
    func run(_ command: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data((command + "\n").utf8))
        waitForAnswer()
    }

    private func waitForAnswer() {
        var answer = ""
        while !answer.hasSuffix("\n") {
            let part = output.fileHandleForReading.availableData
            guard !part.isEmpty else { fatalError("The program of SQLCipher has ended.") }
            answer += String(decoding: part, as: UTF8.self)
        }
        guard answer == "done\n" else { fatalError("The program of SQLCipher answered: \(answer)") }
    }
}

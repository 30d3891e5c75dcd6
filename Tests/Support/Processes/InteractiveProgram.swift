import Foundation

/// A program that answers every line it is given with one line.
package final class InteractiveProgram: Sendable {
    private let process = Process()
    // Proof: only used from within `queue`, one call at a time.
    nonisolated(unsafe) private var rest = Data()
    private let stdin = Pipe()
    private let stdout = Pipe()
    private let queue = DispatchQueue(label: "LocalData.tests.interactive")

    private let surroundings: (any Sendable)?

    /// Starts the program; it is killed with this object, and with the tests.
    /// - Parameter surroundings: What must outlive the program.
    package init(
        _ path: String, _ arguments: [String] = [], environment: [String: String], keeping surroundings: (any Sendable)? = nil
    ) throws {
        self.surroundings = surroundings
        #if os(Linux)
            process.executableURL = URL(fileURLWithPath: try Program.path("setpriv"))
            process.arguments = ["--pdeathsig", "KILL", path] + arguments
        #else
            process.executableURL = URL(fileURLWithPath: path)
            process.arguments = arguments
        #endif
        process.environment = environment
        process.standardInput = stdin
        process.standardOutput = stdout
        try Program.start(process)
    }

    deinit {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// The process's number.
    package var processID: Int32 { process.processIdentifier }

    /// Sends a line and waits for the answer.
    package func ask(_ line: String) async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { [self] in
                continuation.resume(
                    with: Result {
                        try stdin.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
                        return try readLine(answering: line)
                    })
            }
        }
    }

    /// Waits until the program has ended, after it was told to or killed.
    package func waitUntilEnded() async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            queue.async { [self] in
                process.waitUntilExit()
                continuation.resume()
            }
        }
    }

    private func readLine(answering question: String) throws -> String {
        while true {
            if let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                defer { rest = Data(rest[rest.index(after: end)...]) }
                return String(decoding: rest[..<end], as: UTF8.self)
            }
            let more = stdout.fileHandleForReading.availableData
            guard !more.isEmpty else { throw ProgramFailure("The program ended instead of answering \"\(question)\".") }
            rest.append(more)
        }
    }
}

import Foundation
import TestSupport

extension Workplace {
    /// Starts a worker that makes random calls until a file exists.
    func liveWorker(root: String, log: String, tag: String, role: String, end: String) throws -> RunningProgram {
        try RunningProgram(worker, ["live", root, log, tag, role, end], environment: Self.quiet)
    }

    /// Starts a program that writes the shared list with Foundation until a file exists.
    func foreignWriter(root: String, tags: [String], end: String) throws -> RunningProgram {
        var environment = Self.quiet
        environment["XDG_CONFIG_HOME"] = "\(root)/preferences"
        return try RunningProgram(worker, ["foundation", tags.joined(separator: ","), end], environment: environment)
    }

    /// The environment of a program, without Swift's backtraces: a program that crashes prints none.
    static var quiet: [String: String] { ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 } }
}

extension RunningProgram {
    /// Waits until a signal has stopped the program; false if it has ended.
    func isStopped() async throws -> Bool {
        for _ in 0..<50_000 {
            // In `/proc/PID/stat`, the state of a process comes after its name, which is in parentheses.
            guard let text = try? String(contentsOfFile: "/proc/\(processID)/stat", encoding: .utf8), !text.contains(") Z ") else {
                return false
            }
            if text.contains(") T ") { return true }
            try await Task.sleep(for: .microseconds(200))
        }
        throw ProgramFailure("The program does not stop")
    }

    /// Waits for the program's end. Kills the program if it has not ended after some seconds.
    func end(within seconds: Double) async -> ProgramResult {
        let guardian = DispatchWorkItem { [self] in signal(SIGKILL) }
        DispatchQueue.global().asyncAfter(deadline: .now() + seconds, execute: guardian)
        defer { guardian.cancel() }
        return await end()
    }

    /// Kills the program, and returns whether its status is an expected one.
    func kill(isExpected: (Int32) -> Bool) async -> Bool {
        signal(SIGKILL)
        return isExpected(await end().status)
    }
}

/// A worker that makes one call at a time on request.
struct ConversingWorker: Sendable {
    /// The answer to a call, and how many milliseconds it took.
    struct Answer: Sendable {
        let milliseconds: Int
        let text: String

        var isDone: Bool { text == "ok" || text.hasPrefix("ok ") }
        /// The value; nil if there is no value, or an error.
        var value: String? { text.hasPrefix("ok ") && text != "ok -" ? String(text.dropFirst(3)) : nil }
        /// The outcome and the code of an error; `ok` if the call succeeded.
        var error: String { isDone ? "ok" : text.split(separator: " ").prefix(2).joined(separator: " ") }
    }

    let program: RunningProgram

    /// Starts a worker.
    /// - Parameters:
    ///   - words: A command that starts the worker, such as a shell that first sets a limit. The worker's path and
    ///     arguments are added to the command.
    ///   - deadline: How long the worker's calls may wait, in milliseconds; nil for the library's default.
    init(
        _ place: Workplace, root: String, through words: [String] = [], deadline: Int? = 1_500,
        environment: [String: String] = Workplace.quiet
    ) throws {
        let line = words + [place.worker, "serve", root] + (deadline.map { ["\($0)"] } ?? [])
        program = try RunningProgram(line[0], Array(line.dropFirst()), environment: environment)
    }

    func ask(_ line: String) async throws -> Answer {
        let words = try await program.ask(line).split(separator: " ", maxSplits: 1).map(String.init)
        return Answer(milliseconds: words.first.flatMap { Int($0) } ?? 0, text: words.count > 1 ? words[1] : "")
    }

    /// Closes the worker's input and waits until it has closed its stores and ended.
    func end() async throws {
        let result = await program.end(within: 30)
        guard result.status == 0 else { throw ProgramFailure("The worker ended with \(result.status): \(result.stderr.suffix(500))") }
    }
}

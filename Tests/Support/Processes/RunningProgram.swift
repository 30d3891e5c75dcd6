import Foundation
import Synchronization

/// A program in a separate process, which reads and writes lines.
///
/// It is killed when the last reference is released, and when the test process ends.
package final class RunningProgram: Sendable {
    private let process = Process()
    private let input = Pipe()
    private let output = ProgramOutput()
    private let surroundings: (any Sendable)?

    /// Starts a program.
    /// - Parameters:
    ///   - program: A name on the search path, or a path.
    ///   - environment: The complete environment of the program; nil for that of the test.
    ///   - surroundings: An object that must outlive the program.
    package init(
        _ program: String, _ arguments: [String] = [], environment: [String: String]? = nil, keeping surroundings: (any Sendable)? = nil
    ) throws {
        self.surroundings = surroundings
        let words = [try Program.path(program)] + arguments
        #if os(Linux)
            process.executableURL = URL(filePath: try Program.path("setpriv"))
            process.arguments = ["--pdeathsig", "KILL"] + words
        #else
            process.executableURL = URL(filePath: words[0])
            process.arguments = arguments
        #endif
        if let environment { process.environment = environment }
        let (stdout, stderr) = (Pipe(), Pipe())
        (process.standardInput, process.standardOutput, process.standardError) = (input, stdout, stderr)
        try ProcessStarter.shared.start(process)
        output.read(stdout.fileHandleForReading, errors: stderr.fileHandleForReading, of: process)
    }

    deinit { if process.isRunning { signal(SIGKILL) } }

    /// The process id.
    package var processID: Int32 { process.processIdentifier }

    /// Sends a signal.
    package func signal(_ number: Int32) { Foundation.kill(processID, number) }

    /// Sends a line.
    package func send(_ line: String) throws { try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8)) }

    /// Returns the next line that no other caller has taken.
    package func line() async throws -> String { try await output.line(output.takeNumber()) }

    /// Sends a line, and returns the answer.
    package func ask(_ line: String) async throws -> String {
        let number = output.takeNumber()
        try await offPool { [self] in try send(line) }
        return try await output.line(number)
    }

    /// Waits until the program has printed a number of lines, or has ended.
    package func wait(forLines count: Int) async { await output.wait { lines, hasEnded in lines >= count || hasEnded } }

    /// Kills the program with SIGKILL, and waits until it has ended.
    /// - Returns: Every line that it printed.
    @discardableResult
    package func kill() async -> [String] {
        signal(SIGKILL)
        return await end().lines
    }

    /// Waits until the program has ended.
    /// - Parameter input: The text that the program reads before its standard input ends.
    package func end(input text: String = "") async -> ProgramResult {
        // A program that ends before it has read its input breaks the pipe.
        // The error is ignored, because the result of the program describes the cause better.
        _ = try? await offPool { [self] in
            if !text.isEmpty { try input.fileHandleForWriting.write(contentsOf: Data(text.utf8)) }
        }
        try? input.fileHandleForWriting.close()
        await output.wait { _, hasEnded in hasEnded }
        return output.result(process.terminationStatus)
    }
}

/// The output of a program, read on threads that do not keep the program's object alive.
private final class ProgramOutput: Sendable {
    private struct State {
        var bytes = Data()
        var lines: [String] = []
        var rest = Data()
        var errors = Data()
        var hasEnded = false
        var taken = 0
        var waiting: [(isReady: @Sendable (Int, Bool) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []

        mutating func append(_ data: Data) {
            bytes += data
            rest += data
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                lines.append(String(decoding: rest[..<end], as: UTF8.self))
                rest = Data(rest[rest.index(after: end)...])
            }
        }

        mutating func ready() -> [CheckedContinuation<Void, Never>] {
            let (count, ended) = (lines.count, hasEnded)
            let ready = waiting.filter { $0.isReady(count, ended) }
            waiting.removeAll { $0.isReady(count, ended) }
            return ready.map(\.continuation)
        }
    }

    private let state = Mutex(State())

    /// Reads until both pipes have ended and the process is gone. Each pipe has a thread, because reading blocks.
    func read(_ output: FileHandle, errors: FileHandle, of process: Process) {
        let errorsAreRead = DispatchSemaphore(value: 0)
        Thread.detachNewThread { [self] in
            let data = errors.readDataToEndOfFile()
            // The object of the process would keep the pipe open. Foundation's Process can crash in a process with very many open files.
            try? errors.close()
            state.withLock { $0.errors = data }
            errorsAreRead.signal()
        }
        Thread.detachNewThread { [self] in
            while case let data = output.availableData, !data.isEmpty { wake { $0.append(data) } }
            try? output.close()
            errorsAreRead.wait()
            process.waitUntilExit()
            wake { $0.hasEnded = true }
        }
    }

    private func wake(_ change: (inout State) -> Void) {
        let ready = state.withLock { state in
            change(&state)
            return state.ready()
        }
        for continuation in ready { continuation.resume() }
    }

    func wait(until isReady: @escaping @Sendable (_ lines: Int, _ hasEnded: Bool) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isNow = state.withLock { state in
                if isReady(state.lines.count, state.hasEnded) { return true }
                state.waiting.append((isReady, continuation))
                return false
            }
            if isNow { continuation.resume() }
        }
    }

    func takeNumber() -> Int {
        state.withLock { state in
            state.taken += 1
            return state.taken
        }
    }

    func line(_ number: Int) async throws -> String {
        await wait { lines, hasEnded in lines >= number || hasEnded }
        return try state.withLock { state in
            guard state.lines.count >= number else {
                throw ProgramFailure("The program ended early: \(state.lines.suffix(3)) \(String(decoding: state.errors, as: UTF8.self))")
            }
            return state.lines[number - 1]
        }
    }

    func result(_ status: Int32) -> ProgramResult {
        state.withLock { state in
            ProgramResult(
                status: status, stdout: String(decoding: state.bytes, as: UTF8.self), stderr: String(decoding: state.errors, as: UTF8.self))
        }
    }
}

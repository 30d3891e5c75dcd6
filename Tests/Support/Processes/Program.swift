package import Foundation
import Synchronization

/// A program that a test needs and that is not there.
package struct MissingProgram: Error, CustomStringConvertible {
    package let name: String
    package let package: String

    package var description: String { "\(name) is missing. Install it: apt-get install -y --no-install-recommends \(package)" }
}

/// Something that went wrong with a program that a test runs.
package struct ProgramFailure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// Finds programs, and starts them in a way that fits tests.
package enum Program {
    /// The Debian packages of the programs that tests use.
    private static let packages = [
        "secret-tool": "libsecret-tools", "gnome-keyring-daemon": "gnome-keyring", "dbus-daemon": "dbus", "setpriv": "util-linux",
        "setsid": "util-linux", "systemd-creds": "systemd", "strace": "strace", "gdb": "gdb",
    ]

    /// The path of a program on the search path.
    /// - Throws: ``MissingProgram``, with the line that installs it.
    package static func path(_ name: String) throws -> String {
        if name.contains("/") { return name }
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":") + ["/usr/local/bin", "/usr/bin", "/bin"]
        for folder in folders where FileManager.default.isExecutableFile(atPath: "\(folder)/\(name)") { return "\(folder)/\(name)" }
        throw MissingProgram(name: name, package: packages[name] ?? name)
    }

    /// The path of an executable of this package, built beside the tests.
    package static func built(_ name: String) throws -> String {
        let folders = [Bundle.main.bundlePath, CommandLine.arguments.first.map { ($0 as NSString).deletingLastPathComponent } ?? "."]
        for folder in folders + folders.map({ ($0 as NSString).deletingLastPathComponent }) {
            let path = "\(folder)/\(name)"
            if FileManager.default.isExecutableFile(atPath: path) { return path }
        }
        throw ProgramFailure("\(name) is not built beside the tests. Build it: swift build --product \(name)")
    }

    /// Starts a process from a thread that never ends: with `setpriv --pdeathsig` a child dies with the *thread* that started it.
    package static func start(_ process: Process) throws { try starter.run(process) }

    private static let starter = Starter()
}

/// The outcome of a program that ran to its end.
package struct ProgramResult: Sendable {
    package let status: Int32
    package let stdout: String
    package let stderr: String
}

/// Runs a program to its end, off the cooperative pool.
/// - Parameters:
///   - program: A name on the search path, or a path.
///   - environment: All of the program's environment; nil for the test's own.
///   - input: What it reads from its standard input.
///   - limit: The seconds after which it is killed.
package func run(
    _ program: String, _ arguments: [String] = [], environment: [String: String]? = nil, input: String = "", limit: Double = 60
) async throws -> ProgramResult {
    let path = try Program.path(program)
    return try await offPool {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        if let environment { process.environment = environment }
        let (stdin, stdout, stderr) = (Pipe(), Pipe(), Pipe())
        (process.standardInput, process.standardOutput, process.standardError) = (stdin, stdout, stderr)
        try Program.start(process)
        let output = DrainedPipe(stdout)
        let errors = DrainedPipe(stderr)
        let guardian = DispatchWorkItem { kill(process.processIdentifier, SIGKILL) }
        DispatchQueue.global().asyncAfter(deadline: .now() + limit, execute: guardian)
        try? stdin.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try? stdin.fileHandleForWriting.close()
        let (text, errorText) = (output.text(), errors.text())
        process.waitUntilExit()
        guardian.cancel()
        return ProgramResult(status: process.terminationStatus, stdout: text, stderr: errorText)
    }
}

/// Runs blocking work on a thread of its own, off the cooperative pool.
package func offPool<Answer: Sendable>(_ work: @escaping @Sendable () throws -> Answer) async throws -> Answer {
    try await withCheckedThrowingContinuation { continuation in
        let thread = Thread { continuation.resume(with: Result { try work() }) }
        thread.start()
    }
}

/// Reads a pipe to its end on a thread of its own.
private final class DrainedPipe: @unchecked Sendable {
    // Proof: written once by the reading thread before `done` is signalled, read only after it.
    private var bytes = Data()
    private let done = DispatchSemaphore(value: 0)

    init(_ pipe: Pipe) {
        let handle = pipe.fileHandleForReading
        let thread = Thread { [self] in
            bytes = handle.readDataToEndOfFile()
            done.signal()
        }
        thread.start()
    }

    func text() -> String {
        done.wait()
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// A thread that starts one process after the other and never ends.
private final class Starter: @unchecked Sendable {
    private struct Job {
        let process: Process
        let done: @Sendable (Result<Void, any Error>) -> Void
    }

    // Proof: `jobs` is only touched under `condition`.
    private let condition = NSCondition()
    private var jobs: [Job] = []

    init() {
        let thread = Thread { [self] in
            // Begun on a dispatch queue, it has most signals blocked, and a program would inherit that: gdb then waits for its child for ever.
            var none = sigset_t()
            sigemptyset(&none)
            pthread_sigmask(SIG_SETMASK, &none, nil)
            while true {
                let job = next()
                job.done(Result { try job.process.run() })
            }
        }
        thread.start()
    }

    private func next() -> Job {
        condition.lock()
        defer { condition.unlock() }
        while jobs.isEmpty { condition.wait() }
        return jobs.removeFirst()
    }

    func run(_ process: Process) throws {
        let outcome = Outcome()
        let done = DispatchSemaphore(value: 0)
        condition.lock()
        jobs.append(
            Job(process: process) { result in
                outcome.result.withLock { $0 = result }
                done.signal()
            })
        condition.signal()
        condition.unlock()
        done.wait()
        try outcome.result.withLock { $0 }?.get()
    }

    private final class Outcome: Sendable {
        let result = Mutex<Result<Void, any Error>?>(nil)
    }
}

import Foundation

/// A program that a test needs and that is not installed.
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

/// The outcome of a program that ran to its end.
package struct ProgramResult: Sendable {
    package let status: Int32
    package let stdout: String
    package let stderr: String

    /// The complete lines on the standard output.
    package var lines: [String] { stdout.split(separator: "\n").map(String.init) }
}

/// Finds programs.
package enum Program {
    /// The Debian packages of the programs that tests use.
    private static let packages = [
        "secret-tool": "libsecret-tools", "gnome-keyring-daemon": "gnome-keyring", "dbus-daemon": "dbus", "setpriv": "util-linux",
        "setsid": "util-linux", "flock": "util-linux", "systemd-creds": "systemd", "strace": "strace", "gdb": "gdb", "clang": "clang",
        "keepassxc": "keepassxc", "keepassxc-cli": "keepassxc", "gdbus": "libglib2.0-bin",
    ]

    /// The path of a program on the search path.
    /// - Throws: ``MissingProgram``, with the command that installs it.
    package static func path(_ name: String) throws -> String {
        if name.contains("/") { return name }
        let search = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let folders = search.split(separator: ":").map(String.init) + ["/usr/local/bin", "/usr/bin", "/bin"]
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

    /// The words that run a program as the user `nobody`, whom permissions stop. A change of the user clears the signal at the parent's death: it is set again.
    package static func asNobody(_ program: String) throws -> [String] {
        if geteuid() != 0 { return [program] }
        return [try path("setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups", "--pdeathsig", "KILL", program]
    }
}

/// Runs a program to its end.
/// - Parameters:
///   - program: A name on the search path, or a path.
///   - environment: All of the program's environment; nil for the test's own.
///   - input: What it reads from its standard input.
///   - limit: The seconds after which it is killed.
package func run(
    _ program: String, _ arguments: [String] = [], environment: [String: String]? = nil, input: String = "", limit: Double = 60
) async throws -> ProgramResult {
    let running = try RunningProgram(program, arguments, environment: environment)
    let guardian = DispatchWorkItem { running.signal(SIGKILL) }
    DispatchQueue.global().asyncAfter(deadline: .now() + limit, execute: guardian)
    defer { guardian.cancel() }
    return await running.end(input: input)
}

/// Runs blocking work on a thread of its own, off the cooperative pool.
package func offPool<Answer: Sendable>(_ work: @escaping @Sendable () throws -> Answer) async throws -> Answer {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try work() }) }
    }
}

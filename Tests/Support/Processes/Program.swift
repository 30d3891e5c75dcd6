import Foundation

/// The error for a program that a test needs and that is not installed.
package struct MissingProgram: Error, CustomStringConvertible {
    package let name: String
    package let package: String

    package var description: String { "\(name) is missing. Install it: apt-get install -y --no-install-recommends \(package)" }
}

/// An error of a program that a test runs.
package struct ProgramFailure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// The outcome of a program that ran to its end.
package struct ProgramResult: Sendable {
    package let status: Int32
    package let stdout: String
    package let stderr: String

    /// The lines on the standard output, without empty ones.
    package var lines: [String] { stdout.split(separator: "\n").map(String.init) }
}

/// Finds the programs that tests run.
package enum Program {
    /// The Debian packages of the programs that tests use.
    private static let packages = [
        "secret-tool": "libsecret-tools", "gnome-keyring-daemon": "gnome-keyring", "dbus-daemon": "dbus", "setpriv": "util-linux",
        "setsid": "util-linux", "flock": "util-linux", "systemd-creds": "systemd", "strace": "strace", "gdb": "gdb", "clang": "clang",
        "keepassxc": "keepassxc", "keepassxc-cli": "keepassxc", "gdbus": "libglib2.0-bin", "pgbouncer": "pgbouncer",
    ]

    /// Returns the path of a program on the search path.
    /// - Throws: ``MissingProgram``, with the command that installs it.
    package static func path(_ name: String) throws -> String {
        if name.contains("/") { return name }
        let search = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let folders = search.split(separator: ":").map(String.init) + ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin"]
        for folder in folders where FileManager.default.isExecutableFile(atPath: "\(folder)/\(name)") { return "\(folder)/\(name)" }
        throw MissingProgram(name: name, package: packages[name] ?? name)
    }

    /// Returns the path of an executable of this package, which is built next to the tests.
    package static func built(_ name: String) throws -> String {
        let folders = [Bundle.main.bundlePath, CommandLine.arguments.first.map { ($0 as NSString).deletingLastPathComponent } ?? "."]
        for folder in folders + folders.map({ ($0 as NSString).deletingLastPathComponent }) {
            let path = "\(folder)/\(name)"
            if FileManager.default.isExecutableFile(atPath: path) { return path }
        }
        throw ProgramFailure("\(name) is not built beside the tests. Build it: swift build --product \(name)")
    }

    /// Returns the command that runs a program as the user `nobody`, to whom file permissions apply.
    /// A change of the user clears the parent-death signal, which kills the program when its parent exits. So the command
    /// sets it again.
    package static func asNobody(_ program: String) throws -> [String] {
        if geteuid() != 0 { return [program] }
        return [try path("setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups", "--pdeathsig", "KILL", program]
    }
}

/// Runs a program until it exits.
/// - Parameters:
///   - program: A name on the search path, or a path.
///   - environment: The complete environment of the program; nil for that of the test.
///   - input: The text for its standard input.
///   - limit: The number of seconds after which the program is killed.
package func run(
    _ program: String, _ arguments: [String] = [], environment: [String: String]? = nil, input: String = "", limit: Double = 60
) async throws -> ProgramResult {
    let running = try RunningProgram(program, arguments, environment: environment)
    let guardian = DispatchWorkItem { running.signal(SIGKILL) }
    DispatchQueue.global().asyncAfter(deadline: .now() + limit, execute: guardian)
    defer { guardian.cancel() }
    return await running.end(input: input)
}

/// Runs blocking work on a new thread, off the cooperative pool.
package func offPool<Answer: Sendable>(_ work: @escaping @Sendable () throws -> Answer) async throws -> Answer {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try work() }) }
    }
}

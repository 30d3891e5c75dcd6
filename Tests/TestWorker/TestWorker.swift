import Foundation

/// The program that tests start to act on a store from another process.
///
/// The first argument is the subject: `defaults`, `keyring`, `database` or `migration`.
/// The later arguments belong to the subject.
@main
struct TestWorker {
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst(2))
        switch CommandLine.arguments.dropFirst().first {
        case "defaults": try await UserDefaultsCommand.run(arguments)
        #if Keyring && os(Linux)
            case "keyring": await KeyringSession.run(arguments)
        #endif
        #if SQLite
            case "database": try await DatabaseCommand.run(arguments)
        #endif
        case "migration": await MigrationSession.run(arguments)
        default: exitWithUsageError("This build has no such subject")
        }
    }
}

/// Prints why the arguments cannot be used, and ends the program with the status 64.
func exitWithUsageError(_ reason: String) -> Never {
    FileHandle.standardError.write(Data("\(reason): \(CommandLine.arguments.dropFirst().joined(separator: " "))\n".utf8))
    exit(64)
}

/// Writes a line without a buffer, so that a line that was written before a kill is never lost.
func writeLine(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

/// Waits until every other thread of this process has slept for a fifth of a second. A thread that still has work runs, or waits
/// for a core. Returns at once on systems other than Linux.
func waitUntilThreadsSleep() async throws {
    #if os(Linux)
        var quiet = 0
        while quiet < 20 {
            try await Task.sleep(for: .milliseconds(10))
            let states = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").compactMap { thread in
                // The state follows the name of the thread. A thread may have ended since the list was read.
                (try? String(contentsOfFile: "/proc/self/task/\(thread)/stat", encoding: .utf8))?
                    .split(separator: ")").last?.split(separator: " ").first
            }
            quiet = states.count { $0 != "S" } <= 1 ? quiet + 1 : 0
        }
    #endif
}

/// Stops with SIGTRAP, so that a debugger can save the memory.
/// The memory then has the text `control-` followed by a control text.
func stopForMemoryDump(control: String) {
    // The arguments contain the control text too, but without the prefix.
    let text = Array("control-\(control)".utf8)
    raise(SIGTRAP)
    writeLine("\(text.count)")
}

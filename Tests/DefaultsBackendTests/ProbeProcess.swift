import Foundation
import Testing

/// A run of `DefaultsProbe` in a process of its own.
struct ProbeProcess {
    let status: Int32
    let output: String

    /// Where the built products are: beside the running test bundle.
    private static var program: URL {
        URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
            .appendingPathComponent("DefaultsProbe")
    }

    /// Runs it to its end.
    /// - Parameters:
    ///   - configuration: The directory that `XDG_CONFIG_HOME` names.
    ///   - unprivileged: Whether it runs as a user whom permissions stop; a copy of it is put into this directory, which that user can reach.
    static func run(
        _ arguments: [String], configuration: String? = nil, unprivilegedIn directory: String? = nil
    ) async throws -> ProbeProcess {
        let process = Process()
        process.executableURL = program
        process.arguments = arguments
        if let directory, getuid() == 0 {
            let copy = directory + "/probe"
            try FileManager.default.copyItem(atPath: program.path, toPath: copy)
            let setpriv = "/usr/bin/setpriv"
            try #require(FileManager.default.isExecutableFile(atPath: setpriv), "setpriv is missing: apt-get install -y util-linux")
            process.executableURL = URL(fileURLWithPath: setpriv)
            process.arguments = ["--reuid=65534", "--regid=65534", "--clear-groups", copy] + arguments
        }
        var environment = ProcessInfo.processInfo.environment
        environment["XDG_CONFIG_HOME"] = configuration
        process.environment = environment
        let pipe = Pipe()
        process.standardOutput = pipe
        return try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { process in
                let data = pipe.fileHandleForReading.readDataToEndOfFile()
                let output = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
                continuation.resume(returning: ProbeProcess(status: process.terminationStatus, output: output))
            }
            do { try process.run() } catch { continuation.resume(throwing: error) }
        }
    }
}

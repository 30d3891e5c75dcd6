import Foundation
import TestSupport

extension Scratch {
    /// Runs the test worker and waits until it exits.
    /// - Parameters:
    ///   - configuration: The value of `XDG_CONFIG_HOME` for the worker.
    ///   - isUnprivileged: Whether the worker runs as a user without root rights, so that file permissions apply to it.
    ///     A copy of the worker is made in a directory that this user can reach.
    func probe(
        _ arguments: String..., configuration: String? = nil, isUnprivileged: Bool = false
    ) async throws -> (status: Int32, output: String) {
        var words = try Program.worker("defaults", arguments)
        if isUnprivileged {
            let copy = root + "/probe"
            try FileManager.default.copyItem(atPath: words[0], toPath: copy)
            words = try Program.asNobody(copy) + words.dropFirst()
        }
        var environment = ProcessInfo.processInfo.environment
        environment["XDG_CONFIG_HOME"] = configuration
        let result = try await run(words[0], Array(words.dropFirst()), environment: environment)
        return (result.status, result.stdout.trimmingCharacters(in: .whitespacesAndNewlines))
    }
}

import Foundation
import TestSupport

extension Scratch {
    /// Runs the test worker to its end.
    /// - Parameters:
    ///   - configuration: The directory that `XDG_CONFIG_HOME` names.
    ///   - isUnprivileged: Whether it runs as a user whom permissions stop: a copy of it, where that user can reach it.
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

import ArgumentParser
import BackendRuntime
import Foundation
import LocalData

/// Reports errors: one line with the next step on standard error, and an exit status for scripts.
package enum Failure {
    /// The JSON output for an error.
    private struct Shown: Encodable {
        let error: String
        let name: String
        let message: String
        let status: Int32
        /// The names that exist, if the name is unknown.
        var known: [String]?
    }

    /// The name of the executable, with which every message begins.
    static let program = lastComponent(of: CommandLine.arguments.first ?? "localdata")

    /// Prints an error on standard error.
    /// - Parameters:
    ///   - asJSON: Whether to print the error as JSON instead of text.
    ///   - command: The words that start a command, for advice.
    ///   - domain: The domain that the command used, for advice; nil if it used none, or if the advice is the command itself.
    /// - Returns: The error to throw, which sets the exit status.
    static func exit(
        for error: any Error, asJSON: Bool, command: String = PlaceOptions.program, domain: StorageDomain? = nil
    ) -> any Error {
        var advice: String?
        let shown: Shown
        switch error {
        case is ExitCode, is CleanExit: return error
        // The message may have names of files and applications.
        case let error as ValidationError: return ValidationError(error.message.escapingControls(except: ["\n"]))
        case let error as Refusal:
            shown = Shown(
                error: error.code, name: error.name, message: error.message, status: error.status.rawValue, known: error.known)
        case let error as StorageError:
            shown = Shown(
                error: error.code.name, name: DomainWords.replacing(in: error.keyName), message: DomainWords.replacing(in: error.message),
                status: ExitStatus(of: error).rawValue)
            advice = domain.flatMap { Self.advice(for: error, command, $0) }
        default:
            shown = Shown(error: "failed", name: "", message: error.localizedDescription, status: ExitStatus.failure.rawValue)
        }
        if asJSON, let json = try? Output.jsonText(shown) {
            write(json)
        } else {
            let text = (error as? StorageError).map { DomainWords.replacing(in: $0.localizedDescription) } ?? shown.message
            write("\(program): \(text)")
            if let advice { write(advice) }
        }
        return ExitCode(shown.status)
    }

    /// Returns the command that may help after an error; nil if there is none.
    private static func advice(for error: StorageError, _ command: String, _ domain: StorageDomain) -> String? {
        switch error {
        case StorageError.locked: "To unlock it: \(command) unlock \(domain.text), with the same options."
        case StorageError.encryptionKeyMissing where domain.kind == .encryptedSQLite:
            "If the key is lost and there is a recovery key: \(command) keys recover \(domain.text), with the same options."
        default: nil
        }
    }

    /// Writes a line to standard error. Control characters are escaped, because people read it, also in logs.
    package static func write(_ line: String) {
        try? FileHandle.standardError.write(contentsOf: Data((line.escapingControls(except: ["\n"]) + "\n").utf8))
    }
}

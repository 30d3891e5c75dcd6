import ArgumentParser
import Foundation
import LocalData

/// Reports errors: one line with the next step on standard error, and an exit status for scripts.
enum Failure {
    /// The JSON output for an error.
    private struct Shown: Encodable {
        let error: String
        let name: String
        let message: String
        let status: Int32
    }

    /// Prints an error on standard error.
    /// - Parameters:
    ///   - asJSON: Whether to print the error as JSON instead of text.
    ///   - domain: The domain that `localdata unlock` may unlock; nil if this command would not help.
    /// - Returns: The error to throw, which sets the exit status.
    static func exit(for error: any Error, asJSON: Bool, unlocking domain: StorageDomain? = nil) -> any Error {
        guard let error = error as? StorageError else { return error }
        let status = status(of: error)
        let shown = Shown(error: error.code.name, name: error.keyName, message: error.message, status: status)
        if asJSON, let json = try? Output.jsonText(shown) {
            write(json)
        } else {
            write("localdata: \(error.localizedDescription)")
            if error.code == StorageError.locked, let domain {
                write("To unlock it: localdata unlock \(domain.argument), with the same options.")
            }
        }
        return ExitCode(status)
    }

    /// The exit status of an error. It follows `sysexits.h` where that defines a fitting status.
    private static func status(of error: StorageError) -> Int32 {
        switch error {
        case StorageError.notFound: 1
        case StorageError.invalidName: 64
        case StorageError.undecodable, StorageError.corrupted, StorageError.encryptionKeyMismatch, StorageError.rolledBack: 65
        case StorageError.unavailable, StorageError.unsupported, StorageError.encryptionKeyMissing: 69
        case StorageError.noSpace: 73
        case StorageError.locked, StorageError.promptDismissed, StorageError.timedOut, StorageError.conflict: 75
        case StorageError.accessDenied, StorageError.untrusted: 77
        default: 70
        }
    }

    /// Writes a line to standard error. On a terminal, control characters are escaped.
    static func write(_ line: String) {
        let isTerminal = isatty(STDERR_FILENO) == 1
        FileHandle.standardError.write(Data(((isTerminal ? line.escapingControls(except: ["\n"]) : line) + "\n").utf8))
    }
}

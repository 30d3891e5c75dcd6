import ArgumentParser
import Foundation
import LocalData

/// How the tool reports errors: one line with the next step on standard error, and an exit status for scripts.
enum Failure {
    /// Prints an error and returns the exit code to throw for it.
    static func exit(for error: any Error) -> any Error {
        guard let error = error as? StorageError else { return error }
        write("localdata: \(error.localizedDescription)")
        if error.code == StorageError.locked { write("To unlock it: localdata unlock DOMAIN") }
        return ExitCode(status(of: error))
    }

    /// The exit status of an error: the one of `sysexits.h` if there is one.
    private static func status(of error: StorageError) -> Int32 {
        switch error {
        case StorageError.notFound: 1
        case StorageError.invalidName: 64
        case StorageError.undecodable, StorageError.corrupted, StorageError.encryptionKeyMismatch: 65
        case StorageError.unavailable, StorageError.unsupported, StorageError.encryptionKeyMissing: 69
        case StorageError.noSpace: 73
        case StorageError.locked, StorageError.promptDismissed, StorageError.timedOut, StorageError.conflict: 75
        case StorageError.accessDenied: 77
        default: 70
        }
    }

    /// Writes a line to standard error.
    static func write(_ line: String) { FileHandle.standardError.write(Data((line + "\n").utf8)) }
}

import ArgumentParser
import Foundation
import LocalData

/// How errors are told: one line with the next step on standard error, and an exit status that a script can use.
enum Failure {
    /// Prints an error and gives the exit to throw for it.
    static func exit(for error: any Error) -> any Error {
        guard let error = error as? StorageError else { return error }
        write("localdata: \(error.keyName.isEmpty ? "" : error.keyName + ": ")\(error.message)")
        if error.code == StorageError.locked { write("To unlock it: localdata unlock DOMAIN") }
        if error.outcome == .unknown { write("Whether anything was changed is unknown: look before you try again.") }
        return ExitCode(status(of: error))
    }

    /// The exit status of an error, in the terms of `sysexits.h` where it has one.
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

package import LocalData

/// The exit statuses of the tool. Each number has one meaning, and follows `sysexits.h` where that file has a fitting number.
package enum ExitStatus: Int32, CaseIterable, Sendable {
    case done = 0
    case noValue = 1
    case usage = 64
    case damaged = 65
    case unknownName = 66
    case unavailable = 69
    case failure = 70
    case exists = 73
    case noRoom = 74
    case tryAgain = 75
    case refused = 77
    case wrongKey = 78

    /// The meaning in words, for the help.
    var meaning: String {
        switch self {
        case .done: "done"
        case .noValue: "no such value, record or entry"
        case .usage: "wrong usage, an unusable name or value, or no consent"
        case .damaged: "the data is damaged, lost, undecodable, or older than its freshness anchor records"
        case .unknownName: "no such application, store, collection or file"
        case .unavailable: "the store is unavailable or does not support the operation, or doctor found a problem"
        case .failure: "another failure"
        case .exists: "other data exists at the destination, and was not replaced"
        case .noRoom: "no room: the disk is full, or the output cannot be written"
        case .tryAgain: "try again: locked, busy, timed out, or work remains"
        case .refused: "access was denied, or the data belongs to another user or can be changed by one"
        case .wrongKey: "the key, passphrase or application does not fit the data or the folder, or the key source has no key"
        }
    }

    /// The status of an error of a store.
    package init(of error: StorageError) {
        switch error {
        case StorageError.notFound: self = .noValue
        case StorageError.invalidName, StorageError.tooLarge: self = .usage
        case StorageError.undecodable, StorageError.corrupted, StorageError.rolledBack, StorageError.vanished,
            StorageError.incompatibleSchema, StorageError.ambiguous:
            self = .damaged
        case StorageError.unavailable, StorageError.unsupported: self = .unavailable
        case StorageError.noSpace: self = .noRoom
        case StorageError.locked, StorageError.promptDismissed, StorageError.timedOut, StorageError.conflict, StorageError.residueRemains:
            self = .tryAgain
        case StorageError.accessDenied, StorageError.untrusted: self = .refused
        case StorageError.encryptionKeyMissing, StorageError.encryptionKeyMismatch, StorageError.invalidRecoveryKey,
            StorageError.wrongContext:
            self = .wrongKey
        default: self = .failure
        }
    }
}

extension ExitStatus {
    /// The table of all statuses, for the help.
    static var help: String {
        "Exit status:\n" + allCases.map { "  \($0.rawValue)\($0.rawValue < 10 ? " " : "")  \($0.meaning)" }.joined(separator: "\n")
    }
}

/// The codes of errors. They work in `catch StorageError.locked` and in `error.code == .locked`. Later versions may add
/// codes, so a `switch` over a code needs a `default`.
public protocol StorageErrorCodes {}

extension StorageError: StorageErrorCodes {}
extension StorageError.Code: StorageErrorCodes {}

extension StorageErrorCodes {
    /// The value is proven to be absent, and the key has no default.
    public static var notFound: StorageError.Code { StorageError.Code("notFound") }
    /// The value disappeared without being removed: see ``StorageKey/witnessed()``.
    public static var vanished: StorageError.Code { StorageError.Code("vanished") }
    /// The stored bytes do not decode as a value of the key's type. They are left unchanged.
    public static var undecodable: StorageError.Code { StorageError.Code("undecodable") }
    /// The value could not be encoded.
    public static var encodingFailed: StorageError.Code { StorageError.Code("encodingFailed") }
    /// The store is locked.
    public static var locked: StorageError.Code { StorageError.Code("locked") }
    /// The store cannot be reached, or is not part of this build.
    public static var unavailable: StorageError.Code { StorageError.Code("unavailable") }
    /// The stored bytes are damaged. They are left unchanged.
    public static var corrupted: StorageError.Code { StorageError.Code("corrupted") }
    /// Other data prevents the change. For example, another process or task changed the value during each retry, or a
    /// restore found a store with different content.
    public static var conflict: StorageError.Code { StorageError.Code("conflict") }
    /// An older copy of a value could not be removed. The removal or migration of the value itself took effect.
    public static var residueRemains: StorageError.Code { StorageError.Code("residueRemains") }
    /// The operating system refused access.
    public static var accessDenied: StorageError.Code { StorageError.Code("accessDenied") }
    /// Other users can change a file or folder that must be trusted: the file of a key or a database, or a folder above
    /// it. The code is also used for a keyring that would receive secrets unencrypted.
    public static var untrusted: StorageError.Code { StorageError.Code("untrusted") }
    /// The disk is full.
    public static var noSpace: StorageError.Code { StorageError.Code("noSpace") }
    /// The deadline passed.
    public static var timedOut: StorageError.Code { StorageError.Code("timedOut") }
    /// The user declined to unlock.
    public static var promptDismissed: StorageError.Code { StorageError.Code("promptDismissed") }
    /// Several items match the name.
    public static var ambiguous: StorageError.Code { StorageError.Code("ambiguous") }
    /// The value is larger than the store supports.
    public static var tooLarge: StorageError.Code { StorageError.Code("tooLarge") }
    /// The name cannot be used.
    public static var invalidName: StorageError.Code { StorageError.Code("invalidName") }
    /// Two keys have the same slot.
    public static var duplicateKey: StorageError.Code { StorageError.Code("duplicateKey") }
    /// The configuration only allows registered keys, and this key is not registered.
    public static var unregisteredKey: StorageError.Code { StorageError.Code("unregisteredKey") }
    /// The owner or description of a catalog's key is empty.
    public static var incompleteKey: StorageError.Code { StorageError.Code("incompleteKey") }
    /// The key that sealed the data is missing.
    public static var encryptionKeyMissing: StorageError.Code { StorageError.Code("encryptionKeyMissing") }
    /// The sealing key, passphrase or recovery key is not the right one for the data, or is not a valid key.
    public static var encryptionKeyMismatch: StorageError.Code { StorageError.Code("encryptionKeyMismatch") }
    /// The stored data has a schema version or type that this program does not support.
    public static var incompatibleSchema: StorageError.Code { StorageError.Code("incompatibleSchema") }
    /// A chain of versions contains an error and cannot be used. Nothing was read or written.
    public static var invalidEvolution: StorageError.Code { StorageError.Code("invalidEvolution") }
    /// A text is not a valid recovery key, for example because of a typing error.
    public static var invalidRecoveryKey: StorageError.Code { StorageError.Code("invalidRecoveryKey") }
    /// A store belongs to another application, is of another kind, or has another name, because it was copied or
    /// renamed.
    public static var wrongContext: StorageError.Code { StorageError.Code("wrongContext") }
    /// The freshness anchor of a database, a record of its latest state outside of its file, does not match. The
    /// database is an older copy, or another database. Or a database server lacks changes that it has acknowledged.
    public static var rolledBack: StorageError.Code { StorageError.Code("rolledBack") }
    /// A migration failed. The value is still in its previous location.
    public static var migrationFailed: StorageError.Code { StorageError.Code("migrationFailed") }
    /// The value would have weaker protection or weaker durability than it has now.
    public static var weakerProtection: StorageError.Code { StorageError.Code("weakerProtection") }
    /// It is unknown whether a plan would succeed, or whether a slot contains the value that a killed program was
    /// writing.
    public static var cannotTell: StorageError.Code { StorageError.Code("cannotTell") }
    /// The shared router already exists.
    public static var alreadyBootstrapped: StorageError.Code { StorageError.Code("alreadyBootstrapped") }
    /// The caller was cancelled. The error's outcome says whether a change may have happened.
    public static var cancelled: StorageError.Code { StorageError.Code("cancelled") }
    /// The store does not support the operation.
    public static var unsupported: StorageError.Code { StorageError.Code("unsupported") }
    /// The router was shut down.
    public static var shutDown: StorageError.Code { StorageError.Code("shutDown") }
}

extension StorageError {
    /// Whether the stored bytes are not a value that this key can read.
    var meansUndecodable: Bool {
        [StorageError.undecodable, StorageError.corrupted, StorageError.encryptionKeyMismatch].contains(code)
    }

    /// Whether the error says "not now" rather than "not so".
    package var isTransient: Bool {
        [
            StorageError.locked, StorageError.unavailable, StorageError.timedOut, StorageError.promptDismissed, StorageError.cancelled,
            StorageError.conflict,
        ]
        .contains(code)
    }

    /// Whether a store was not changed because it is full or read-only. It may be readable. After an unknown outcome, a read
    /// finds out what was written.
    var meansUnwritable: Bool { outcome != .applied && (code == StorageError.noSpace || code == StorageError.accessDenied) }
}

/// The codes of errors: `catch StorageError.locked`, and `error.code == .locked`. New codes may be added, so a `switch` over a code has a `default`.
public protocol StorageErrorCodes {}

extension StorageError: StorageErrorCodes {}
extension StorageError.Code: StorageErrorCodes {}

extension StorageErrorCodes {
    /// The value is absent, proven, and the key has no default.
    public static var notFound: StorageError.Code { StorageError.Code("notFound") }
    /// The value was there and is gone without having been removed: ``StorageKey/witnessed()``.
    public static var vanished: StorageError.Code { StorageError.Code("vanished") }
    /// The stored bytes are not a value of the key's type; they are left as they are.
    public static var undecodable: StorageError.Code { StorageError.Code("undecodable") }
    /// The value could not be turned into bytes.
    public static var encodingFailed: StorageError.Code { StorageError.Code("encodingFailed") }
    /// The store is locked.
    public static var locked: StorageError.Code { StorageError.Code("locked") }
    /// The store cannot be reached, or is not part of this build.
    public static var unavailable: StorageError.Code { StorageError.Code("unavailable") }
    /// The stored bytes are damaged; they are left as they are.
    public static var corrupted: StorageError.Code { StorageError.Code("corrupted") }
    /// Something else was changed at the same time, again and again.
    public static var conflict: StorageError.Code { StorageError.Code("conflict") }
    /// The value was removed, and an older copy of it could not be.
    public static var residueRemains: StorageError.Code { StorageError.Code("residueRemains") }
    /// The machine refused access.
    public static var accessDenied: StorageError.Code { StorageError.Code("accessDenied") }
    /// Other users can change a file or a folder that has to be trusted: a key's, a database's, or one above it. Or the keyring would be
    /// sent secrets unencrypted.
    public static var untrusted: StorageError.Code { StorageError.Code("untrusted") }
    /// There is no room left.
    public static var noSpace: StorageError.Code { StorageError.Code("noSpace") }
    /// The deadline passed.
    public static var timedOut: StorageError.Code { StorageError.Code("timedOut") }
    /// The person declined to unlock.
    public static var promptDismissed: StorageError.Code { StorageError.Code("promptDismissed") }
    /// Several items answer to the name.
    public static var ambiguous: StorageError.Code { StorageError.Code("ambiguous") }
    /// The value is larger than the store can hold.
    public static var tooLarge: StorageError.Code { StorageError.Code("tooLarge") }
    /// The name cannot be used.
    public static var invalidName: StorageError.Code { StorageError.Code("invalidName") }
    /// Two keys mean the same slot.
    public static var duplicateKey: StorageError.Code { StorageError.Code("duplicateKey") }
    /// The configuration demands registered keys, and this one is not, or a registered key lacks what it must say.
    public static var unregisteredKey: StorageError.Code { StorageError.Code("unregisteredKey") }
    /// A catalog's key says too little of itself: its owner or description is empty.
    public static var incompleteKey: StorageError.Code { StorageError.Code("incompleteKey") }
    /// What is stored was sealed with a key that is not there.
    public static var encryptionKeyMissing: StorageError.Code { StorageError.Code("encryptionKeyMissing") }
    /// The sealing key that is there is another one.
    public static var encryptionKeyMismatch: StorageError.Code { StorageError.Code("encryptionKeyMismatch") }
    /// The stored shape has a version that this program does not know.
    public static var incompatibleSchema: StorageError.Code { StorageError.Code("incompatibleSchema") }
    /// A chain of versions cannot be used as it was put together; nothing was read or written.
    public static var invalidEvolution: StorageError.Code { StorageError.Code("invalidEvolution") }
    /// A text is not a recovery key: something was mistyped.
    public static var invalidRecoveryKey: StorageError.Code { StorageError.Code("invalidRecoveryKey") }
    /// A store belongs to another application, kind of store or scope; it was copied or renamed.
    public static var wrongContext: StorageError.Code { StorageError.Code("wrongContext") }
    /// A database is older than its freshness anchor, or not the one that the anchor knows.
    public static var rolledBack: StorageError.Code { StorageError.Code("rolledBack") }
    /// A migration failed; the old value is where it was.
    public static var migrationFailed: StorageError.Code { StorageError.Code("migrationFailed") }
    /// A value would be protected less, or last shorter, than where it is.
    public static var weakerProtection: StorageError.Code { StorageError.Code("weakerProtection") }
    /// The answer is unknown: whether a plan would succeed, or whether a slot holds a value that a killed program was writing.
    public static var cannotTell: StorageError.Code { StorageError.Code("cannotTell") }
    /// The shared router exists already.
    public static var alreadyBootstrapped: StorageError.Code { StorageError.Code("alreadyBootstrapped") }
    /// The caller was cancelled. The error's outcome says whether a change may have happened.
    public static var cancelled: StorageError.Code { StorageError.Code("cancelled") }
    /// The store cannot do this at all.
    public static var unsupported: StorageError.Code { StorageError.Code("unsupported") }
    /// The router was shut down.
    public static var shutDown: StorageError.Code { StorageError.Code("shutDown") }
}

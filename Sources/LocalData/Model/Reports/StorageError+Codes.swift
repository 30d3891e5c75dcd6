/// What can go wrong. New codes may be added: a `switch` over a code has a `default`.
extension StorageError.Code {
    /// The value is absent, proven, and the key has no default.
    public static let notFound = Self("notFound")
    /// The value was there and is gone without having been removed: ``StorageKey/witnessed()``.
    public static let vanished = Self("vanished")
    /// The stored bytes are not a value of the key's type; they are left as they are.
    public static let undecodable = Self("undecodable")
    /// The value could not be turned into bytes.
    public static let encodingFailed = Self("encodingFailed")
    /// The store is locked.
    public static let locked = Self("locked")
    /// The store cannot be reached, or is not part of this build.
    public static let unavailable = Self("unavailable")
    /// The stored bytes are damaged; they are left as they are.
    public static let corrupted = Self("corrupted")
    /// Something else was changed at the same time, again and again.
    public static let conflict = Self("conflict")
    /// The value was removed, and an older copy of it could not be.
    public static let residueRemains = Self("residueRemains")
    /// The machine refused access.
    public static let accessDenied = Self("accessDenied")
    /// Other users can change a file or a folder that has to be trusted: a key's, a database's, or one above it. Or the keyring would be
    /// sent secrets unencrypted.
    public static let untrusted = Self("untrusted")
    /// There is no room left.
    public static let noSpace = Self("noSpace")
    /// The deadline passed.
    public static let timedOut = Self("timedOut")
    /// The person declined to unlock.
    public static let promptDismissed = Self("promptDismissed")
    /// Several items answer to the name.
    public static let ambiguous = Self("ambiguous")
    /// The value is larger than the store can hold.
    public static let tooLarge = Self("tooLarge")
    /// The name cannot be used.
    public static let invalidName = Self("invalidName")
    /// Two keys mean the same slot.
    public static let duplicateKey = Self("duplicateKey")
    /// The configuration demands registered keys, and this one is not, or a registered key lacks what it must say.
    public static let unregisteredKey = Self("unregisteredKey")
    /// A catalog's key says too little of itself: its owner or description is empty.
    public static let incompleteKey = Self("incompleteKey")
    /// What is stored was sealed with a key that is not there.
    public static let encryptionKeyMissing = Self("encryptionKeyMissing")
    /// The sealing key that is there is another one.
    public static let encryptionKeyMismatch = Self("encryptionKeyMismatch")
    /// The stored shape has a version that this program does not know.
    public static let incompatibleSchema = Self("incompatibleSchema")
    /// A chain of versions cannot be used as it was put together; nothing was read or written.
    public static let invalidEvolution = Self("invalidEvolution")
    /// A text is not a recovery key: something was mistyped.
    public static let invalidRecoveryKey = Self("invalidRecoveryKey")
    /// A store belongs to another application, kind of store or scope; it was copied or renamed.
    public static let wrongContext = Self("wrongContext")
    /// A database is older than its freshness anchor, or not the one that the anchor knows.
    public static let rolledBack = Self("rolledBack")
    /// A migration failed; the old value is where it was.
    public static let migrationFailed = Self("migrationFailed")
    /// A value would be protected less, or last shorter, than where it is.
    public static let weakerProtection = Self("weakerProtection")
    /// The answer is unknown: whether a plan would succeed, or whether a slot holds a value that a killed program was writing.
    public static let cannotTell = Self("cannotTell")
    /// The shared router exists already.
    public static let alreadyBootstrapped = Self("alreadyBootstrapped")
    /// The caller was cancelled while a change was under way.
    public static let cancelled = Self("cancelled")
    /// The store cannot do this at all.
    public static let unsupported = Self("unsupported")
    /// The router was shut down.
    public static let shutDown = Self("shutDown")
}

/// The same codes as patterns: `catch StorageError.locked`.
extension StorageError {
    /// ``Code/notFound``
    public static var notFound: Code { .notFound }
    /// ``Code/vanished``
    public static var vanished: Code { .vanished }
    /// ``Code/undecodable``
    public static var undecodable: Code { .undecodable }
    /// ``Code/encodingFailed``
    public static var encodingFailed: Code { .encodingFailed }
    /// ``Code/shutDown``
    public static var shutDown: Code { .shutDown }
    /// ``Code/locked``
    public static var locked: Code { .locked }
    /// ``Code/unavailable``
    public static var unavailable: Code { .unavailable }
    /// ``Code/corrupted``
    public static var corrupted: Code { .corrupted }
    /// ``Code/conflict``
    public static var conflict: Code { .conflict }
    /// ``Code/residueRemains``
    public static var residueRemains: Code { .residueRemains }
    /// ``Code/accessDenied``
    public static var accessDenied: Code { .accessDenied }
    /// ``Code/untrusted``
    public static var untrusted: Code { .untrusted }
    /// ``Code/noSpace``
    public static var noSpace: Code { .noSpace }
    /// ``Code/timedOut``
    public static var timedOut: Code { .timedOut }
    /// ``Code/promptDismissed``
    public static var promptDismissed: Code { .promptDismissed }
    /// ``Code/ambiguous``
    public static var ambiguous: Code { .ambiguous }
    /// ``Code/tooLarge``
    public static var tooLarge: Code { .tooLarge }
    /// ``Code/invalidName``
    public static var invalidName: Code { .invalidName }
    /// ``Code/duplicateKey``
    public static var duplicateKey: Code { .duplicateKey }
    /// ``Code/unregisteredKey``
    public static var unregisteredKey: Code { .unregisteredKey }
    /// ``Code/incompleteKey``
    public static var incompleteKey: Code { .incompleteKey }
    /// ``Code/encryptionKeyMissing``
    public static var encryptionKeyMissing: Code { .encryptionKeyMissing }
    /// ``Code/encryptionKeyMismatch``
    public static var encryptionKeyMismatch: Code { .encryptionKeyMismatch }
    /// ``Code/invalidRecoveryKey``
    public static var invalidRecoveryKey: Code { .invalidRecoveryKey }
    /// ``Code/wrongContext``
    public static var wrongContext: Code { .wrongContext }
    /// ``Code/rolledBack``
    public static var rolledBack: Code { .rolledBack }
    /// ``Code/incompatibleSchema``
    public static var incompatibleSchema: Code { .incompatibleSchema }
    /// ``Code/invalidEvolution``
    public static var invalidEvolution: Code { .invalidEvolution }
    /// ``Code/migrationFailed``
    public static var migrationFailed: Code { .migrationFailed }
    /// ``Code/weakerProtection``
    public static var weakerProtection: Code { .weakerProtection }
    /// ``Code/cannotTell``
    public static var cannotTell: Code { .cannotTell }
    /// ``Code/alreadyBootstrapped``
    public static var alreadyBootstrapped: Code { .alreadyBootstrapped }
    /// ``Code/cancelled``
    public static var cancelled: Code { .cancelled }
    /// ``Code/unsupported``
    public static var unsupported: Code { .unsupported }
}

import BackendContract
import BackendRuntime

/// A store of the program as a backup knows it: what it is called, how it is copied, and how it is restored.
struct BackedStore: Sendable {
    /// What a store is made of.
    enum Form: Sendable {
        /// One file at a path.
        case file(String)
        /// A database at a path, given to the key of a source.
        case database(String, KeySourceReference)
        /// Entries that are put back one by one.
        case items(any BackupItemStore)
    }

    /// The kinds of stores, by the names that stand in a backup.
    enum Kind: String, CaseIterable, Sendable {
        /// A property list; its scope is the suite.
        case userDefaults
        /// The items of a keyring service.
        case keychain
        /// A database; its scope is the database's name.
        case encryptedSQLite
        /// A vault that stands in for a keyring; its scope is the file's name without its ending.
        case vault
        /// The migration ledger.
        case ledger
        /// The quarantine.
        case quarantine
        /// A copy of a damaged property list; its scope is the file's name.
        case copy
        /// A passphrase file; its scope is the passphrase's name.
        case passphrase
    }

    let kind: Kind
    let scope: String
    let store: any BackupStore
    let form: Form

    /// The store in words, by which a restore is told to replace it: "encryptedSQLite(main)", "ledger".
    var name: String { Self.name(kind.rawValue, scope) }

    static func name(_ kind: String, _ scope: String) -> String { scope.isEmpty ? kind : "\(kind)(\(scope))" }
}

public import Foundation
public import LocalData

/// What a backup holds, as it was made, verified or restored. It holds no value and no name of a value.
public struct BackupReport: Codable, Hashable, Sendable {
    /// A store in a backup.
    public struct Store: Codable, Hashable, Sendable {
        /// What kind of store it is: "userDefaults", "keychain", "encryptedSQLite", "vault", "ledger", "quarantine", "copy", "passphrase".
        public let kind: String
        /// The suite, service, database or file; empty where there is one of a kind.
        public let scope: String
        /// The bytes of its content.
        public internal(set) var bytes = 0
        /// SHA-256 of its content, in hexadecimal.
        public internal(set) var digest = ""
        /// Whether a program that does not take this library's locks changed it while the stores were copied: it may be of another moment than the others.
        public internal(set) var isForeign = false
        /// Whether it was changed between the copy and the end of the backup: the backup has the state at the beginning.
        public internal(set) var isOlder = false
        /// Whether it is a damaged property list, or a database with damaged pages or rows that are none. The backup has its file as it is: after a
        /// restore, what could be read can be read, and what is damaged is still damaged, and not absent.
        public internal(set) var isDamaged = false
        /// The error code for which it could not be read, so that the backup does not have it; nil for every other store. A restore leaves the
        /// place of such a store as it is.
        public internal(set) var problem: String?
        /// How many rows of a database do not open; they were damaged when the backup was made. Nil where no rows were opened.
        public internal(set) var damagedRows: Int?
        /// Whether the rows of a database were those that were written, all of them, when the backup was made. Nil where no rows were opened.
        public internal(set) var hasProvenRows: Bool?

        /// The store in words, by which a restore is told to replace it: "encryptedSQLite(main)", "ledger".
        public var name: String { scope.isEmpty ? kind : "\(kind)(\(scope))" }

        init(kind: String, scope: String) { (self.kind, self.scope) = (kind, scope) }
    }

    /// The backup's id, in hexadecimal.
    public internal(set) var id = ""
    /// The application's id.
    public internal(set) var application = ""
    /// What everything sealed is bound to: ``StorageConfiguration/sealingContext``, or else the application's id.
    public internal(set) var context = ""
    /// When the stores were copied.
    public internal(set) var date = Date(timeIntervalSince1970: 0)
    /// The stores.
    public internal(set) var stores: [Store] = []
    /// Where the keys were kept that the backup has, in words.
    public internal(set) var keys: [String] = []
    /// Domains of the program that are not in the backup, since a backend of its own serves them.
    public internal(set) var omitted: [String] = []
    /// The expected stores that were not found, by ``Store/name``: the program's keys, catalogs or ledger lead to them. Nothing was ever written to such
    /// a store, or it is lost.
    public internal(set) var notFound: [String] = []

    /// Whether everything is in it that it should have, and was not damaged.
    public var isSound: Bool {
        stores.allSatisfy { !$0.isDamaged && $0.problem == nil && $0.damagedRows ?? 0 == 0 && $0.hasProvenRows != false }
    }

    init() {}
}

/// What a restore did.
public struct RestoreReport: Codable, Hashable, Sendable {
    /// What the backup holds.
    public let backup: BackupReport
    /// The stores that were put in their places, by ``BackupReport/Store/name``.
    public internal(set) var restored: [String] = []
    /// The stores that had the same content already.
    public internal(set) var unchanged: [String] = []
    /// The stores that the backup does not have, since they could not be read when it was made: what is in their places stays.
    public internal(set) var missing: [String] = []
    /// Where the stores are that were replaced: paths, and namespaces of keyring services.
    public internal(set) var kept: [String] = []
    /// The stores that were given to a key that this machine had already.
    public internal(set) var givenToOtherKey: [String] = []

    init(_ backup: BackupReport) { self.backup = backup }
}

/// How far a backup, a verification or a restore has come.
public struct BackupProgress: Hashable, Sendable {
    /// The store that is read or written now.
    public let store: String
    /// How many stores are done.
    public let done: Int
    /// How many there are.
    public let count: Int
    /// How many bytes of content were read or written, of all stores.
    public let bytes: Int

    init(store: String, done: Int, count: Int, bytes: Int) { (self.store, self.done, self.count, self.bytes) = (store, done, count, bytes) }
}

public import Foundation
import LocalData

/// The content of a backup that was made, verified or restored: its stores, and those that were damaged or left out.
///
/// It contains no values and no names of values.
///
/// ```swift
/// for store in report.stores { print("\(store.name): \(store.bytes) bytes", store.problem ?? "readable") }
/// if !report.isSound { print("A store was damaged or unreadable when the backup was made.") }
/// for name in report.notFound { print("\(name) does not exist. It was never written, or it is lost.") }
/// ```
public struct BackupReport: Codable, Hashable, Sendable {
    /// A store in a backup.
    public struct Store: Codable, Hashable, Sendable {
        /// The kind of store: "userDefaults", "keychain", "encryptedSQLite", "vault" (an encrypted database that
        /// replaces a keyring), "ledger" (notes about sweeps and stores), "pins" (the recorded keys), "history" (of migrations), "quarantine"
        /// (values that migrations displaced), "copy", "passphrase", "imports" (the names of imported values).
        public let kind: String
        /// The suite, service, database or file; empty for a kind with only one store.
        public let scope: String
        /// The size of the content in bytes.
        public internal(set) var bytes = 0
        /// The SHA-256 digest of the content, in hexadecimal.
        public internal(set) var digest = ""
        /// Whether a program that does not take this library's lock changed the store while the stores were copied. The
        /// state of this store may be from another moment than the states of the other stores.
        public internal(set) var isForeign = false
        /// Whether the store changed after it was copied and before the backup ended. The backup contains the copied state.
        public internal(set) var isOlder = false
        /// Whether the store is a damaged property list, or a database with damaged pages or invalid rows. The backup contains its file
        /// unchanged. After a restore, readable values can be read, and damaged values are reported as damaged, not as absent.
        public internal(set) var isDamaged = false
        /// The error code if the store could not be read; nil for every other store. The backup does not contain such a store, and a
        /// restore does not change it on the destination.
        public internal(set) var problem: String?
        /// The number of damaged rows of a database: rows that could not be decrypted. They were damaged before the
        /// backup. Nil if no rows were decrypted.
        public internal(set) var damagedRows: Int?
        /// Whether the database proved, when the backup was made, that its rows were complete and unchanged. The proof
        /// is a record in the database with the number and a keyed sum of all rows. False for a damaged database whose
        /// file was copied unchanged. Nil for other stores, for a store that could not be read, and in the report of a
        /// call that made a backup.
        public internal(set) var hasProvenRows: Bool?

        /// The name by which a restore identifies a store to replace: "encryptedSQLite(main)", "ledger".
        public var name: String { scope.isEmpty ? kind : "\(kind)(\(scope))" }

        init(kind: String, scope: String) { (self.kind, self.scope) = (kind, scope) }
    }

    /// The backup's id, in hexadecimal.
    public internal(set) var id = ""
    /// The application's id.
    public internal(set) var application = ""
    /// The context that all sealed data is bound to: `StorageConfiguration.sealingContext`, or else the application's id.
    public internal(set) var context = ""
    /// When the stores were copied.
    public internal(set) var date = Date(timeIntervalSince1970: 0)
    /// The stores.
    public internal(set) var stores: [Store] = []
    /// Descriptions of the key sources whose keys the backup contains. A key source is the location of an encryption
    /// key, such as a keyring item or a key file.
    public internal(set) var keys: [String] = []
    /// Domains that are not in the backup, because a custom backend serves them.
    public internal(set) var omitted: [String] = []
    /// Expected stores that do not exist, by ``Store/name``. The program's keys, catalogs or ledger refer to them. They were never
    /// written, or they are lost.
    public internal(set) var notFound: [String] = []

    /// Whether every store could be read and none was damaged. The report of a verification or restore also requires
    /// that no row was damaged. Every database must then have proved that its rows were complete.
    public var isSound: Bool {
        stores.allSatisfy { !$0.isDamaged && $0.problem == nil && $0.damagedRows ?? 0 == 0 && $0.hasProvenRows != false }
    }
}

/// The result of a restore: which stores were restored, and where the stores are that they replaced.
///
/// ```swift
/// for place in restored.kept { print("The previous store is kept in \(place).") }
/// for store in restored.missing { print("\(store) is not in the backup, and was not changed.") }
/// ```
public struct RestoreReport: Codable, Hashable, Sendable {
    /// The content of the backup.
    public let backup: BackupReport
    /// The stores that were restored, by ``BackupReport/Store/name``.
    public internal(set) var restored: [String] = []
    /// The stores that already had the same content.
    public internal(set) var unchanged: [String] = []
    /// The stores that are not in the backup because they could not be read when it was made. A restore does not change them on the
    /// destination.
    public internal(set) var missing: [String] = []
    /// The new locations of the replaced stores: paths, and namespaces of keyring services.
    public internal(set) var kept: [String] = []
    /// The stores whose data keys were encrypted again (rewrapped), with a key that this machine already had.
    public internal(set) var givenToOtherKey: [String] = []

    init(_ backup: BackupReport) { self.backup = backup }
}

/// The progress of a backup, a verification or a restore.
///
/// ```swift
/// try await storage.backup(to: file, openedBy: [.recoveryKey(key)]) { progress in
///     print("\(progress.done) of \(progress.count) stores, \(progress.bytes) bytes, now \(progress.store)")
/// }
/// ```
public struct BackupProgress: Hashable, Sendable {
    /// The store that is being read or written.
    public let store: String
    /// The number of completed stores.
    public let done: Int
    /// The total number of stores.
    public let count: Int
    /// The number of content bytes that were read or written, for all stores together.
    public let bytes: Int

    init(store: String, done: Int, count: Int, bytes: Int) { (self.store, self.done, self.count, self.bytes) = (store, done, count, bytes) }
}

import BackendContract
import BackendRuntime
public import LocalData
import Sealing

extension StorageRouter {
    /// Lists the recipients of an encrypted database: the key sources and the recovery keys that can open it.
    ///
    /// ```swift
    /// for recipient in try await storage.keyRecipients(of: database) {
    ///     print(recipient.source, recipient.id, recipient.isRecoveryKey ? "(recovery key)" : "")
    /// }
    /// ```
    /// - Parameter domain: An encrypted database, or a keychain that is stored in a vault, an encrypted database.
    /// - Returns: The recipients; empty if the database does not exist yet.
    /// - Throws: `StorageError`: `unsupported` for a domain without a data key.
    @concurrent
    public nonisolated func keyRecipients(of domain: StorageDomain) async throws -> [KeyRecipient] {
        try await call("keyRecipients", domain) {
            let store = try recipientStore(domain)
            return try await translating("\(domain)", await store.recipients().map(KeyRecipient.init))
        }
    }

    /// Adds a recovery key, which opens an encrypted database without the key of its source.
    ///
    /// ```swift
    /// let key = try await storage.addRecoveryKey(to: .encryptedSQLite(database: "main"))
    /// print(key.text)  // show it once, and have it written down: nothing on this machine stores it
    /// ```
    ///
    /// This machine does not store the recovery key: show ``RecoveryKey/text`` once, and ask the user to write it down. The database
    /// stores the public half, which is durable when this returns. A database that does not exist yet is created. On a
    /// server, the recovery key also opens the internal stores of the application, such as the ledger.
    ///
    /// With the recovery key and a copy of the file, anyone can read the file until its data key is rotated.
    /// - Parameters:
    ///   - key: A recovery key that was made for another domain; nil makes a new one.
    ///   - domain: An encrypted database, or a keychain that is stored in a vault, an encrypted database.
    /// - Returns: The recovery key.
    /// - Throws: `StorageError`: `unsupported` for a domain without a data key; the errors of fetching the source's key. Nothing was
    ///   changed after an error.
    @concurrent
    public nonisolated func addRecoveryKey(_ key: RecoveryKey? = nil, to domain: StorageDomain) async throws -> RecoveryKey {
        try await call("addRecoveryKey", domain) {
            let store = try recipientStore(domain)
            let key = key ?? RecoveryKey(for: configuration)
            try await translating("\(domain)", await store.change(.addingRecovery(key.pair)))
            return key
        }
    }

    /// Removes a recovery key from an encrypted database; durable when this returns. Earlier copies of the file still open with it.
    ///
    /// ```swift
    /// for recipient in try await storage.keyRecipients(of: database) where recipient.isRecoveryKey {
    ///     try await storage.removeRecoveryKey(recipient, from: database)
    /// }
    /// try await storage.rotateDataKey(of: database)  // a copy of the file from before opens with the removed key
    /// ```
    /// - Parameters:
    ///   - recipient: A recovery key among ``keyRecipients(of:)``. If the database no longer has it, the call does nothing.
    ///   - domain: The domain.
    /// - Throws: `StorageError`: `unsupported` for the key of a source. Nothing was changed after an error.
    @concurrent
    public nonisolated func removeRecoveryKey(_ recipient: KeyRecipient, from domain: StorageDomain) async throws {
        try await call("removeRecoveryKey", domain) {
            let store = try recipientStore(domain)
            guard recipient.isRecoveryKey else {
                throw StorageError(
                    StorageError.unsupported, key: "\(domain)",
                    "\(recipient.source) is not a recovery key. Use changeKeySource(of:from:) to replace a key source. Nothing was changed."
                )
            }
            try await translating("\(domain)", await store.change(.removingRecovery(recipient.bytes)))
        }
    }

    /// Opens an encrypted database with a recovery key, after the key of its source was lost. The call also encrypts
    /// the data key of the database with the key of the configured source (rewraps it).
    ///
    /// ```swift
    /// do {
    ///     let key = try RecoveryKey(text: typed)
    ///     try await storage.recover(.encryptedSQLite(database: "main"), with: key)
    /// } catch let error as StorageError where error.code == .invalidRecoveryKey {
    ///     print("Check the text: \(error.message)")  // the message never repeats the text
    /// } catch StorageError.encryptionKeyMismatch { print("The database was sealed for another recovery key.") }
    /// ```
    ///
    /// Afterwards, the present key of the configured source opens the database. A source without a key gets a new one.
    /// Keys of other sources no longer open the database, but all of its recovery keys still do. The change is durable
    /// when this returns.
    ///
    /// The database must prove that this recovery key was added to it. If an attacker replaced the database by one that
    /// names the recovery key without proof, the call throws `corrupted`.
    ///
    /// The database also gets a new data key, which seals all later writes. ``rotateDataKey(of:progress:)`` seals the existing values
    /// with it, too. Check ``keyRecipients(of:)`` afterwards: an older file may still list recovery keys that were removed later.
    ///
    /// Call this for every database of the source. Single values that were sealed with the lost key are lost. On a server,
    /// the call first recovers the internal stores of the application. A connection that is lost between the two steps
    /// leaves the database unchanged; repeat the call.
    /// - Parameters:
    ///   - domain: An encrypted database, or a keychain that is stored in a vault, an encrypted database.
    ///   - key: The recovery key.
    /// - Throws: `StorageError`: `encryptionKeyMismatch` if the database was not sealed for this recovery key, `corrupted` if it names
    ///   the key without proof, `unavailable` if there is no database. The database is unchanged after an error, and a key that does not
    ///   open it leaves no new key in the source.
    @concurrent
    public nonisolated func recover(_ domain: StorageDomain, with key: RecoveryKey) async throws {
        try await call("recover", domain) {
            let store = try recipientStore(domain)
            try await translatingErrors(key: "\(domain)") { () throws(BackendError) in try await store.takeOver(from: .recovery(key.pair)) }
        }
    }

    /// Encrypts the data key of a database with the key of the source that the configuration now names for the database
    /// (rewraps it).
    ///
    /// ```swift
    /// var configuration = StorageConfiguration.service(applicationID: "com.example.shop")
    /// configuration.databaseKeySources["main"] = .credential("storage-key-2")
    /// let storage = StorageRouter(configuration: configuration)
    /// try await storage.changeKeySource(of: .encryptedSQLite(database: "main"), from: .credential("storage-key"))
    /// ```
    ///
    /// It needs the key of the previous source once more. That key no longer opens the database afterwards. Recovery
    /// keys stay. No row is rewritten. The change is durable when this returns. On a server, the internal stores of the
    /// application move first, if the configured source does not open them.
    /// - Parameters:
    ///   - domain: An encrypted database, or a keychain that is stored in a vault, an encrypted database.
    ///   - old: The source that opens the database now.
    /// - Throws: `StorageError`: `encryptionKeyMismatch` and other errors of the old key and of the new key. The database is unchanged
    ///   after an error.
    @concurrent
    public nonisolated func changeKeySource(of domain: StorageDomain, from old: KeySourceReference) async throws {
        try await call("changeKeySource", domain) {
            let store = try recipientStore(domain)
            let source = try keySource(old)
            try await translatingErrors(key: "\(domain)") { () throws(BackendError) in try await store.takeOver(from: .source(source)) }
        }
    }

    private nonisolated func recipientStore(_ domain: StorageDomain) throws -> any RecipientStore {
        try store(of: domain, otherwise: "Only an encrypted database has data keys.")
    }
}

/// A key source or a recovery key that can open an encrypted database.
///
/// ```swift
/// for recipient in try await storage.keyRecipients(of: database) {
///     print(recipient.source, recipient.id, recipient.isRecoveryKey ? "(recovery key)" : "")
/// }
/// ```
public struct KeyRecipient: Hashable, Sendable, CustomStringConvertible {
    let bytes: [UInt8]
    /// The location of the key, without folders: "key file main", "keyring item sealing-key". A recovery key has "recovery key".
    public let source: String
    /// Whether it is a recovery key.
    public let isRecoveryKey: Bool

    init(_ recipient: KeyTables.Recipient) {
        bytes = recipient.id
        source = recipient.source
        isRecoveryKey = recipient.source == RecoveryRecipient.source
    }

    /// The key's id in hexadecimal. It reveals nothing about the key.
    public var id: String { hexadecimalText(of: bytes) }

    /// The source and the id.
    public var description: String { "\(source) \(id)" }
}

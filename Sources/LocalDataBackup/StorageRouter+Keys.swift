import BackendContract
import BackendRuntime
public import LocalData
import Sealing

extension StorageRouter {
    /// Who can open an encrypted database: the sources whose keys do, and recovery keys.
    /// - Parameter domain: An encrypted database, or a keychain that is kept in a sealed vault.
    /// - Returns: None where there is no database yet.
    /// - Throws: ``StorageError``: `unsupported` for a domain without data keys of its own.
    @concurrent
    public nonisolated func keyRecipients(of domain: StorageDomain) async throws -> [KeyRecipient] {
        try await Self.cancellable("\(domain)") {
            let store = try recipientStore(domain)
            return try await translatingErrors(key: "\(domain)") { () throws(BackendError) in
                try await store.recipients().map(KeyRecipient.init)
            }
        }
    }

    /// Makes a recovery key that opens an encrypted database without the key of its source. It is shown by ``RecoveryKey/text`` and kept nowhere on this machine: show it
    /// once, and have it written down. Durable when it returns; a database that does not exist yet is created.
    ///
    /// The database keeps the public half. Who has the recovery key and a copy of the file can read the file, for as long as it has this data key.
    /// - Parameters:
    ///   - domain: An encrypted database, or a keychain that is kept in a sealed vault.
    ///   - key: A recovery key that was made for another domain; nil makes a new one.
    /// - Returns: The recovery key.
    /// - Throws: ``StorageError``: `unsupported` for a domain without data keys of its own; what fetching the key throws. Nothing was changed then.
    @concurrent
    public nonisolated func addRecoveryKey(_ key: RecoveryKey? = nil, to domain: StorageDomain) async throws -> RecoveryKey {
        try await Self.cancellable("\(domain)") {
            let store = try recipientStore(domain)
            let key = key ?? RecoveryKey(configuration.runtime.randomBytes)
            try await translatingErrors(key: "\(domain)") { () throws(BackendError) in
                try await store.change(.addingRecovery(key.pair))
            }
            return key
        }
    }

    /// Lets a recovery key no longer open an encrypted database; durable when it returns. Copies of the file that were made before still open with it.
    /// - Parameters:
    ///   - recipient: A recovery key among ``keyRecipients(of:)``. One that is none of them is removed already.
    ///   - domain: The domain.
    /// - Throws: ``StorageError``: `unsupported` for the key of a source. Nothing was changed then.
    @concurrent
    public nonisolated func removeRecoveryKey(_ recipient: KeyRecipient, from domain: StorageDomain) async throws {
        try await Self.cancellable("\(domain)") {
            let store = try recipientStore(domain)
            guard recipient.isRecoveryKey else {
                throw StorageError(
                    StorageError.unsupported, key: "\(domain)",
                    "\(recipient.source) is not a recovery key. Another source takes its place with changeKeySource(of:from:). Nothing was changed."
                )
            }
            try await translatingErrors(key: "\(domain)") { () throws(BackendError) in
                try await store.change(.removingRecovery(recipient.bytes))
            }
        }
    }

    /// Opens an encrypted database with a recovery key, where the key of its source is lost, and gives it to the source that the configuration names for it: to the key that
    /// this source holds now, or to a new one. Keys of other sources do not open it any more; recovery keys do. Durable when it returns.
    ///
    /// The database must prove that this recovery key was added to it. A planted database is refused, even if it names the key.
    ///
    /// The database also gets a new data key, which seals all later writes. ``rotateDataKey(of:progress:)`` seals the existing values with it, too. Check
    /// ``keyRecipients(of:)`` afterwards: an older file may still list recovery keys that were removed later.
    ///
    /// What else the lost key sealed stays sealed: call this for every database of the source. Single values that were sealed with the lost key are lost.
    /// - Parameters:
    ///   - domain: An encrypted database, or a keychain that is kept in a sealed vault.
    ///   - key: The recovery key.
    /// - Throws: ``StorageError``: `encryptionKeyMismatch` when the database was not sealed for this recovery key, `corrupted` when it names the key and was not made for it,
    ///   `unavailable` when there is no database. Nothing was
    ///   changed then.
    @concurrent
    public nonisolated func recover(_ domain: StorageDomain, with key: RecoveryKey) async throws {
        try await Self.cancellable("\(domain)") {
            let store = try recipientStore(domain)
            try await translatingErrors(key: "\(domain)") { () throws(BackendError) in try await store.takeOver(from: .recovery(key.pair)) }
        }
    }

    /// Gives an encrypted database to the source that the configuration names for it now, after it had another one. The other source's key is needed once more; it does not
    /// open the database afterwards. Recovery keys stay. No row is written anew. Durable when it returns.
    /// - Parameters:
    ///   - domain: An encrypted database, or a keychain that is kept in a sealed vault.
    ///   - old: The source that opens the database now.
    /// - Throws: ``StorageError``: `encryptionKeyMismatch` and others for the old key, and for the new one. Nothing was changed then.
    @concurrent
    public nonisolated func changeKeySource(of domain: StorageDomain, from old: KeySourceReference) async throws {
        try await Self.cancellable("\(domain)") {
            let store = try recipientStore(domain)
            let source = try keySource(old)
            try await translatingErrors(key: "\(domain)") { () throws(BackendError) in try await store.takeOver(from: .source(source)) }
        }
    }

    private nonisolated func recipientStore(_ domain: StorageDomain) throws -> any RecipientStore {
        try store(of: domain, otherwise: "Only an encrypted database has data keys of its own.")
    }
}

/// Somebody who can open an encrypted database.
public struct KeyRecipient: Hashable, Sendable, CustomStringConvertible {
    let bytes: [UInt8]
    /// Where the key is kept, without folders: "key file main", "keyring item sealing-key"; "recovery key" for one that is kept outside the machine.
    public let source: String
    /// Whether it is a recovery key.
    public let isRecoveryKey: Bool

    init(_ recipient: KeyTables.Recipient) {
        bytes = recipient.id
        source = recipient.source
        isRecoveryKey = recipient.source == RecoveryRecipient.source
    }

    /// The key's id in hexadecimal. It says nothing about the key.
    public var id: String { hexadecimalText(of: bytes) }

    /// The source and the id.
    public var description: String { "\(source) \(id)" }
}

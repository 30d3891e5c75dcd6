package import BackendContract

/// A store or file that a backup copies while programs use it.
package protocol BackupStore: Sendable {
    /// The path of the store's lock file. A backup holds this lock while it copies. Nil for a file that has no lock,
    /// because every change replaces the whole file.
    var backupLock: String? { get }

    /// The path of a second lock file, beside the store. It also excludes programs whose first lock file is in
    /// another folder. Nil if the store has none.
    var neighborLock: String? { get }

    /// Captures the current state of the store. The caller holds the lock.
    /// - Parameter deadline: The time at which the call gives up.
    /// - Returns: Nil if the store does not exist.
    /// - Throws: ``BackendError`` with `locked`, `unavailable`, `corrupted` or another code if the store cannot be
    ///   copied.
    func copyForBackup(deadline: MonotonicInstant) async throws(BackendError) -> (any BackupCopy)?
}

extension BackupStore {
    package var neighborLock: String? { nil }
}

/// One captured state of a store. Later changes of the store do not affect it. Calls must not overlap.
package protocol BackupCopy: Sendable {
    /// Returns the next part of the content; nil after the last part. A part has at most ``BackupPart/maximum``
    /// bytes.
    func nextPart() async throws(BackendError) -> [UInt8]?

    /// Returns whether the store has changed since its state was captured.
    func hasChanged() async throws(BackendError) -> Bool

    /// Returns whether the store certainly still has the captured state. For a database, this means that no commit
    /// followed, while ``hasChanged()`` compares only the status of the files. No part may be read after this call.
    func isPresent() async throws(BackendError) -> Bool

    /// Returns whether the store is damaged. In that case, the copy contains the unchanged bytes of the damaged file.
    /// Call this after the last part.
    func isDamaged() async -> Bool

    /// Ends the use of the captured state and frees its resources.
    func close() async
}

extension BackupCopy {
    package func isPresent() async throws(BackendError) -> Bool { try await !hasChanged() }

    /// Returns false: the default for a store whose copy never contains a damaged file.
    package func isDamaged() async -> Bool { false }
}

/// The sizes of the parts into which a store's content is divided.
package enum BackupPart {
    /// The maximum number of bytes of a part. It is larger than the largest row of a database and the largest item of
    /// a keyring.
    package static let maximum = 32 << 20
    /// The number of bytes of each part of a file, except the last part.
    package static let size = 64 << 10
}

/// Receives the parts of a store's content, in order, during a restore. Calls must not overlap.
package protocol RestoreDraft: Sendable {
    /// Receives the next part.
    func take(_ part: [UInt8]) async throws(BackendError)

    /// Ends the content, which is durable when the call returns.
    func finish() async throws(BackendError)
}

/// One item (stored value) of a keyring, with its stored bytes.
package struct BackupItem: Hashable, Sendable {
    /// The name of the item's namespace; empty for ``StorageNamespace/values``.
    package var namespace: String
    /// The name of the slot, the location of the value.
    package var name: String
    /// The stored bytes.
    package var content: [UInt8]

    /// Creates an item.
    package init(namespace: String, name: String, content: [UInt8]) {
        (self.namespace, self.name, self.content) = (namespace, name, content)
    }

    /// The item as one part of a backup: namespace, name and content, each with a length prefix.
    package var part: [UInt8] {
        var writer = ByteWriter()
        writer.bytes.reserveCapacity(12 + namespace.utf8.count + name.utf8.count + content.count)
        writer.counted(namespace.utf8)
        writer.counted(name.utf8)
        writer.counted(content)
        return writer.bytes
    }

    /// Decodes ``part``.
    package init(part: [UInt8]) throws(RecordDamage) {
        var reader = ByteReader(part[...])
        namespace = try reader.text()
        name = try reader.text()
        content = try reader.counted()
        guard reader.isAtEnd else { throw RecordDamage("has bytes after its end") }
    }
}

/// A store of secrets whose items are restored one by one, with exactly the bytes that were stored.
package protocol BackupItemStore: BackupStore {
    /// The service of items that were moved to another namespace. It differs from the store's service if the items have
    /// the format of another program.
    var keptService: String { get }

    /// Returns all items of the store.
    func items(deadline: MonotonicInstant) async throws(BackendError) -> [BackupItem]

    /// Returns the name of the key that encrypts an item's value in addition to the keyring. Nil if the value has no
    /// such encryption.
    func sealing(of item: BackupItem) -> String?

    /// Writes an item to its slot, as durably as the store can. Does nothing if the slot already has the item's
    /// content. The caller holds the lock.
    /// - Parameter kept: If the slot holds an item with other content, that item is first moved to this namespace.
    func restore(_ item: BackupItem, keeping kept: String, deadline: MonotonicInstant) async throws(BackendError)

    /// Moves an item to another namespace. The caller holds the lock.
    func move(_ item: BackupItem, to kept: String, deadline: MonotonicInstant) async throws(BackendError)
}

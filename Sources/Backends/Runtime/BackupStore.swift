package import BackendContract

/// A store or file that a backup copies while programs use it.
package protocol BackupStore: Sendable {
    /// The path of the store's lock file, which a backup holds while it copies. Nil for a file without a lock that is
    /// always replaced as a whole.
    var backupLock: String? { get }

    /// The path of a second lock file, beside the store. Programs that use another lock folder take it too. Nil if
    /// the store has none.
    var neighborLock: String? { get }

    /// Captures the current state of the store. The caller holds the lock.
    /// - Parameter deadline: The time at which the call gives up.
    /// - Returns: Nil if the store does not exist.
    /// - Throws: ``BackendError`` with `locked`, `unavailable`, `corrupted` or another code. The store cannot be
    ///   copied then.
    func copyForBackup(deadline: MonotonicInstant) async throws(BackendError) -> (any BackupCopy)?
}

extension BackupStore {
    package var neighborLock: String? { nil }
}

/// One captured state of a store. It stays the same while the store changes. Calls must not overlap.
package protocol BackupCopy: Sendable {
    /// Returns the next part of the content; nil after the last part. A part has at most ``BackupPart/maximum``
    /// bytes.
    func nextPart() async throws(BackendError) -> [UInt8]?

    /// Returns whether the store has changed since its state was captured.
    func hasChanged() async throws(BackendError) -> Bool

    /// Returns whether the store still has exactly the captured state, up to the last commit. No part may be read
    /// afterwards.
    func isPresent() async throws(BackendError) -> Bool

    /// Returns whether the store is damaged, so that its file is copied unchanged. Call this after the last part.
    func isDamaged() async -> Bool

    /// Releases the captured state.
    func close() async
}

extension BackupCopy {
    package func isPresent() async throws(BackendError) -> Bool { try await !hasChanged() }

    /// Returns false: the default for a store that is always copied unchanged.
    package func isDamaged() async -> Bool { false }
}

/// The sizes of the parts into which a store's content is divided.
package enum BackupPart {
    /// The maximum number of bytes of a part. It is larger than the largest row of a database and the largest item of
    /// a keyring.
    package static let maximum = 32 << 20
    /// The number of bytes of a part of a file.
    package static let size = 64 << 10
}

/// Receives the parts of a store's content, in order, during a restore. Calls must not overlap.
package protocol RestoreDraft: Sendable {
    /// Receives the next part.
    func take(_ part: [UInt8]) async throws(BackendError)

    /// Finishes the content. It is durable when this returns.
    func finish() async throws(BackendError)
}

/// An item of a store of secrets, with the bytes that are stored.
package struct BackupItem: Hashable, Sendable {
    /// The namespace; empty for the namespace of values.
    package var namespace: String
    /// The name of the slot.
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
    /// Returns all items of the store.
    func items(deadline: MonotonicInstant) async throws(BackendError) -> [BackupItem]

    /// Returns the name of the key that sealed an item's value; nil if the value is not sealed.
    func sealing(of item: BackupItem) -> String?

    /// Writes an item to its slot, with the durability of the store. Does nothing if the slot already has this
    /// content. The caller holds the lock.
    /// - Parameter kept: The namespace to which a different item of the slot is moved first.
    func restore(_ item: BackupItem, keeping kept: String, deadline: MonotonicInstant) async throws(BackendError)

    /// Moves an item to another namespace. The caller holds the lock.
    func move(_ item: BackupItem, to kept: String, deadline: MonotonicInstant) async throws(BackendError)
}

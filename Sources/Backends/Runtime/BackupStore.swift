package import BackendContract

/// A store, or a file, that a backup copies while programs use it.
package protocol BackupStore: Sendable {
    /// The path of the store's lock file, which a backup holds while it copies; nil for files that are replaced whole, without a lock.
    var backupLock: String? { get }

    /// The path of the lock file beside the store, which programs with another folder of locks take too; nil where there is none.
    var neighborLock: String? { get }

    /// Holds on to the present state. Called while the lock is held.
    /// - Parameter deadline: When to give up.
    /// - Returns: Nil where there is nothing.
    /// - Throws: ``BackendError``: `locked`, `unavailable`, `corrupted` and others; then there is no backup.
    func copyForBackup(deadline: MonotonicInstant) async throws(BackendError) -> (any BackupCopy)?
}

extension BackupStore {
    package var neighborLock: String? { nil }
}

/// One state of a store, which stays the same while the store changes. Called by one caller at a time.
package protocol BackupCopy: Sendable {
    /// The next part of the content; nil after the last one. A part has at most ``BackupPart/maximum`` bytes.
    func nextPart() async throws(BackendError) -> [UInt8]?

    /// Whether the store is another one by now than it was when it was copied.
    func hasChanged() async throws(BackendError) -> Bool

    /// Whether the store still is as it was copied, to the last change. Nothing is read from the copy afterwards.
    func isPresent() async throws(BackendError) -> Bool

    /// Whether the store is damaged, so that its file is copied as it is: known after the last part.
    func isDamaged() async -> Bool

    /// Lets go of the state.
    func close() async
}

extension BackupCopy {
    package func isPresent() async throws(BackendError) -> Bool { try await !hasChanged() }

    /// No: a store that is copied as it is in any case.
    package func isDamaged() async -> Bool { false }
}

/// The parts that a store's content is divided into.
package enum BackupPart {
    /// The most bytes that a part has: more than the largest row of a database, and the largest item of a keyring.
    package static let maximum = 32 << 20
    /// The bytes of a part of a file.
    package static let size = 64 << 10
}

/// Takes the parts of a store's content, in order. Called by one caller at a time.
package protocol RestoreDraft: Sendable {
    /// Takes the next part.
    func take(_ part: [UInt8]) async throws(BackendError)

    /// Ends the content; what was made of it is durable when this returns.
    func finish() async throws(BackendError)
}

/// An entry of a store of secrets, as it is stored.
package struct BackupItem: Hashable, Sendable {
    /// The namespace; empty for that of values.
    package var namespace: String
    /// The slot's name.
    package var name: String
    /// The stored bytes.
    package var content: [UInt8]

    /// Creates an entry.
    package init(namespace: String, name: String, content: [UInt8]) {
        (self.namespace, self.name, self.content) = (namespace, name, content)
    }

    /// Counted namespace, counted name, counted content.
    package var part: [UInt8] {
        var writer = ByteWriter()
        writer.bytes.reserveCapacity(12 + namespace.utf8.count + name.utf8.count + content.count)
        writer.counted(namespace.utf8)
        writer.counted(name.utf8)
        writer.counted(content)
        return writer.bytes
    }

    /// Reads ``part``.
    package init(part: [UInt8]) throws(RecordDamage) {
        var reader = ByteReader(part[...])
        namespace = try reader.text()
        name = try reader.text()
        content = try reader.counted()
        guard reader.isAtEnd else { throw RecordDamage("has bytes after its end") }
    }
}

/// A store of secrets whose entries are restored one by one, exactly as they were stored.
package protocol BackupItemStore: BackupStore {
    /// Everything that the store holds.
    func items(deadline: MonotonicInstant) async throws(BackendError) -> [BackupItem]

    /// What sealed an entry that a key of the program sealed; nil for any other.
    func sealing(of item: BackupItem) -> String?

    /// Puts an entry in its place, durably as far as the store is. An entry that is there already stays. Called while the lock is held.
    /// - Parameter kept: The namespace for another entry that is there; it is put there first.
    func restore(_ item: BackupItem, keeping kept: String, deadline: MonotonicInstant) async throws(BackendError)

    /// Moves an entry into another namespace. Called while the lock is held.
    func move(_ item: BackupItem, to kept: String, deadline: MonotonicInstant) async throws(BackendError)
}

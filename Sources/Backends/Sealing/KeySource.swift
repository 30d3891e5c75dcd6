package import BackendContract

/// Where a sealing key is kept.
///
/// A source returns the keys that it holds, stores a first one and replaces them. ``SealingKeys`` decides when a new key may be made.
package protocol KeySource: Sendable {
    /// The source, in words that hold no secret: "key file /etc/…", "keyring of com.example".
    var identifier: String { get }

    /// The source's short name, which is written beside what its key sealed: it contains no folder, so that it stays the same when folders
    /// move.
    var pin: String { get }

    /// How well a value is protected that is sealed with this source's key.
    var protection: ProtectionLevel { get }

    /// Whether the key is derived, or asked for from a person: such a source takes its own time, and no deadline of a store counts.
    var takesItsTime: Bool { get }

    /// The keys, or nil when it is proven that there is none. It ends when its task is cancelled, because other callers wait for it.
    /// - Throws: ``BackendError``: `locked`, `unavailable`, `accessDenied`, `untrusted`, `encryptionKeyMismatch` for something that is no key.
    func load() async throws(BackendError) -> SourceKeys?

    /// Stores first keys, durably, unless another process has stored some before.
    /// - Returns: The keys that the source holds now: the given ones, or the other process's.
    /// - Throws: ``BackendError``.
    func create(_ keys: SourceKeys) async throws(BackendError) -> SourceKeys

    /// Stores other keys in place of those that it holds, durably and in one step: killed at any point, it holds the ones or the others.
    /// - Parameters:
    ///   - old: What it holds; compared once more.
    ///   - new: What it is to hold.
    /// - Throws: ``BackendError``: `conflict` when it holds something else by then, `unsupported` where a program cannot change it; with the
    ///   outcome `unknown` when it may hold the new ones.
    func replace(_ old: SourceKeys, with new: SourceKeys) async throws(BackendError)

    /// Whether the source holds a key, now. Never opens a prompt.
    /// - Throws: ``BackendError``, as ``load()``, where that cannot be told.
    func holds(_ key: KeyIdentity) async throws(BackendError) -> Bool

    /// How long a key that is in memory seals before the source is asked again whether it holds it; nil for as long as it is in memory.
    var trust: Duration? { get }

    /// Makes durable the key that another process may just have made. Called before anything durable is sealed with it.
    /// - Throws: ``BackendError``.
    func synchronize() async throws(BackendError)

    /// Unlocks the store that holds the key, with a prompt if one is needed and possible. A source that cannot be locked does nothing.
    /// - Throws: ``BackendError``, as ``LockableBackend/unlock()``.
    func unlock() async throws(BackendError)

    /// Whether the store that holds the key is known to be locked now. Never opens a prompt.
    func isLocked() async -> Bool
}

extension KeySource {
    /// No: the key is read from somewhere that answers before the caller's deadline.
    package var takesItsTime: Bool { false }

    /// The error of a change to a source whose keys another process has replaced.
    var replacedMeanwhile: BackendError {
        BackendError(.conflict, "Another process replaced the key in \(identifier) meanwhile. Try again; nothing was changed.")
    }

    /// Refuses: a program cannot change the source.
    /// - Throws: ``BackendError`` with `unsupported`.
    package func replace(_ old: SourceKeys, with new: SourceKeys) async throws(BackendError) {
        throw BackendError(.unsupported, "A program cannot change what \(identifier) holds. Nothing was changed.")
    }

    /// Whether ``load()`` returns it.
    package func holds(_ key: KeyIdentity) async throws(BackendError) -> Bool { try await load()?.contains(key) ?? false }

    /// A second.
    package var trust: Duration? { .seconds(1) }

    /// Does nothing: no key is made here.
    package func synchronize() async throws(BackendError) {}

    /// Does nothing: there is no lock.
    package func unlock() async throws(BackendError) {}

    /// False: there is no lock.
    package func isLocked() async -> Bool { false }
}

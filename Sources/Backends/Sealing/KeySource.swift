package import BackendContract

/// Where a sealing key is kept.
///
/// A source returns the key that it holds and stores a first one. ``SealingKeys`` decides when a new key may be made.
package protocol KeySource: Sendable {
    /// The source, in words that hold no secret: "key file /etc/…", "keyring of com.example".
    var identifier: String { get }

    /// The source's short name, which is written beside what its key sealed: it contains no folder, so that it stays the same when folders
    /// move.
    var pin: String { get }

    /// How well a value is protected that is sealed with this source's key.
    var protection: ProtectionLevel { get }

    /// The key, or nil when it is proven that there is none. It ends when its task is cancelled, because other callers wait for it.
    /// - Throws: ``BackendError``: `locked`, `unavailable`, `accessDenied`, `untrusted`, `encryptionKeyMismatch` for something that is no key.
    func load() async throws(BackendError) -> SealingKey?

    /// Stores a first key, durably, unless another process has stored one before.
    /// - Returns: The key that the source holds now: the given one, or the other process's.
    /// - Throws: ``BackendError``.
    func create(_ key: SealingKey) async throws(BackendError) -> SealingKey

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
    /// Does nothing: no key is made here.
    package func synchronize() async throws(BackendError) {}

    /// Does nothing: there is no lock.
    package func unlock() async throws(BackendError) {}

    /// False: there is no lock.
    package func isLocked() async -> Bool { false }
}

package import BackendContract

/// Where a sealing key is kept.
///
/// A source only says what it holds and takes a first key; when a new key may be made at all is decided by ``SealingKeys``.
package protocol KeySource: Sendable {
    /// The source, in words that hold no secret: "key file /etc/…", "keyring of com.example".
    var identifier: String { get }

    /// The source's short name, which is written beside what its key sealed: it holds no folder, so that it stays the same when folders move.
    var pin: String { get }

    /// How well a value is protected that is sealed with this source's key.
    var protection: ProtectionLevel { get }

    /// The key, or nil when it is proven that there is none. It ends when its task is cancelled: whoever else wants the key waits for it.
    /// - Throws: ``BackendError``: `locked`, `unavailable`, `accessDenied`, `encryptionKeyMismatch` for something that is no key.
    func load() async throws(BackendError) -> SealingKey?

    /// Keeps a first key, durably, unless another process was quicker.
    /// - Returns: The key that the source holds now: the given one, or the other process's.
    /// - Throws: ``BackendError``.
    func create(_ key: SealingKey) async throws(BackendError) -> SealingKey

    /// Makes sure that the key is there to stay which another process has made, perhaps just now. Called before anything is sealed with it that outlives a power cut.
    /// - Throws: ``BackendError``.
    func synchronize() async throws(BackendError)

    /// Unlocks the store that holds the key, with a prompt if one is needed and possible. A source that cannot be locked does nothing.
    /// - Throws: ``BackendError``, as ``LockableBackend/unlock()``.
    func unlock() async throws(BackendError)
}

extension KeySource {
    /// Does nothing: nobody makes a key here.
    package func synchronize() async throws(BackendError) {}

    /// Does nothing: there is no lock.
    package func unlock() async throws(BackendError) {}
}

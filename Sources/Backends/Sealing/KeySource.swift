package import BackendContract

/// A location that holds sealing keys, such as a key file or an item in the keyring.
///
/// A source returns its keys, stores a first key, and replaces its keys. ``SealingKeys`` decides when a new key may be
/// created.
package protocol KeySource: Sendable {
    /// The name of the source for messages, without secrets: "key file /etc/…", "keyring of com.example".
    var identifier: String { get }

    /// The short name of the source, which is stored with the data that its key sealed. It contains no folder, so that
    /// it stays the same when folders move.
    var pin: String { get }

    /// The protection level of a value that is sealed with a key of this source.
    var protection: ProtectionLevel { get }

    /// Whether the source derives its key or asks the user for a secret. The time that such a source takes does not
    /// count towards the deadline of a store.
    var takesItsTime: Bool { get }

    /// Returns the keys; nil only if it is proven that the source has none. The call must end when its task is
    /// cancelled, because other callers wait for its result.
    /// - Throws: ``BackendError``: `locked`, `unavailable`, `accessDenied`, `untrusted`, `encryptionKeyMismatch` if the
    ///   content is not a key.
    func load() async throws(BackendError) -> SourceKeys?

    /// Stores the first keys, durably, unless another process has stored keys before.
    /// - Returns: The keys that the source holds after the call: the given keys, or those of the other process.
    /// - Throws: ``BackendError``.
    func create(_ keys: SourceKeys) async throws(BackendError) -> SourceKeys

    /// Replaces the keys, durably and atomically. If the process is killed, the source holds either the old keys or the
    /// new ones.
    /// - Parameters:
    ///   - old: The expected keys. They are compared again immediately before the replacement.
    ///   - new: The new keys.
    /// - Throws: ``BackendError``: `conflict` if the source holds other keys; `unsupported` if a program cannot change
    ///   the source; an error with the outcome `unknown` if the source may hold the new keys.
    func replace(_ old: SourceKeys, with new: SourceKeys) async throws(BackendError)

    /// Returns whether the source holds the given key now. Never opens a prompt.
    /// - Throws: ``BackendError``, like ``load()``, if the answer cannot be determined.
    func holds(_ key: KeyIdentity) async throws(BackendError) -> Bool

    /// How long a loaded key may be used to seal data before ``holds(_:)`` is called again, to find out whether the
    /// source still holds the key; nil if it is not called again while the key is in memory.
    var trust: Duration? { get }

    /// Makes the keys of the source durable. Called before durable data is sealed with a key: another process may have
    /// created that key a moment ago, and a power cut could still destroy it.
    /// - Throws: ``BackendError``.
    func synchronize() async throws(BackendError)

    /// Unlocks the store that holds the key, and opens a prompt if one is needed and possible. A source without a lock
    /// does nothing.
    /// - Throws: ``BackendError``, like ``LockableBackend/unlock()``.
    func unlock() async throws(BackendError)

    /// Returns whether the store that holds the key is definitely locked now. Never opens a prompt.
    func isLocked() async -> Bool
}

extension KeySource {
    /// By default false: the source answers before the caller's deadline.
    package var takesItsTime: Bool { false }

    /// The error that ``replace(_:with:)`` throws if another process has replaced the keys.
    var replacedMeanwhile: BackendError {
        BackendError(.conflict, "Another process replaced the key in \(identifier) since it was read. Try again; nothing was changed.")
    }

    /// By default always throws, for a source that a program cannot change.
    /// - Throws: ``BackendError`` with `unsupported`.
    package func replace(_ old: SourceKeys, with new: SourceKeys) async throws(BackendError) {
        throw BackendError(.unsupported, "A program cannot change what \(identifier) holds. Nothing was changed.")
    }

    /// Returns whether the keys that ``load()`` returns contain the given key.
    package func holds(_ key: KeyIdentity) async throws(BackendError) -> Bool { try await load()?.contains(key) ?? false }

    /// By default one second.
    package var trust: Duration? { .seconds(1) }

    /// By default does nothing, for a source that creates no keys.
    package func synchronize() async throws(BackendError) {}

    /// By default does nothing, for a source without a lock.
    package func unlock() async throws(BackendError) {}

    /// By default returns false, for a source without a lock.
    package func isLocked() async -> Bool { false }
}

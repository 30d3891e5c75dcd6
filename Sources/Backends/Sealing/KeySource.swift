public import BackendContract

/// Where a sealing key is kept.
///
/// A source only says what it holds and takes a first key; when a new key may be made at all is decided by ``SealingKeys``.
public protocol KeySource: Sendable {
    /// The source, in words that hold no secret: "key file /etc/…", "keyring of com.example".
    var identifier: String { get }

    /// A short name that is written beside sealed data and stays the same when folders move: "key file sealing-key".
    var pin: String { get }

    /// How well a value is protected that is sealed with this source's key.
    var protection: ProtectionLevel { get }

    /// The key, or nil when it is proven that there is none.
    /// - Throws: ``BackendError``: `locked`, `unavailable`, `accessDenied`, `encryptionKeyMismatch` for something that is no key.
    func load() async throws(BackendError) -> SealingKey?

    /// Keeps a first key, durably, unless another process was quicker.
    /// - Returns: The key that the source holds now: the given one, or the other process's.
    /// - Throws: ``BackendError``.
    func create(_ key: SealingKey) async throws(BackendError) -> SealingKey

    /// Unlocks the place where the key is kept, opening a prompt if one is needed and possible.
    /// - Throws: ``BackendError``.
    func unlock() async throws(BackendError)
}

extension KeySource {
    /// Nothing to unlock.
    public func unlock() async throws(BackendError) {}
}

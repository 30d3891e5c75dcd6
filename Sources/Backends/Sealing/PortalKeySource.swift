package import BackendContract
internal import BackendRuntime
internal import Crypto

/// A source of a sealing key that is derived from a secret of the desktop portal. The portal gives the secret to a
/// sandboxed application (Flatpak, Snap).
///
/// The portal creates the secret when it is first asked, and never reports that it had none. If it loses the secret, it
/// returns another one, which results in another key. If a key is recorded or sealed data exists, ``SealingKeys``
/// refuses this other key with `encryptionKeyMismatch`, instead of accepting it as a first key.
///
/// The key is HKDF-SHA256 (RFC 5869) of the secret without a salt, with the info `LocalData portal key 1 <name>`.
package struct PortalKeySource: KeySource {
    /// Requests the secret from the portal and passes it to a closure.
    /// - Parameter waits: Whether the call may wait for the user.
    package typealias Retrieval =
        @Sendable (
            _ waits: Bool, _ use: @escaping @Sendable (UnsafeRawBufferPointer) -> SealingKey
        ) async throws(BackendError) -> SealingKey

    private let name: String
    private let retrieve: Retrieval

    /// The name of the source for messages.
    package var identifier: String { "portal key \(name)" }
    /// The short name of the source: `portal` and the key's name.
    package var pin: String { "portal \(name)" }
    /// `keychain`, because a portal stores the secret in the user's keyring or a similar store.
    package var protection: ProtectionLevel { .keychain }

    /// Creates a source for a key. The portal is not asked yet.
    /// - Parameters:
    ///   - name: The name that distinguishes the keys of one application.
    ///   - retrieve: Requests the secret from the portal.
    /// - Throws: ``BackendError`` with `invalidName`.
    package init(name: String, retrieve: @escaping Retrieval) throws(BackendError) {
        guard !name.isEmpty, name.utf8.count <= 200, name.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw BackendError(.invalidName, "The name of a portal's key has 1 to 200 bytes without control characters.")
        }
        (self.name, self.retrieve) = (name, retrieve)
    }

    /// Requests the secret and derives the key. Never returns nil.
    /// - Throws: ``BackendError``: `unavailable` if there is no portal, `promptDismissed`, `accessDenied`, `timedOut`,
    ///   `cancelled`, `failed`.
    package func load() async throws(BackendError) -> SourceKeys? { SourceKeys(only: try await key(waiting: false)) }

    /// Returns the derived key and ignores the given keys. Nothing is stored, because the portal's secret determines
    /// the key.
    package func create(_ keys: SourceKeys) async throws(BackendError) -> SourceKeys { SourceKeys(only: try await key(waiting: false)) }

    /// Always throws: the portal's secret determines the key.
    /// - Throws: ``BackendError`` with `unsupported`. Its message says how to change the key.
    package func replace(_ old: SourceKeys, with new: SourceKeys) async throws(BackendError) {
        throw BackendError(
            .unsupported,
            "A program cannot change the \(identifier). Use another name in secretPortal, and give the databases to it with changeKeySource. Nothing was changed."
        )
    }

    /// Nil, because each request may open a prompt: while the key is in memory, the portal is asked again only before a
    /// database is created.
    /// Reason: "A portal is asked once, and its response is checked" in Docs/Decisions/Keyring.md.
    package var trust: Duration? { nil }

    /// Requests the secret and waits for the user, who may have to enter the password of the keyring.
    package func unlock() async throws(BackendError) { _ = try await key(waiting: true) }

    private func key(waiting: Bool) async throws(BackendError) -> SealingKey {
        try await retrieve(waiting) { [name] in Self.key(from: $0, name) }
    }

    /// Derives the key with a name from the portal's secret.
    static func key(from secret: UnsafeRawBufferPointer, _ name: String) -> SealingKey {
        SealingKey(key: KeyDerivation.key(from: SymmetricKey(data: secret), for: "LocalData portal key 1 \(name)".utf8))
    }
}

extension PortalKeySource: CustomStringConvertible {
    /// The name of the type and the name of the key.
    package var description: String { "PortalKeySource(\(name))" }
}

package import BackendContract
internal import BackendRuntime
internal import Crypto

/// A key that is derived from the secret which a portal gives to an application in a sandbox (Flatpak, Snap).
///
/// The portal makes the secret when it is first asked, and never says that it had none: another secret, after the portal's own was lost, is
/// another key. It is refused as the wrong one where a key is recorded or something is sealed (``SealingKeys``), and never counts as a first one.
///
/// The key is HKDF-SHA256 (RFC 5869) of the secret without a salt, with the info `LocalData portal key 1 <name>`.
package struct PortalKeySource: KeySource {
    /// Asks the portal for the secret, and lends it to a closure.
    /// - Parameter waits: Whether a person may be waited for.
    package typealias Retrieval =
        @Sendable (
            _ waits: Bool, _ use: @escaping @Sendable (UnsafeRawBufferPointer) -> SealingKey
        ) async throws(BackendError) -> SealingKey

    private let name: String
    private let retrieve: Retrieval

    /// The name, in words.
    package var identifier: String { "portal key \(name)" }
    /// The key's name.
    package var pin: String { "portal \(name)" }
    /// `keyring`: portals keep the secret in the person's keyring, or the like.
    package var protection: ProtectionLevel { .keychain }

    /// Names the key; nothing is asked for yet.
    /// - Parameters:
    ///   - name: What tells the keys of one application apart.
    ///   - retrieve: Asks the portal.
    /// - Throws: ``BackendError`` with `invalidName`.
    package init(name: String, retrieve: @escaping Retrieval) throws(BackendError) {
        guard !name.isEmpty, name.utf8.count <= 200, name.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw BackendError(.invalidName, "The name of a portal's key has 1 to 200 bytes without control characters.")
        }
        (self.name, self.retrieve) = (name, retrieve)
    }

    /// Derives the key from the portal's secret; never nil.
    /// - Throws: ``BackendError``: `unavailable` without a portal, `promptDismissed`, `accessDenied`, `timedOut`, `cancelled`, `failed`.
    package func load() async throws(BackendError) -> SourceKeys? { SourceKeys(only: try await key(waiting: false)) }

    /// Stores nothing: the source holds its own key.
    package func create(_ keys: SourceKeys) async throws(BackendError) -> SourceKeys { SourceKeys(only: try await key(waiting: false)) }

    /// Always throws: the key is the portal's.
    /// - Throws: ``BackendError`` with `unsupported`, and what to do.
    package func replace(_ old: SourceKeys, with new: SourceKeys) async throws(BackendError) {
        throw BackendError(
            .unsupported,
            "A program cannot change the \(identifier). Use another name in secretPortal, and give the databases to it with changeKeySource. Nothing was changed."
        )
    }

    /// Nil: the portal may open a prompt, so it is asked again only before a database is made.
    package var trust: Duration? { nil }

    /// Asks the portal, and waits for the person who may be asked for the password of the keyring.
    package func unlock() async throws(BackendError) { _ = try await key(waiting: true) }

    private func key(waiting: Bool) async throws(BackendError) -> SealingKey {
        try await retrieve(waiting) { [name] in Self.key(from: $0, name) }
    }

    /// The key of a name.
    static func key(from secret: UnsafeRawBufferPointer, _ name: String) -> SealingKey {
        SealingKey(key: KeyDerivation.key(from: SymmetricKey(data: secret), for: "LocalData portal key 1 \(name)".utf8))
    }
}

extension PortalKeySource: CustomStringConvertible {
    /// What the key is called.
    package var description: String { "PortalKeySource(\(name))" }
}

package import BackendContract
package import Sealing

/// The library's description of one kind of domain: its backend, the backend's capabilities, and the scopes that the
/// backend accepts.
///
/// For a new backend, add a folder with its provider beside the others, and one line to
/// ``Wiring/providers``. A backend of another product adds its provider to ``StorageConfiguration/providers``.
package protocol BackendProvider: Sendable {
    /// The kind of domain that the backend serves.
    var kind: StorageDomain.Kind { get }

    /// The capabilities of the backend. A store that replaces the backend claims the same capabilities. It is a store
    /// in memory, or it refuses every access in a build without the backend.
    var claims: BackendCapabilities { get }

    /// Throws for a scope that the backend cannot use. A scope is also checked if its store is in memory.
    func validate(_ scope: String) throws(BackendError)

    /// Returns the protection of a scope, if it depends on the configuration; nil if ``claims`` contains it.
    func protection(of scope: String, _ parts: StoreParts) throws -> ProtectionLevel?

    /// Creates the backend of a scope, and opens nothing.
    func make(_ scope: String, _ parts: StoreParts) throws -> any StorageBackend

    /// Returns the databases of the backend whose data keys are encrypted with keys of a source, each with the ids of
    /// these keys. Databases that this run has not used are included.
    func keyedStores(
        of source: any KeySource, _ configuration: StorageConfiguration
    ) async throws(BackendError) -> [StorageDomain: Set<[UInt8]>]

    /// Returns the applications that the stores of the backend name as their owners.
    func applications(_ configuration: StorageConfiguration) async throws -> Set<String>

    /// Returns a warning for the operator about the stores of this configuration on this machine; nil if there is none.
    func warning(_ configuration: StorageConfiguration) -> String?

    /// Returns a provider that does not use the keyring of the session, apart from the domain `.keychain`. A golden store
    /// replaces that domain.
    func withoutSessionKeyring() -> any BackendProvider

    /// Returns the key source that a reference names; nil if the backend keeps no keys of this form.
    func keySource(_ reference: KeySourceReference, _ wiring: Wiring) throws -> (any KeySource)?
}

extension BackendProvider {
    /// Accepts every scope.
    func validate(_ scope: String) throws(BackendError) {}

    /// Returns nil: ``claims`` contains the protection.
    func protection(of scope: String, _ parts: StoreParts) throws -> ProtectionLevel? { nil }

    /// Returns no databases, because by default a backend does not encrypt its stores.
    package func keyedStores(
        of source: any KeySource, _ configuration: StorageConfiguration
    ) async throws(BackendError) -> [StorageDomain: Set<[UInt8]>] { [:] }

    /// Returns no applications, because by default a store does not record its owner.
    package func applications(_ configuration: StorageConfiguration) async throws -> Set<String> { [] }

    /// Returns no warning.
    package func warning(_ configuration: StorageConfiguration) -> String? { nil }

    /// Returns the same provider, because by default a backend does not use the keyring.
    package func withoutSessionKeyring() -> any BackendProvider { self }

    /// Returns nil, because by default a backend keeps no keys.
    package func keySource(_ reference: KeySourceReference, _ wiring: Wiring) throws -> (any KeySource)? { nil }
}

/// The values that a provider needs to create stores. They are passed to each call; a store keeps only those that it
/// needs.
package struct StoreParts {
    package let configuration: StorageConfiguration
    package let keys: SealingKeys
    let stores: any StoreProvider
    /// Returns the ids of all keys of a source with which data in any store of this program is sealed. A store may keep
    /// this closure, because the closure holds no store.
    package let sealedIDs: @Sendable (any KeySource) async throws(BackendError) -> Set<[UInt8]>

    /// Returns the freshness anchor of an encrypted database, or of the vault (a database that replaces a keyring) of a
    /// service. The anchor records the database's latest state outside of its file. Nil if there is none.
    let freshnessAnchor: (_ database: StorageDomain) throws -> (any FreshnessAnchor)?

    /// Returns the key source that a reference names.
    package func keySource(_ reference: KeySourceReference) throws -> any KeySource { try stores.keySource(reference) }
}

extension StorageConfiguration {
    /// Returns the folders of this configuration, which must store data on a disk.
    /// - Throws: ``StorageError`` with `unavailable` when the configuration has no folders.
    package func requiredDirectories() throws -> StorageDirectories {
        guard let directories = try directories else {
            throw StorageError(StorageError.unavailable, key: "", "The configuration has no directories.")
        }
        return directories
    }
}

import BackendContract
import Sealing

/// The library's description of one kind of domain: its backend, the backend's capabilities, and the scopes that it accepts.
///
/// A new backend adds a folder with its provider beside the others, and one line to ``Wiring/providers``.
protocol BackendProvider: Sendable {
    /// The kind of domain that the backend serves.
    var kind: StorageDomain.Kind { get }

    /// The capabilities of the backend. A store that replaces it claims the same ones. Such a store is in memory, or belongs to a
    /// build without this backend.
    var claims: BackendCapabilities { get }

    /// Throws for a scope that the backend cannot use. It is called for stores in memory too.
    func validate(_ scope: String) throws(BackendError)

    /// The protection of a scope if the configuration determines it; nil if ``claims`` contains the protection.
    func protection(of scope: String, _ parts: StoreParts) throws -> ProtectionLevel?

    /// Creates the backend of a scope, and opens nothing.
    func make(_ scope: String, _ parts: StoreParts) throws -> any StorageBackend

    /// The databases of the backend whose data keys are encrypted with keys of a source, each with the ids of these
    /// keys. Databases that this run has not used are included.
    func keyedStores(
        of source: any KeySource, _ configuration: StorageConfiguration
    ) async throws(BackendError) -> [StorageDomain: Set<[UInt8]>]

    /// The applications that are named as owners in the stores of the backend.
    func applications(_ configuration: StorageConfiguration) async throws -> Set<String>

    /// A warning for the operator about the stores of this configuration on this machine; nil if there is none.
    func warning(_ configuration: StorageConfiguration) -> String?

    /// The key source of a reference; nil if the backend keeps no keys of this form.
    func keySource(_ reference: KeySourceReference, _ wiring: Wiring) throws -> (any KeySource)?
}

extension BackendProvider {
    /// Accepts every scope.
    func validate(_ scope: String) throws(BackendError) {}

    /// Returns nil: ``claims`` contains the protection.
    func protection(of scope: String, _ parts: StoreParts) throws -> ProtectionLevel? { nil }

    /// Returns no databases, because by default a backend does not encrypt its stores.
    func keyedStores(
        of source: any KeySource, _ configuration: StorageConfiguration
    ) async throws(BackendError) -> [StorageDomain: Set<[UInt8]>] { [:] }

    /// Returns no applications, because by default a store does not record its owner.
    func applications(_ configuration: StorageConfiguration) async throws -> Set<String> { [] }

    /// Returns no warning.
    func warning(_ configuration: StorageConfiguration) -> String? { nil }

    /// Returns nil, because by default a backend keeps no keys.
    func keySource(_ reference: KeySourceReference, _ wiring: Wiring) throws -> (any KeySource)? { nil }
}

/// The parts that a provider needs to create stores. They are passed to each call; a store keeps only the parts that it
/// needs.
struct StoreParts {
    let configuration: StorageConfiguration
    let keys: SealingKeys
    let stores: any StoreProvider
    /// Returns the ids of those keys of a source that sealed data of this program, in any store. A store may keep this
    /// closure, because the closure holds no store.
    let sealedIDs: @Sendable (any KeySource) async throws(BackendError) -> Set<[UInt8]>

    /// The freshness anchor of a database, or of the vault of a service; nil if it has none.
    let freshnessAnchor: (_ database: StorageDomain) throws -> (any FreshnessAnchor)?

    /// The key source of a reference.
    func keySource(_ reference: KeySourceReference) throws -> any KeySource { try stores.keySource(reference) }
}

extension StorageConfiguration {
    /// The folders of a configuration that stores data on a disk.
    /// - Throws: ``StorageError`` with `unavailable` when it has none.
    package func requiredDirectories() throws -> StorageDirectories {
        guard let directories = try directories else {
            throw StorageError(StorageError.unavailable, key: "", "The configuration has no directories.")
        }
        return directories
    }
}

import BackendContract
import Sealing

/// What the library knows of one kind of domain: the backend that serves it, what that backend claims, and which scopes it takes.
///
/// A new backend adds a folder with its provider beside the others, and one line to ``Wiring/providers``.
protocol BackendProvider: Sendable {
    /// The kind of domain that the backend serves.
    var kind: StorageDomain.Kind { get }

    /// What the backend claims. A store that stands in for it claims the same: one in memory, or the one of a build without this backend.
    var claims: BackendCapabilities { get }

    /// Refuses a scope that the backend cannot use. Asked for stores in memory too.
    func validate(_ scope: String) throws(BackendError)

    /// The protection of a scope where the configuration decides it; nil where ``claims`` says it.
    func protection(of scope: String, _ parts: StoreParts) throws -> ProtectionLevel?

    /// Makes the backend of a scope, and opens nothing.
    func make(_ scope: String, _ parts: StoreParts) throws -> any StorageBackend

    /// The ids of the keys of a source that sealed something in any store of the backend, used in this run or not.
    func sealedIDs(of source: any KeySource, _ configuration: StorageConfiguration) async throws(BackendError) -> Set<[UInt8]>
}

extension BackendProvider {
    /// Takes every scope.
    func validate(_ scope: String) throws(BackendError) {}

    /// Leaves it to ``claims``.
    func protection(of scope: String, _ parts: StoreParts) throws -> ProtectionLevel? { nil }

    /// None: the backend does not seal.
    func sealedIDs(of source: any KeySource, _ configuration: StorageConfiguration) async throws(BackendError) -> Set<[UInt8]> { [] }
}

/// What a provider makes stores with. It is passed to each call; a store keeps only what it needs.
struct StoreParts {
    let configuration: StorageConfiguration
    let keys: SealingKeys
    let stores: any StoreProvider
    /// The ids of the keys of a source that sealed something of this program's, in any store. A store may keep this closure: it holds no store.
    let sealedIDs: @Sendable (any KeySource) async throws(BackendError) -> Set<[UInt8]>

    /// The freshness anchor of a database, or of the vault of a service; nil where it has none.
    let freshnessAnchor: (_ database: StorageDomain) throws -> (any FreshnessAnchor)?

    /// The source that a reference names.
    func keySource(_ reference: KeySourceReference) throws -> any KeySource { try stores.keySource(reference) }
}

extension StorageConfiguration {
    /// The folders of a configuration that keeps something on a disk.
    /// - Throws: ``StorageError`` with `unavailable` when it has none.
    func requiredDirectories() throws -> StorageDirectories {
        guard let directories = try directories else {
            throw StorageError(StorageError.unavailable, key: "", "The configuration has no directories.")
        }
        return directories
    }
}

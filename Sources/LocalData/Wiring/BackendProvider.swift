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

    /// The stores of the backend that keys of a source open, used in this run or not, and the ids of these keys.
    func keyedStores(
        of source: any KeySource, _ configuration: StorageConfiguration
    ) async throws(BackendError) -> [StorageDomain: Set<[UInt8]>]

    /// The applications that the stores of the backend say they belong to.
    func applications(_ configuration: StorageConfiguration) async throws -> Set<String>

    /// A warning for the operator about the stores of this configuration on this machine; nil if there is none.
    func warning(_ configuration: StorageConfiguration) -> String?

    /// The source that a reference names, if the backend keeps keys of this form; nil for any other.
    func keySource(_ reference: KeySourceReference, _ wiring: Wiring) throws -> (any KeySource)?
}

extension BackendProvider {
    /// Takes every scope.
    func validate(_ scope: String) throws(BackendError) {}

    /// Leaves it to ``claims``.
    func protection(of scope: String, _ parts: StoreParts) throws -> ProtectionLevel? { nil }

    /// None: the backend does not seal.
    func keyedStores(
        of source: any KeySource, _ configuration: StorageConfiguration
    ) async throws(BackendError) -> [StorageDomain: Set<[UInt8]>] { [:] }

    /// None: the stores do not say.
    func applications(_ configuration: StorageConfiguration) async throws -> Set<String> { [] }

    /// None.
    func warning(_ configuration: StorageConfiguration) -> String? { nil }

    /// None: the backend keeps no keys.
    func keySource(_ reference: KeySourceReference, _ wiring: Wiring) throws -> (any KeySource)? { nil }
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
    package func requiredDirectories() throws -> StorageDirectories {
        guard let directories = try directories else {
            throw StorageError(StorageError.unavailable, key: "", "The configuration has no directories.")
        }
        return directories
    }
}

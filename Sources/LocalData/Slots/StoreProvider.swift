import BackendContract
import Sealing

/// What places are made of: the stores of domains and the sources of sealing keys.
protocol StoreProvider: Sendable {
    /// The scope that a domain means when it names none.
    func defaultScope(of kind: StorageDomain.Kind) -> String

    /// The store of one scope of a kind of domain, made now; opens nothing.
    func makeBackend(_ kind: StorageDomain.Kind, _ scope: String) throws -> any StorageBackend

    /// The source of sealing keys that a reference names.
    func keySource(_ reference: KeySourceReference) throws -> any KeySource
}

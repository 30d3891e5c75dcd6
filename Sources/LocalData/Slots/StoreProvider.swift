import BackendContract
import Sealing

/// Provides the objects from which routes are made: the stores of domains and the sources of sealing keys.
protocol StoreProvider: AnyObject, Sendable {
    /// Returns the scope of a domain that names none.
    func defaultScope(of kind: StorageDomain.Kind) -> String

    /// Creates the store for one scope of a kind of domain. Opens nothing.
    func makeBackend(_ kind: StorageDomain.Kind, _ scope: String) throws -> any StorageBackend

    /// Returns the source of sealing keys that a reference names.
    func keySource(_ reference: KeySourceReference) throws -> any KeySource

    /// Remembers the slot of a registered key, or of one of its legacy locations. Before a first sealing key is created, such
    /// slots are searched for sealed data.
    func noteSealed(_ route: Route) throws

    /// Closes the stores that no route leads to.
    func close() async
}

import BackendContract
import Sealing

/// What places are made of: the stores of domains and the sources of sealing keys.
protocol StoreProvider: AnyObject, Sendable {
    /// The scope that a domain means when it names none.
    func defaultScope(of kind: StorageDomain.Kind) -> String

    /// The store of one scope of a kind of domain, made now; opens nothing.
    func makeBackend(_ kind: StorageDomain.Kind, _ scope: String) throws -> any StorageBackend

    /// The source of sealing keys that a reference names.
    func keySource(_ reference: KeySourceReference) throws -> any KeySource

    /// Remembers where a registered key leads, or a legacy location of one: what is sealed there counts when a first sealing key is made.
    func noteSealed(_ route: Route) throws

    /// Closes what no route leads to.
    func close() async
}

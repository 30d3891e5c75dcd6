import BackendContract
import Sealing
import Synchronization

/// Provides the stores and key sources of a rehearsal. Each store reads a store of the program, and keeps changes in memory. A rehearsal
/// creates no store, file or key of the program, and closes nothing.
final class RehearsedStores: StoreProvider {
    private let routes: RouteTable
    private let stores: any StoreProvider
    private let keys: SealingKeys
    private let changes = Mutex<[BackendIdentity: RehearsedChanges]>([:])
    private let keySources = Mutex<[String: RehearsedKeySource]>([:])

    /// Creates the provider of one rehearsal.
    /// - Parameters:
    ///   - routes: The routes of the program, which lead to its stores.
    ///   - stores: The provider of the program's stores and key sources.
    ///   - keys: The sealing keys that the program has already fetched.
    init(over routes: RouteTable, _ stores: any StoreProvider, _ keys: SealingKeys) {
        (self.routes, self.stores, self.keys) = (routes, stores, keys)
    }

    func defaultScope(of kind: StorageDomain.Kind) -> String { stores.defaultScope(of: kind) }

    func makeBackend(_ kind: StorageDomain.Kind, _ scope: String) throws -> any StorageBackend {
        rehearse(try routes.anyBackend(for: StorageDomain(kind: kind, scope: scope), key: "\(kind)").1)
    }

    /// Returns a rehearsal of a store. All rehearsals of one physical store share their changes.
    func rehearse(_ backend: any StorageBackend) -> any StorageBackend {
        RehearsalStore(over: backend, changes.value(at: backend.identity) { RehearsedChanges() })
    }

    func keySource(_ reference: KeySourceReference) throws -> any KeySource {
        let source = try stores.keySource(reference)
        return keySources.value(at: source.identifier) { RehearsedKeySource(over: source, keys) }
    }

    func noteSealed(_ route: Route) throws {
        guard let rehearsal = route.backend as? RehearsalStore else { return try stores.noteSealed(route) }
        try stores.noteSealed(route.leading(to: rehearsal.base))
    }

    func close() async {}
}

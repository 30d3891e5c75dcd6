import BackendContract
import Sealing
import Synchronization

/// The stores of a rehearsal: each reads a store of the program and keeps changes in memory. No store, file or key is made, and nothing is closed.
final class RehearsedStores: StoreProvider {
    private let routes: RouteTable
    private let stores: any StoreProvider
    private let keys: SealingKeys
    private let changes = Mutex<[BackendIdentity: RehearsedChanges]>([:])
    private let keySources = Mutex<[String: RehearsedKeySource]>([:])

    /// - Parameters:
    ///   - routes: The program's own routes.
    ///   - stores: What they are made of.
    ///   - keys: The sealing keys that were fetched already.
    init(over routes: RouteTable, _ stores: any StoreProvider, _ keys: SealingKeys) {
        (self.routes, self.stores, self.keys) = (routes, stores, keys)
    }

    func defaultScope(of kind: StorageDomain.Kind) -> String { stores.defaultScope(of: kind) }

    func makeBackend(_ kind: StorageDomain.Kind, _ scope: String) throws -> any StorageBackend {
        rehearse(try routes.anyBackend(for: StorageDomain(kind: kind, scope: scope), key: "\(kind)").1)
    }

    /// A store over another one. All that stand for one physical store share their changes.
    func rehearse(_ backend: any StorageBackend) -> any StorageBackend {
        let changes = changes.withLock { changes in
            let known = changes[backend.identity] ?? RehearsedChanges()
            changes[backend.identity] = known
            return known
        }
        return RehearsalStore(over: backend, changes)
    }

    func keySource(_ reference: KeySourceReference) throws -> any KeySource {
        let source = try stores.keySource(reference)
        return keySources.withLock { sources in
            let known = sources[source.identifier] ?? RehearsedKeySource(over: source, keys)
            sources[source.identifier] = known
            return known
        }
    }

    func noteSealed(_ route: Route) throws {
        guard let rehearsal = route.backend as? RehearsalStore else { return try stores.noteSealed(route) }
        try stores.noteSealed(route.leading(to: rehearsal.base))
    }

    func close() async {}
}

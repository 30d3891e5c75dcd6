import BackendContract
import Foundation
import Sealing
import Synchronization

/// Resolves keys to places. Backends are made when first needed and kept; making one opens nothing.
final class RouteTable: Sendable {
    private let configuration: StorageConfiguration
    private let wiring: Wiring
    private let backends = Mutex<[StorageDomain: any StorageBackend]>([:])
    private let isRegistered = Mutex<(@Sendable (PhysicalSlot) -> Bool)?>(nil)
    private let makeContext = Mutex<(@Sendable (MigrationContext.Reason, String?) throws -> MigrationContext)?>(nil)

    init(configuration: StorageConfiguration, wiring: Wiring) {
        self.configuration = configuration
        self.wiring = wiring
    }

    /// Closes the circle to the router, which is made after its parts.
    func connect(
        isRegistered: @escaping @Sendable (PhysicalSlot) -> Bool,
        makeContext: @escaping @Sendable (MigrationContext.Reason, String?) throws -> MigrationContext
    ) {
        self.isRegistered.withLock { $0 = isRegistered }
        self.makeContext.withLock { $0 = makeContext }
    }

    func context(_ reason: MigrationContext.Reason, previousVersion: String?) throws -> MigrationContext {
        guard let make = makeContext.withLock(\.self) else {
            throw StorageError(StorageError.unavailable, key: "", "The router was shut down.")
        }
        return try make(reason, previousVersion)
    }

    /// Where a key leads.
    /// - Throws: ``StorageError`` when the key's domain has no backend, or its name cannot be used.
    func route<Value>(for key: StorageKey<Value>) throws -> Route {
        if let problem = key.evolutionProblem { throw Self.refusal(of: problem, key.entity) }
        return try route(StorageAddress(key.name, in: key.namespace), domain: key.domain, security: key.security)
    }

    func route(for key: AnyStorageKey) throws -> Route {
        func open<Key: TypedKey>(_ key: Key) throws -> Route { try route(for: key.typed) }
        return try open(key.base)
    }

    private static func refusal(of problem: String, _ entity: String) -> StorageError {
        StorageError(
            StorageError.invalidEvolution, key: entity,
            "The chain of versions of \(entity) cannot be used: \(problem). Nothing was changed.")
    }

    /// The route of a key that a program uses by itself, as opposed to one that a migration reads.
    func entryRoute<Value>(for key: StorageKey<Value>) throws -> Route {
        let route = try route(for: key)
        if configuration.requiresRegistration, isRegistered.withLock(\.self)?(route.slot) == false {
            throw StorageError(
                StorageError.unregisteredKey, key: key.name,
                "The configuration only allows registered keys. Add the key to a catalog and register it.")
        }
        return route
    }

    private func route(_ address: StorageAddress, domain: StorageDomain, security: SecurityPolicy) throws -> Route {
        let name = address.name
        let (resolved, backend) = try backend(for: domain, key: name)
        do throws(BackendError) { try address.validate() } catch { throw StorageError.from(error, key: name) }
        var protection = backend.capabilities.protection
        if let source = security.keySource { protection = max(protection, try wiring.keySource(source).protection) }
        return Route(keyName: name, domain: resolved, backend: backend, address: address, security: security, protection: protection)
    }

    /// The backend of a domain, made if need be.
    func backend(for domain: StorageDomain, key: String) throws -> (StorageDomain, any StorageBackend) {
        let scope = domain.scope ?? configuration.defaultScope(of: domain.kind)
        let resolved = StorageDomain(kind: domain.kind, scope: scope)
        // Swift takes two spellings of one text for the same; a file system and a keyring do not. The first to be used would decide for both.
        guard scope.utf8.elementsEqual(scope.precomposedStringWithCanonicalMapping.utf8) else {
            throw StorageError(
                StorageError.invalidName, key: key,
                "The scope of \(domain.kind) is not in Unicode's normal form C. Give it as precomposedStringWithCanonicalMapping.")
        }
        if let backend = backends.withLock({ $0[resolved] }) { return (resolved, backend) }
        let made: any StorageBackend
        do { made = try wiring.makeBackend(resolved.kind, scope) } catch let error as StorageError {
            throw StorageError(error.code, key: key, error.message, outcome: error.outcome, underlying: error.underlying)
        } catch let error as BackendError { throw StorageError.from(error, key: key) } catch {
            throw StorageError(StorageError.unavailable, key: key, "The backend of \(resolved) could not be made.", underlying: error)
        }
        return backends.withLock { backends in
            if let backend = backends[resolved] { return (resolved, backend) }
            backends[resolved] = made
            return (resolved, made)
        }
    }

    /// The backends that were made so far.
    var opened: [any StorageBackend] { backends.withLock { Array($0.values) } }
}

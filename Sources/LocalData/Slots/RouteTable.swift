import BackendContract
import Foundation
import Sealing
import Synchronization

/// The number of tables that the process has made.
private let countOfTables = Atomic<UInt64>(0)

/// Resolves keys to slots. It makes each backend at its first use and keeps it. Making a backend opens no store.
final class RouteTable: Sendable {
    /// The number of the table, which no other table of the process has.
    let id = countOfTables.add(1, ordering: .relaxed).newValue
    private let stores: any StoreProvider
    private let judge: any SealVerifier
    let witnesses: PresenceRecords?
    /// The stores that the program has locked.
    let gate: LockGate
    private let backends = Mutex<[StorageDomain: any StorageBackend]>([:])
    /// The cache of the routes of keys that were used before. A key with a cached route needs no check of its name.
    private let known = Mutex(Known())
    /// The sources of the keys that seal single values. Unlike routes, they are never dropped, because a backup needs the keys
    /// of all of them.
    private let usedSources = Mutex<Set<KeySourceReference>>([])
    /// The chains of versions that migration policies give to registered keys and collections, by slot. A policy is available
    /// only at the registration of a catalog, and the program creates its keys again wherever it uses them. Equal keys have the
    /// same slot.
    private let policyChains: Mutex<[PhysicalSlot: EvolutionChain]>
    /// Whether any key has a chain of a policy. Most programs have no policy, and skip the search for a chain.
    private let hasPolicies: Atomic<Bool>

    /// - Parameters:
    ///   - stores: Provides the backends and the sources of sealing keys.
    ///   - judge: Verifies the metadata of sealed values.
    ///   - witnesses: Remembers which keys with a witness have a value.
    init(stores: any StoreProvider, judge: any SealVerifier, witnesses: PresenceRecords? = nil) {
        (self.stores, self.judge, self.witnesses) = (stores, judge, witnesses)
        gate = LockGate()
        policyChains = Mutex([:])
        hasPolicies = Atomic(false)
    }

    /// Creates the table of a rehearsal, whose routes lead to the stores of the rehearsal. It begins with the chains of the given
    /// table. Chains that the rehearsal attaches do not change the given table.
    init(rehearsing routes: RouteTable, in stores: any StoreProvider, judge: any SealVerifier) {
        (self.stores, self.judge, witnesses) = (stores, judge, routes.witnesses?.rehearsed())
        gate = routes.gate
        let known = routes.policyChains.withLock(\.self)
        policyChains = Mutex(known)
        hasPolicies = Atomic(!known.isEmpty)
    }

    /// Returns the slot of a key. The first use of a key checks its name.
    /// - Parameter admits: Returns whether the key of a slot may be used; nil if every key may be used.
    /// - Throws: ``StorageError`` if the key's domain has no backend, its name or its chain of versions is invalid, or it is not
    ///   admitted.
    func slot<Value>(for key: StorageKey<Value>, if admits: ((PhysicalSlot) -> Bool)? = nil) throws -> Slot<Value> {
        let route = try route(for: key, if: admits)
        return Slot(key: mayHavePolicies ? attached(to: key, at: route.slot) : key, route: route)
    }

    /// The present moment for the values of a store; nil if its values are not remembered.
    func moment(of store: any ImmediateBackend) -> ReadMoment? {
        let locks = gate.locks
        guard !gate.isInUse, let version = store.immediateVersion() else { return nil }
        return ReadMoment(table: id, locks: locks, version: version)
    }

    /// Whether a migration policy may have given a chain to a key.
    var mayHavePolicies: Bool { hasPolicies.load(ordering: .acquiring) }

    /// Returns the route of a key. The first use of a key checks its name.
    /// - Parameter admits: Returns whether the key of a slot may be used; nil if every key may be used.
    /// - Throws: As ``slot(for:if:)``.
    func route<Value>(for key: StorageKey<Value>, if admits: ((PhysicalSlot) -> Bool)? = nil) throws -> Route {
        let route = try key.memory.route(table: id) { try knownRoute(for: key) }
        if let admits, !admits(route.slot) {
            throw StorageError(
                StorageError.unregisteredKey, key: key.name,
                "The configuration only allows registered keys. Add the key to a catalog and register it.")
        }
        return route
    }

    /// Returns the route of a key of any type.
    func route(for key: AnyStorageKey) throws -> Route {
        if let route = key.found as? Route, route.table == id { return route }
        let route = try knownRoute(for: key.base)
        key.found = route
        return route
    }

    @inline(__always) private func knownRoute(for key: some TypedKey) throws -> Route {
        if let problem = key.evolutionProblem { throw Self.unusable(problem, key.entity) }
        let lead = Lead(
            domain: key.domain, address: StorageAddress(key.name, in: key.namespace), security: key.security, isWitnessed: key.isWitnessed)
        return try known.withLock({ $0[lead] }) ?? route(of: lead)
    }

    private static func unusable(_ problem: String, _ entity: String) -> StorageError {
        StorageError(.invalidEvolution, key: entity, "The chain of versions of \(entity) cannot be used: \(problem). Nothing was changed.")
    }

    /// Makes the route of a key, and adds it to the cache.
    private func route(of lead: Lead) throws -> Route {
        let name = lead.address.name
        let (domain, backend) = try anyBackend(for: lead.domain, key: name)
        do throws(BackendError) { try lead.address.validate() } catch { throw StorageError.from(error, key: name) }
        var protection = backend.capabilities.protection
        if let source = lead.security.keySource {
            protection = max(protection, try stores.keySource(source).protection)
            _ = usedSources.withLock { $0.insert(source) }
        }
        let route = Route(
            keyName: name, domain: domain, backend: backend, slot: PhysicalSlot(store: backend.identity, address: lead.address),
            security: lead.security, protection: protection, judge: lead.security.keySource == nil ? nil : judge, gate: gate,
            witnesses: lead.isWitnessed ? witnesses : nil, table: id)
        known.withLock { $0[lead] = route }
        return route
    }

    /// A cache of routes. A program has few keys, but any number of records. The routes of records have a separate cache, so
    /// that they displace no route of a key.
    private struct Known {
        private var keys: [Lead: Route] = [:]
        private var records: [Lead: Route] = [:]

        private static let (maximumKeys, maximumRecords) = (65_536, 4_096)

        subscript(lead: Lead) -> Route? {
            get { lead.address.namespace == .values ? keys[lead] : records[lead] }
            set {
                let isKey = lead.address.namespace == .values
                if isKey, keys.count >= Self.maximumKeys { keys.removeAll(keepingCapacity: true) }
                if !isKey, records.count >= Self.maximumRecords { records.removeAll(keepingCapacity: true) }
                if isKey { keys[lead] = newValue } else { records[lead] = newValue }
            }
        }
    }

    /// The properties of a key that determine its route.
    private struct Lead: Hashable {
        let domain: StorageDomain
        let address: StorageAddress
        let security: SecurityPolicy
        let isWitnessed: Bool

        /// Compares scopes by their bytes. Swift considers canonically equivalent texts equal, but a file system and a keyring do not.
        static func == (left: Self, right: Self) -> Bool {
            left.address == right.address && left.domain.kind == right.domain.kind && left.security == right.security
                && left.isWitnessed == right.isWitnessed
                && (left.domain.scope == nil) == (right.domain.scope == nil)
                && (left.domain.scope ?? "").hasSameBytes(as: right.domain.scope ?? "")
        }

        /// Hashes only the address. Two keys with equal addresses rarely differ in the other properties.
        func hash(into hasher: inout Hasher) { hasher.combine(address) }
    }

    // MARK: Policies

    /// Attaches the chain of a migration policy to a registered key, or to the records of a collection. From then on, all
    /// slots of the key or collection have this chain.
    /// - Parameter chain: A chain without a ``EvolutionChain/problem``.
    func attach(_ chain: EvolutionChain, to entry: AnyStorageKey) throws {
        let slot = try route(for: entry).slot
        policyChains.withLock { $0[slot] = chain }
        hasPolicies.store(true, ordering: .releasing)
    }

    /// Returns a key with the chain of its slot, if the key declares the last version of that chain and no other chain.
    private func attached<Value>(to key: StorageKey<Value>, at slot: PhysicalSlot) -> StorageKey<Value> {
        guard key.evolution == nil, key.membership?.acceptsOtherTags != true,
            let chain = policyChains.withLock({ $0[slot.placeholder ?? slot] }), chain.version == key.schemaVersion
        else { return key }
        return key.evolving(checked: chain)
    }

    /// Returns an entry of a catalog, with the chain of its migration policy if there is one.
    func attached(_ entry: AnyStorageKey) throws -> AnyStorageKey {
        guard mayHavePolicies else { return entry }
        let slot = try slot(entry.base)
        return entry.base.evolution == nil && slot.key.evolution != nil ? entry.evolving(slot.key.evolution) : entry
    }

    // MARK: Slots and stores

    /// Returns the slot of a key of any type.
    func slot(_ key: some TypedKey) throws -> UntypedSlot { try slot(for: key.typed).untyped }

    /// Returns the backend of a domain, and makes it at its first use.
    /// - Throws: ``StorageError``, with `locked` if the program has locked the domain.
    func backend(for domain: StorageDomain, key: String) throws -> (StorageDomain, any StorageBackend) {
        let (resolved, backend) = try anyBackend(for: domain, key: key)
        if gate.refuses(backend.identity) { throw gate.refusal(key) }
        return (resolved, backend)
    }

    /// Returns the backend of a domain, even if the program has locked it. For callers that neither read nor change its content.
    func anyBackend(for domain: StorageDomain, key: String) throws -> (StorageDomain, any StorageBackend) {
        let scope = domain.scope ?? stores.defaultScope(of: domain.kind)
        let resolved = domain.scope == nil ? StorageDomain(kind: domain.kind, scope: scope) : domain
        // Swift considers canonically equivalent texts equal, but a file system and a keyring do not.
        if !scope.utf8.allSatisfy({ $0 < 0x80 }) { try Self.requireFormC(scope, domain.kind, key: key) }
        do {
            return (resolved, try backends.value(at: resolved) { try stores.makeBackend(resolved.kind, scope) })
        } catch let error as StorageError {
            throw StorageError(error.code, key: key, error.message, outcome: error.outcome, underlying: error.underlying)
        } catch let error as BackendError { throw StorageError.from(error, key: key) } catch {
            throw StorageError(StorageError.unavailable, key: key, "The backend of \(resolved) could not be made.", underlying: error)
        }
    }

    // Reason: "Names in property lists are in Unicode normal form C" in Docs/Decisions/Stores.md.
    private static func requireFormC(_ scope: String, _ kind: StorageDomain.Kind, key: String) throws {
        if scope.utf8.elementsEqual(scope.precomposedStringWithCanonicalMapping.utf8) { return }
        throw StorageError(
            StorageError.invalidName, key: key,
            "The scope of \(kind) is not in Unicode's normal form C. Give it as precomposedStringWithCanonicalMapping.")
    }

    /// The domains of all keys that were used or registered, including those whose routes were dropped from the cache.
    var usedDomains: Set<StorageDomain> { backends.withLock { Set($0.keys) } }

    /// The key sources of all single values that were used or registered.
    var usedKeySources: Set<KeySourceReference> { usedSources.withLock(\.self) }

    /// The backends that were made so far.
    var opened: [any StorageBackend] { backends.withLock { Array($0.values) } }
}

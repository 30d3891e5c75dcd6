import BackendContract

/// The route of a key: the backend and the slot, and the protection that a value has there.
///
/// This is a class, because every read passes it on several times. A copy of all its properties takes longer than finding the row.
final class Route: Sendable {
    let keyName: String
    let domain: StorageDomain
    let backend: any StorageBackend
    /// The backend, if it can answer some reads without waiting.
    let immediate: (any ImmediateBackend)?
    /// The slot, with the identity of its store. Two keys whose routes have equal slots share that slot.
    let slot: PhysicalSlot
    let security: SecurityPolicy
    /// The protection of the value: that of the store or that of the seal, whichever is stronger.
    let protection: ProtectionLevel
    /// Verifies the content of the slot by its seal; nil if the library does not seal values there.
    let judge: (any SealVerifier)?
    /// Whether the content of the slot needs neither a seal's verification nor a witness.
    let isPlain: Bool
    /// The gate of the program's locks. It refuses calls to locked stores.
    let gate: LockGate
    /// The witnesses: notes, outside the store, that a value exists. Nil if the key does not ask for them.
    let witnesses: PresenceRecords?
    /// The number of the table that found the route; 0 for a route that was derived from another one.
    let table: UInt64
    /// Whether a read ignores `witnesses`, so that a vanished value counts as absent.
    let overridesWitness: Bool

    init(
        keyName: String, domain: StorageDomain, backend: any StorageBackend, slot: PhysicalSlot, security: SecurityPolicy,
        protection: ProtectionLevel, judge: (any SealVerifier)? = nil, gate: LockGate, witnesses: PresenceRecords? = nil,
        table: UInt64 = 0
    ) {
        (self.keyName, self.domain, self.backend, self.slot) = (keyName, domain, backend, slot)
        (self.security, self.protection, self.judge, self.gate) = (security, protection, judge, gate)
        (self.witnesses, self.table, overridesWitness) = (witnesses, table, false)
        (immediate, isPlain) = (backend as? any ImmediateBackend, judge == nil && witnesses == nil)
    }

    init(_ route: Route, overridesWitness: Bool) {
        (keyName, domain, backend, slot) = (route.keyName, route.domain, route.backend, route.slot)
        (security, protection, judge, gate) = (route.security, route.protection, route.judge, route.gate)
        (witnesses, table, self.overridesWitness, immediate) = (route.witnesses, 0, overridesWitness, route.immediate)
        isPlain = route.isPlain
    }

    var address: StorageAddress { slot.address }
    var capabilities: BackendCapabilities { backend.capabilities }

    /// The location of the slot, in terms that do not change if directories move. Seals are bound to it, and origins name it.
    var place: Place { Place(kind: domain.kind.name, scope: domain.scope ?? "", address) }

    /// The location, in the form that reports use.
    var reported: StoragePlace { StoragePlace(domain, keyName) }

    /// The description of the location, for users.
    var displayName: String { reported.description }

    /// Returns this route with another backend for its store, such as the store that a rehearsal reads.
    func leading(to backend: any StorageBackend) -> Route {
        Route(
            keyName: keyName, domain: domain, backend: backend, slot: slot, security: security, protection: protection, judge: judge,
            gate: gate, witnesses: witnesses)
    }

    /// Returns the route of a slot in another namespace of the same store, with the same protection.
    /// - Parameter name: The name of the slot; nil for the name of this slot.
    func beside(in namespace: StorageNamespace, named name: String? = nil) -> Route {
        let slot = backend.slot(StorageAddress(name ?? address.name, in: namespace))
        return Route(
            keyName: keyName, domain: domain, backend: backend, slot: slot, security: security, protection: protection, judge: judge,
            gate: gate)
    }

    /// Whether the program has locked the store for the running call.
    var isLocked: Bool { gate.refuses(slot.store) }

    /// Reads the slot and verifies its seal. A store that is locked or unavailable is a probe, not an error. Content that does not match
    /// its seal is `corrupt`.
    func read(_ freshness: ReadFreshness = .validated) async throws -> StorageProbe { try await judged(try await look(freshness)) }

    /// Reads the slot and verifies its seal.
    /// - Throws: ``StorageError`` if the content of the slot is not known, because the store is locked or unavailable.
    func probe(_ freshness: ReadFreshness = .validated) async throws -> StorageProbe { try known(try await read(freshness)) }

    /// Returns a probe, if it has the content of the slot.
    /// - Throws: ``StorageError`` if it does not, because the store is locked or unavailable.
    func known(_ probe: StorageProbe) throws -> StorageProbe {
        switch probe {
        case .locked: throw lockedError
        case .unavailable(let error) where error.code == .locked && gate.isShutDown: throw lockedError
        case .unavailable(let error): throw StorageError.from(error, key: keyName)
        default: return probe
        }
    }

    /// Returns the error for a mutation that was not applied.
    func error(for result: MutationResult) -> any Error {
        switch result {
        case .locked: lockedError
        case .failed(let error) where error.code == .locked && gate.isShutDown: lockedError
        case .failed(let error): StorageError.from(error, key: keyName)
        case .conflict(.corrupt(let corruption)): corrupted(corruption)
        case .conflict(.locked): lockedError
        case .conflict(.unavailable(let error)): StorageError.from(error, key: keyName)
        case .conflict, .notAttempted, .applied:
            StorageError(.conflict, key: keyName, "Another process or task changed the value at the same time. Read it and try again.")
        }
    }

    /// The error for a slot of a store that is locked, or of a router that was shut down.
    private var lockedError: StorageError { gate.isShutDown ? .shutDown(keyName) : .locked(keyName, domain) }

    /// Returns the error for a slot whose bytes are not a record.
    func corrupted(_ corruption: StorageCorruption) -> StorageError {
        // Damaged bytes without a revision cannot be replaced: the whole store is damaged.
        let remedy =
            corruption.revision == nil && backend is any RecoverableBackend
            ? "Restore the store from a backup, or begin with an empty one: StorageRouter.setAsideDamagedStore(of:), or the command localdata damaged set-aside."
            : "Restore them from a backup, or set a new value."
        return StorageError(
            StorageError.corrupted, key: keyName, "The value in \(domain) is damaged (\(corruption.reason)). Its bytes are kept. \(remedy)")
    }

    /// Returns the error for an entry of a page whose bytes are not a record.
    func damaged(_ entry: StoragePage.Entry) -> StorageError {
        corrupted(entry.corruption ?? StorageCorruption(bytes: [], revision: nil, reason: "it is not a record"))
    }

    /// Reads several slots of one store, in the state that a new process would see, and verifies their seals.
    /// - Throws: ``StorageError`` if the content of a slot is not known, because the store is locked or unavailable.
    static func probes(_ routes: [Route]) async throws -> [StorageProbe] {
        try zip(routes, try await read(routes, .fresh)).map { try $0.known($1) }
    }

    /// Groups the indices of routes by their store. The groups are in the order of the routes, so that a repeated run of the simulation
    /// does the same.
    static func partsByStore(_ routes: [Route]) -> [[Int]] {
        Dictionary(grouping: routes.indices, by: { routes[$0].slot.store }).values.sorted { $0[0] < $1[0] }
    }

    /// Reads several slots of any stores, with one call for each store.
    /// - Throws: ``StorageError`` if the content of a slot is not known, because a store is locked or unavailable.
    static func probes(inAnyStore routes: [Route]) async throws -> [StorageProbe] {
        var found = [StorageProbe](repeating: .absent, count: routes.count)
        for part in partsByStore(routes) {
            for (index, probe) in zip(part, try await probes(part.map { routes[$0] })) { found[index] = probe }
        }
        return found
    }
}

extension StorageProbe {
    /// The precondition that a slot is unchanged since this probe.
    var unchanged: StorageMutation.Precondition { revision.map { .revision($0) } ?? .absent }

    /// Whether the slot certainly has no value.
    var isEmpty: Bool { if case .absent = self { true } else if case .tombstone = self { true } else { false } }

    /// The metadata of the value or tombstone; nil for anything else.
    var metadata: StorageMetadata? {
        switch self {
        case .value(let record): record.metadata
        case .tombstone(let tombstone): tombstone.metadata
        default: nil
        }
    }
}

import BackendContract

/// Where a key leads: the backend, the slot, and how well a value is protected there.
///
/// A class, since every read hands it on several times: a copy of all that it names takes longer than finding the row.
final class Route: Sendable {
    let keyName: String
    let domain: StorageDomain
    let backend: any StorageBackend
    /// The backend, if it can tell at once what a slot holds.
    let immediate: (any ImmediateBackend)?
    /// The slot, by the identity of its store: two keys that lead to equal ones share a slot.
    let slot: PhysicalSlot
    let security: SecurityPolicy
    /// The protection of the value: the store's own, or that of its seal, whichever is stronger.
    let protection: ProtectionLevel
    /// Says what may be believed of the slot; nil where the library seals nothing.
    let judge: (any SealVerifier)?
    /// Which stores the program has locked.
    let gate: LockGate
    /// Remembers that there is a value; nil where the key does not ask for it.
    let witnesses: PresenceRecords?
    /// Whether the caller does not want to know that a value has vanished.
    let overridesWitness: Bool

    init(
        keyName: String, domain: StorageDomain, backend: any StorageBackend, slot: PhysicalSlot, security: SecurityPolicy,
        protection: ProtectionLevel, judge: (any SealVerifier)? = nil, gate: LockGate, witnesses: PresenceRecords? = nil
    ) {
        (self.keyName, self.domain, self.backend, self.slot) = (keyName, domain, backend, slot)
        (self.security, self.protection, self.judge, self.gate) = (security, protection, judge, gate)
        (self.witnesses, overridesWitness) = (witnesses, false)
        immediate = backend as? any ImmediateBackend
    }

    init(_ route: Route, overridesWitness: Bool) {
        (keyName, domain, backend, slot) = (route.keyName, route.domain, route.backend, route.slot)
        (security, protection, judge, gate) = (route.security, route.protection, route.judge, route.gate)
        (witnesses, self.overridesWitness, immediate) = (route.witnesses, overridesWitness, route.immediate)
    }

    var address: StorageAddress { slot.address }
    var capabilities: BackendCapabilities { backend.capabilities }

    /// The place in terms that stay the same when directories move: what seals are bound to and origins name.
    var place: Place { Place(kind: domain.kind.name, scope: domain.scope ?? "", address) }

    /// The place as reports name it.
    var reported: StoragePlace { StoragePlace(domain, keyName) }

    /// The place in words, for people.
    var displayName: String { reported.description }

    /// The same place in another store that stands for its own.
    func leading(to backend: any StorageBackend) -> Route {
        Route(
            keyName: keyName, domain: domain, backend: backend, slot: slot, security: security, protection: protection, judge: judge,
            gate: gate, witnesses: witnesses)
    }

    /// A slot in another part of the same store, under the same protection.
    /// - Parameter name: The slot's name; the same as this one's when not given.
    func beside(in namespace: StorageNamespace, named name: String? = nil) -> Route {
        let slot = backend.slot(StorageAddress(name ?? address.name, in: namespace))
        return Route(
            keyName: keyName, domain: domain, backend: backend, slot: slot, security: security, protection: protection, judge: judge,
            gate: gate)
    }

    /// Whether the program has locked the store, for the running call.
    var isLocked: Bool { gate.refuses(slot.store) }

    /// Looks at the slot. Conditions of the store are probes, not errors; what a seal does not prove is `corrupt`.
    func read(_ freshness: ReadFreshness = .validated) async throws -> StorageProbe { try await judged(try await look(freshness)) }

    /// What the slot holds.
    /// - Throws: ``StorageError`` when that cannot be known: the store is locked or unavailable.
    func probe(_ freshness: ReadFreshness = .validated) async throws -> StorageProbe { try known(try await read(freshness)) }

    /// A probe that tells what the slot holds.
    /// - Throws: ``StorageError`` for one that does not: the store is locked or unavailable.
    func known(_ probe: StorageProbe) throws -> StorageProbe {
        switch probe {
        case .locked: throw lockedError
        case .unavailable(let error) where error.code == .locked && gate.isShutDown: throw lockedError
        case .unavailable(let error): throw StorageError.from(error, key: keyName)
        default: return probe
        }
    }

    /// The error for a mutation that was not made.
    func error(for result: MutationResult) -> any Error {
        switch result {
        case .locked: lockedError
        case .failed(let error) where error.code == .locked && gate.isShutDown: lockedError
        case .failed(let error): StorageError.from(error, key: keyName)
        case .conflict(.corrupt(let corruption)): corrupted(corruption)
        case .conflict(.locked): lockedError
        case .conflict(.unavailable(let error)): StorageError.from(error, key: keyName)
        case .conflict, .notAttempted, .applied:
            StorageError(
                StorageError.conflict, key: keyName, "Another process or task changed the value at the same time. Read it and try again.")
        }
    }

    /// The error for a slot of a store that is locked, or was closed for good.
    private var lockedError: StorageError { gate.isShutDown ? .shutDown(keyName) : .locked(keyName, domain) }

    /// The error for a slot whose bytes are not a record.
    func corrupted(_ corruption: StorageCorruption) -> StorageError {
        // A slot without a revision cannot be changed: the whole store is damaged.
        let remedy =
            corruption.revision == nil && backend is any RecoverableBackend
            ? "Restore the store from a backup, or begin with an empty one: StorageRouter.setAsideDamagedStore(of:), or the command localdata damaged set-aside."
            : "Restore them from a backup, or set a new value."
        return StorageError(
            StorageError.corrupted, key: keyName, "The value in \(domain) is damaged (\(corruption.reason)). Its bytes are kept. \(remedy)")
    }

    /// The error for an entry of a page whose bytes are not a record.
    func damaged(_ entry: StoragePage.Entry) -> StorageError {
        corrupted(entry.corruption ?? StorageCorruption(bytes: [], revision: nil, reason: "it is not a record"))
    }

    /// What several slots of one store hold, as a new process would see them.
    /// - Throws: ``StorageError`` when that cannot be known.
    static func probes(_ routes: [Route]) async throws -> [StorageProbe] {
        try zip(routes, try await read(routes, .fresh)).map { try $0.known($1) }
    }

    /// Which of some routes lead to one store, for each store: in the order of the routes, so that a run of the simulation is the same again.
    static func partsByStore(_ routes: [Route]) -> [[Int]] {
        Dictionary(grouping: routes.indices, by: { routes[$0].slot.store }).values.sorted { $0[0] < $1[0] }
    }

    /// What several slots hold, with one call for each store.
    /// - Throws: ``StorageError`` when that cannot be known.
    static func probes(inAnyStore routes: [Route]) async throws -> [StorageProbe] {
        var found = [StorageProbe](repeating: .absent, count: routes.count)
        for part in partsByStore(routes) {
            for (index, probe) in zip(part, try await probes(part.map { routes[$0] })) { found[index] = probe }
        }
        return found
    }
}

extension StorageProbe {
    /// The precondition that a slot is still as this probe saw it.
    var unchanged: StorageMutation.Precondition { revision.map { .revision($0) } ?? .absent }

    /// The metadata of the value or tombstone; nil for anything else.
    var metadata: StorageMetadata? {
        switch self {
        case .value(let record): record.metadata
        case .tombstone(let tombstone): tombstone.metadata
        default: nil
        }
    }
}

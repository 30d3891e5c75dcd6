public import BackendContract
package import BackendRuntime
import Synchronization

/// A wrapper around any backend, which fails in the ways that a test requests.
///
/// Use it to test a store that is locked, slow or full, that loses answers, or whose process is killed. ``TestMachine``
/// uses it for each of its stores.
///
/// ```swift
/// let faulty = FaultingBackend(InMemoryStore())
/// faulty.inject(.loseAnswer, at: 2, of: .apply)  // the second change from now is applied, but its call throws
/// _ = try await faulty.apply(.put(.bytes([1]), at: StorageAddress("a")))
/// await #expect(throws: BackendError.self) { try await faulty.apply(.put(.bytes([2]), at: StorageAddress("b"))) }
/// ```
///
/// Without faults, it behaves like the wrapped backend and fulfils the same contract.
public final class FaultingBackend: LockableBackend, ObservableBackend, RecoverableBackend, SalvageableBackend, ImmediateBackend {
    private struct Injection {
        let fault: StorageFault
        let kind: LoggedOperation.Kind?
        var countdown: Int
        let repeats: Bool
    }

    /// An operation that waits at a gate.
    private struct Wait {
        let gate: FaultGate
        let arrival: Int
    }

    private struct State {
        var injections: [Injection] = []
        var log: [LoggedOperation] = []
        var isLocked = false
        var isStopped = false
        var isOpen = false
        var unlockRefusal: BackendError?
        var unlocks = 0
        var waits: [Int: Wait] = [:]
        var waitsEver = 0

        var isUndisturbed: Bool { injections.isEmpty && !isLocked && !isStopped }
    }

    private let state = Mutex(State())
    private let base: any StorageBackend
    private let clock: any RuntimeClock

    /// Wraps a backend.
    /// - Parameter base: The backend that does the work.
    public convenience init(_ base: any StorageBackend) { self.init(base, clock: SystemClock()) }

    /// Wraps a backend.
    /// - Parameters:
    ///   - base: The backend that does the work.
    ///   - clock: The clock that measures the waits of ``StorageFault/delay(_:)``.
    package init(_ base: any StorageBackend, clock: any RuntimeClock) {
        self.base = base
        self.clock = clock
    }

    /// The identity of the wrapped backend's store.
    public var identity: BackendIdentity { base.identity }
    /// The capabilities of the wrapped backend.
    public var capabilities: BackendCapabilities { base.capabilities }

    /// Checks an address with the wrapped backend.
    /// - Throws: The error of the wrapped backend if it does not accept the address.
    public func validate(_ address: StorageAddress) throws(BackendError) { try base.validate(address) }

    /// Reads slots (locations of records) in the wrapped backend, unless a fault is injected.
    public func read(_ addresses: [StorageAddress], _ freshness: ReadFreshness) async throws(BackendError) -> [StorageProbe] {
        let incident = try await begin(.read, addresses.map(\.description))
        switch incident {
        case .locked: return addresses.map { _ in .locked }
        case .unavailable: return addresses.map { _ in .unavailable(Self.unreachable) }
        case .none, .loseAnswer, .tear: break
        }
        let probes = try await base.read(addresses, freshness)
        try loseAnswer(after: incident, outcome: .notApplied)
        return probes
    }

    /// Reads a slot without waiting, if the wrapped backend can. The call is logged as one `read`. Returns nil while a fault is pending.
    package func immediateProbe(of address: StorageAddress) -> StorageProbe? {
        guard let base = base as? any ImmediateBackend, state.withLock({ $0.isUndisturbed }), let probe = base.immediateProbe(of: address)
        else { return nil }
        return state.withLock { state in
            guard state.isUndisturbed else { return nil }
            state.isOpen = true
            state.log.append(LoggedOperation(number: state.log.count + 1, kind: .read, slots: [address.description], faults: []))
            return probe
        }
    }

    /// Returns the number of the wrapped backend's content. Nil while a fault is pending.
    package func immediateVersion() -> UInt64? {
        state.withLock(\.isUndisturbed) ? (base as? any ImmediateBackend)?.immediateVersion() : nil
    }

    /// Applies mutations in the wrapped backend, unless a fault is injected.
    public func apply(_ mutations: [StorageMutation]) async throws(BackendError) -> [MutationResult] {
        let incident = try await begin(.apply, mutations.map(\.outline))
        var made = mutations
        switch incident {
        case .locked: return mutations.map { _ in .locked }
        case .unavailable: return mutations.map { _ in .failed(Self.unreachable) }
        case .tear(let count): made = Array(mutations.prefix(count))
        case .none, .loseAnswer: break
        }
        let results = try await base.apply(made)
        try loseAnswer(after: incident, outcome: .unknown)
        return results
    }

    /// Lists the slots of a namespace in the wrapped backend, unless a fault is injected.
    public func addresses(in namespace: StorageNamespace) async throws(BackendError) -> [StorageAddress] {
        try await disturbed(.addresses, [namespace.description]) { () throws(BackendError) in try await base.addresses(in: namespace) }
    }

    /// Reads a page from the wrapped backend, unless a fault is injected. The call counts as one `read`.
    public func page(_ query: StorageQuery, after cursor: StorageCursor?, limit: Int) async throws(BackendError) -> StoragePage {
        try await disturbed(.read, [query.namespace.description]) { () throws(BackendError) in
            try await base.page(query, after: cursor, limit: limit)
        }
    }

    /// Counts records in the wrapped backend, unless a fault is injected. The call counts as one `read`.
    public func count(_ query: StorageQuery) async throws(BackendError) -> Int {
        try await disturbed(.read, [query.namespace.description]) { () throws(BackendError) in try await base.count(query) }
    }

    /// Lists slots and damaged records, unless a fault is injected. The call counts as one `addresses` operation.
    ///
    /// The list contains no damaged records if the wrapped backend is not a `SalvageableBackend`.
    public func listing(in namespace: StorageNamespace) async throws(BackendError) -> StorageListing {
        guard let salvageable = base as? any SalvageableBackend else {
            return StorageListing(try await addresses(in: namespace), damaged: [])
        }
        return try await disturbed(.addresses, [namespace.description]) { () throws(BackendError) in
            try await salvageable.listing(in: namespace)
        }
    }

    /// Reads a damaged record from the wrapped backend, unless a fault is injected. The call counts as one `read`.
    public func damage(at handle: DamageHandle) async throws(BackendError) -> StorageCorruption? {
        try await disturbed(.read, ["damage"]) { () throws(BackendError) in
            try await (base as? any SalvageableBackend)?.damage(at: handle)
        }
    }

    /// Deletes a damaged record in the wrapped backend, unless a fault is injected. The call counts as one `apply`.
    public func deleteDamage(at handle: DamageHandle) async throws(BackendError) -> Bool {
        try await disturbed(.apply, ["delete damage"]) { () throws(BackendError) in
            try await (base as? any SalvageableBackend)?.deleteDamage(at: handle) ?? false
        }
    }

    /// Makes all applied changes durable in the wrapped backend, unless a fault is injected.
    public func synchronize() async throws(BackendError) -> StorageDurability {
        try await disturbed(.synchronize, []) { () throws(BackendError) in try await base.synchronize() }
    }

    /// The status: unavailable if this backend was stopped, locked if it is locked, else that of the wrapped backend.
    ///
    /// The call is neither counted nor logged as an operation.
    public func status() async -> BackendStatus {
        let (isLocked, isStopped) = state.withLock { ($0.isLocked, $0.isStopped) }
        if isStopped { return .unavailable(Self.stopped(.notApplied)) }
        return isLocked ? .locked : await base.status()
    }

    /// Closes the wrapped backend. Does nothing if a test stopped this backend, because a killed process closes nothing.
    public func close() async { if !isStopped { await base.close() } }

    /// Unlocks this backend and the wrapped backend.
    /// - Throws: The error from ``refuseUnlock(with:)``, `unavailable` after a stop, or an error of the wrapped backend.
    public func unlock() async throws(BackendError) {
        let refusal = state.withLock { state in
            state.unlocks += 1
            return state.isStopped ? Self.stopped(.notApplied) : state.unlockRefusal
        }
        if let refusal { throw refusal }
        if let base = base as? any LockableBackend { try await base.unlock() }
        state.withLock { $0.isLocked = false }
    }

    /// Unlocks this backend, as if the user had unlocked the store in another program.
    ///
    /// ```swift
    /// faulty.open()  // as if the user had unlocked the store in another program
    /// ```
    public func open() { state.withLock { $0.isLocked = false } }

    /// The changes by other processes that the wrapped backend notices. The stream ends at once if the backend cannot notice any.
    public func foreignChanges() -> AsyncStream<Set<StorageAddress>?> {
        (base as? any ObservableBackend)?.foreignChanges() ?? AsyncStream { $0.finish() }
    }

    /// Lets the wrapped backend set its damaged store aside.
    /// - Throws: An error of the wrapped backend, `unsupported` if it is not a `RecoverableBackend`, or `unavailable` after a stop.
    public func setAsideDamagedStore() async throws(BackendError) -> String {
        if isStopped { throw Self.stopped(.notApplied) }
        guard let base = base as? any RecoverableBackend else {
            throw BackendError(.unsupported, "The backend \(identity) cannot set a damaged store aside.")
        }
        return try await base.setAsideDamagedStore()
    }
}

// MARK: Requests of a test

extension FaultingBackend {
    /// Injects a fault into a later operation. Several faults of one operation take effect in the order in which they were injected.
    ///
    /// ```swift
    /// faulty.inject(.fail(BackendError(.noSpace, "The disk is full.")), of: .apply, repeats: true)
    /// faulty.inject(.delay(.seconds(1)), at: 3, of: .read)  // only the third read
    /// ```
    /// - Parameters:
    ///   - fault: The fault.
    ///   - number: Which operation fails, counted from this call; 1 is the next one.
    ///   - kind: The kind of operation to count; nil counts all kinds.
    ///   - repeats: Whether the fault also affects every later operation of that kind.
    public func inject(_ fault: StorageFault, at number: Int = 1, of kind: LoggedOperation.Kind? = nil, repeats: Bool = false) {
        state.withLock { $0.injections.append(Injection(fault: fault, kind: kind, countdown: number, repeats: repeats)) }
    }

    /// Removes all pending faults. A locked store stays locked, and a stopped one stays stopped.
    ///
    /// ```swift
    /// faulty.removeFaults()
    /// ```
    public func removeFaults() { state.withLock { $0.injections = [] } }

    /// Locks the store until ``unlock()`` or ``open()``.
    ///
    /// ```swift
    /// faulty.lock()
    /// #expect(try await faulty.read(StorageAddress("a")) == .locked)
    /// ```
    public func lock() { state.withLock { $0.isLocked = true } }

    /// Makes ``unlock()`` fail from now on, as if the user declined the prompt; nil makes it succeed again.
    ///
    /// ```swift
    /// faulty.refuseUnlock(with: BackendError(.promptDismissed, "The user declined."))
    /// await #expect(throws: BackendError.self) { try await faulty.unlock() }
    /// ```
    public func refuseUnlock(with error: BackendError?) { state.withLock { $0.unlockRefusal = error } }

    /// Simulates the death of the process: no later operation reaches the store, and waiting operations fail at once.
    func stop() {
        let waits = state.withLock { state in
            state.isStopped = true
            return Array(state.waits.values)
        }
        for wait in waits { wait.gate.endWait(of: wait.arrival) }
    }

    /// Whether a test or a fault has stopped this backend, so that operations no longer reach the store.
    public var isStopped: Bool { state.withLock { $0.isStopped } }

    /// How often ``unlock()`` was called.
    public var unlockCount: Int { state.withLock { $0.unlocks } }

    /// Whether at least one operation has reached the store.
    var isOpen: Bool { state.withLock { $0.isOpen } }

    /// All operations so far, in the order in which they were called.
    ///
    /// ```swift
    /// for operation in faulty.log where !operation.faults.isEmpty { print(operation) }  // "2 apply put b (loseAnswer)"
    /// ```
    public var log: [LoggedOperation] { state.withLock { $0.log } }
}

// MARK: Faults

extension FaultingBackend {
    /// The fault that still applies to an operation after its gates and delays; `none` if no fault applies.
    private enum Incident {
        case none, locked, unavailable, loseAnswer
        case tear(after: Int)
    }

    private static let unreachable = BackendError(.unavailable, "The store cannot be reached: a test made it unavailable.")

    private static func stopped(_ outcome: MutationOutcome) -> BackendError {
        BackendError(.unavailable, "The process has stopped here: a test stopped it.", outcome: outcome)
    }

    /// Starts an operation: counts and logs it, waits if a fault says so, and returns the remaining fault.
    /// - Throws: The error of a `fail` fault, `cancelled`, or `unavailable` after a stop.
    private func begin(_ kind: LoggedOperation.Kind, _ slots: [String]) async throws(BackendError) -> Incident {
        let faults = state.withLock { state in
            var faults: [StorageFault] = []
            for index in state.injections.indices where state.injections[index].kind == nil || state.injections[index].kind == kind {
                state.injections[index].countdown -= 1
                let injection = state.injections[index]
                if injection.countdown == 0 || injection.countdown < 0 && injection.repeats { faults.append(injection.fault) }
            }
            state.injections.removeAll { $0.countdown <= 0 && !$0.repeats }
            state.log.append(LoggedOperation(number: state.log.count + 1, kind: kind, slots: slots, faults: faults.map(\.name)))
            return faults
        }
        let unknown = Self.outcomeUnanswered(kind)
        var incident = Incident.none
        var stopsAfterwards = false
        for fault in faults {
            switch fault {
            case .hold(let gate): try await wait(at: gate, unknown)
            case .delay(let duration): try await wait(duration, unknown)
            case .fail(let error): throw error
            case .locked: incident = .locked
            case .unavailable: incident = .unavailable
            case .loseAnswer: incident = .loseAnswer
            case .tear(let count): incident = .tear(after: count)
            case .stop: stop()
            case .stopAfterwards: stopsAfterwards = true
            }
        }
        // Check only after the waits: a test may have locked the store or stopped the process during them.
        let (isLocked, wasStopped) = state.withLock { state in
            defer { if stopsAfterwards { state.isStopped = true } }
            if case .none = incident, !state.isLocked, !state.isStopped { state.isOpen = true }
            return (state.isLocked, state.isStopped)
        }
        if stopsAfterwards { stop() }
        if wasStopped { throw Self.stopped(unknown) }
        if stopsAfterwards { return .loseAnswer }
        return isLocked ? .locked : incident
    }

    /// Carries out a call in the wrapped backend, unless a fault refuses it or loses its answer.
    private func disturbed<R>(
        _ kind: LoggedOperation.Kind, _ slots: [String], _ call: () async throws(BackendError) -> R
    ) async throws(BackendError) -> R {
        let incident = try await begin(kind, slots)
        switch incident {
        case .locked: throw BackendError(.locked, "The store is locked. Unlock it and retry.")
        case .unavailable: throw Self.unreachable
        case .none, .loseAnswer, .tear: break
        }
        let answer = try await call()
        try loseAnswer(after: incident, outcome: Self.outcomeUnanswered(kind))
        return answer
    }

    private static func outcomeUnanswered(_ kind: LoggedOperation.Kind) -> MutationOutcome {
        kind == .apply || kind == .synchronize ? .unknown : .notApplied
    }

    private func loseAnswer(after incident: Incident, outcome: MutationOutcome) throws(BackendError) {
        switch incident {
        case .loseAnswer, .tear: throw BackendError(.failed, "The store's answer was lost. Read before you retry.", outcome: outcome)
        case .none, .locked, .unavailable: return
        }
    }

    /// Waits until a gate opens.
    /// - Parameter outcome: The outcome to report if the backend is stopped during the wait.
    /// - Throws: `cancelled` if the caller is cancelled during the wait, `unavailable` after a stop.
    private func wait(at gate: FaultGate, _ outcome: MutationOutcome) async throws(BackendError) {
        let arrival = gate.arrive()
        let (number, isStopped) = state.withLock { state in
            state.waitsEver += 1
            state.waits[state.waitsEver] = Wait(gate: gate, arrival: arrival)
            return (state.waitsEver, state.isStopped)
        }
        defer { state.withLock { $0.waits[number] = nil } }
        if isStopped { gate.endWait(of: arrival) }
        if await gate.pass(arrival) { return }
        if self.isStopped { throw Self.stopped(outcome) }
        throw BackendError(.cancelled, "The caller was cancelled. Nothing was changed; retry.")
    }

    private func wait(_ duration: Duration, _ outcome: MutationOutcome) async throws(BackendError) {
        let gate = FaultGate()
        let timer = clock.schedule(at: clock.now.advanced(by: duration)) { gate.open() }
        defer { timer.cancel() }
        try await wait(at: gate, outcome)
    }
}

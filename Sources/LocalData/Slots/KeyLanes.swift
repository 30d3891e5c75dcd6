import BackendContract
import BackendRuntime
import Synchronization

/// The lanes of slots. A *lane* is a serial queue: in this process, the changes of one slot run one after the other, in the order of
/// arrival.
///
/// A call that takes a lane forms a *chain* with all calls that it makes before it leaves the lane. A task-local value carries the chain. A
/// chain that already holds a slot takes its lane again without waiting. If chains would wait for each other in a circle, the call that
/// would close the circle fails, so that no deadlock occurs. A wait also fails if one call holds the slot for too long without a commit.
final class KeyLanes: Sendable {
    /// The links of the running chain, for each `KeyLanes` object. A *link* is the id of a call that takes lanes. The outermost call is
    /// first.
    @TaskLocal private static var chains: [ObjectIdentifier: [UInt64]] = [:]

    /// How a wait for a slot ends.
    private enum Entry {
        case entered, refused, late
    }

    private struct State {
        /// The link that holds each slot.
        var holders: [PhysicalSlot: UInt64] = [:]
        /// The links that wait for each slot.
        var queues: [PhysicalSlot: [(link: UInt64, wait: Wait<Entry>)]] = [:]
        /// The waits of chains that already hold a slot, by the link that waits. Only these waits can be part of a circle.
        var waits: [UInt64: (chain: [UInt64], slot: PhysicalSlot)] = [:]
        /// The numbers of commits by the links of running chains, since another call waits.
        var commits: [UInt64: Int] = [:]
        var nextID: UInt64 = 1
    }

    private let state = Mutex(State())
    private let gate: LockGate
    private let clock: any RuntimeClock
    private let limit: Duration

    /// - Parameters:
    ///   - gate: The locks of stores. No new chain begins in a locked store.
    ///   - limit: How long a call waits while the same other call holds the slot and commits nothing.
    init(gate: LockGate, clock: any RuntimeClock, limit: Duration) { (self.gate, self.clock, self.limit) = (gate, clock, limit) }

    /// Whether the running call is part of a chain of any router.
    static var isAnyHeld: Bool { !chains.isEmpty }

    /// Returns whether a call holds a slot of a store. This includes every slot for which another call waits.
    /// - Parameter store: The store; nil for any store.
    func isBusy(in store: BackendIdentity?) -> Bool { state.withLock { $0.holders.keys.contains { store == nil || $0.store == store } } }

    /// The links of the calls that hold a slot now. With ``isBusy(with:)``, a caller can wait until these calls have ended.
    var holders: Set<UInt64> { state.withLock { Set($0.holders.values) } }

    /// Returns whether one of these calls still holds a slot.
    /// - Parameter calls: The links of the calls.
    func isBusy(with calls: Set<UInt64>) -> Bool { state.withLock { !calls.isDisjoint(with: $0.holders.values) } }

    /// Returns whether any call holds a slot now.
    func isHeld(_ slot: PhysicalSlot) -> Bool { state.withLock { $0.holders[slot] != nil } }

    private var chain: [UInt64] { Self.chains[ObjectIdentifier(self)] ?? [] }

    /// Whether the running call is part of a chain that holds a lane. For example, the code of a migration runs in such a chain.
    var isInChain: Bool { !chain.isEmpty }

    /// Returns whether the running chain of calls holds a slot. False in a task that outlives its chain: the chain has left its lanes.
    func isHeldByCurrentChain(_ slot: PhysicalSlot) -> Bool {
        let chain = chain
        return !chain.isEmpty && state.withLock { $0.holders[slot].map(chain.contains) ?? false }
    }

    /// Runs work while only this chain may change a slot.
    func withLane<R>(_ slot: PhysicalSlot, keyName: String, _ work: () async throws -> R) async throws -> R {
        try await withLanes([slot], keyName: keyName, work)
    }

    /// Runs work while only this chain may change several slots. All calls take the lanes of their slots in the same order.
    func withLanes<R>(_ slots: [PhysicalSlot], keyName: String, _ work: () async throws -> R) async throws -> R {
        let outer = chain
        if outer.isEmpty, slots.contains(where: { gate.refuses($0.store) }) { throw gate.refusal(keyName) }
        let wanted = outer.isEmpty ? slots : slots.filter { !isHeldByCurrentChain($0) }
        if wanted.isEmpty { return try await work() }
        let chain = outer + [nextID()]
        var taken = takeFree(wanted, chain)
        defer { for slot in taken.reversed() { leave(slot) } }
        for slot in !taken.isEmpty ? [] : wanted.count == 1 ? wanted : Set(wanted).sorted(by: { $0.precedes($1) }) {
            try await enter(slot, chain, holdsSomething: !outer.isEmpty || !taken.isEmpty, keyName: keyName)
            taken.append(slot)
        }
        var chains = Self.chains
        chains[ObjectIdentifier(self)] = chain
        return try await Self.$chains.withValue(chains, operation: work)
    }

    /// Takes the lanes of several slots, if all of them are free. Returns the slots whose lanes it took.
    private func takeFree(_ slots: [PhysicalSlot], _ chain: [UInt64]) -> [PhysicalSlot] {
        state.withLock { state in
            guard slots.count > 1, !Task.isCancelled, slots.allSatisfy({ state.holders[$0] == nil }) else { return [] }
            return slots.filter { state.holders.updateValue(chain[chain.count - 1], forKey: $0) == nil }
        }
    }

    private func nextID() -> UInt64 {
        state.withLock { state in
            defer { state.nextID += 1 }
            return state.nextID
        }
    }

    private func enter(_ slot: PhysicalSlot, _ chain: [UInt64], holdsSomething: Bool, keyName: String) async throws {
        try Task.checkCancellation()
        guard let link = chain.last else { return }
        let wait = state.withLock { state -> Wait<Entry>? in
            guard state.holders[slot] != nil else {
                state.holders[slot] = link
                return nil
            }
            let wait = Wait<Entry>()
            if holdsSomething, Self.closesCircle(chain, slot, in: state) {
                wait.end(.refused)
            } else {
                state.queues[slot, default: []].append((link, wait))
                if holdsSomething { state.waits[link] = (chain, slot) }
            }
            return wait
        }
        guard let wait else { return }
        setTimer(wait, at: slot)
        let entry = await wait.result(ifCancelled: .refused)
        if entry == .entered { return }
        state.withLock { $0.waits[link] = nil }
        try Task.checkCancellation()
        if entry == .late {
            throw StorageError(
                StorageError.timedOut, key: keyName,
                "Another call of this program has used the value for \(limit), and is still running. Nothing was changed.")
        }
        throw StorageError(
            StorageError.migrationFailed, key: keyName,
            "Two migrations wait for each other's keys. Break the circle between the keys that name one another as sources.")
    }

    /// Ends a wait if the holder of the slot makes no progress until the limit. Otherwise the limit begins again.
    private func setTimer(_ wait: Wait<Entry>, at slot: PhysicalSlot) {
        let before = progress(at: slot)
        wait.limit(
            clock.schedule(at: clock.now.advanced(by: limit)) { [weak self] in
                guard let self else { return }
                if progress(at: slot) == before { wait.end(.late) } else { setTimer(wait, at: slot) }
            })
    }

    /// The holder of a slot and the number of its commits.
    private func progress(at slot: PhysicalSlot) -> [UInt64] {
        state.withLock { state in state.holders[slot].map { [$0, UInt64(state.commits[$0] ?? 0)] } ?? [] }
    }

    /// Notes that the running chain has committed a change. Calls that wait for its slots then wait longer.
    func noteCommit() {
        let chain = chain
        state.withLock { state in if !state.queues.isEmpty { for link in chain { state.commits[link, default: 0] += 1 } } }
    }

    /// Passes the slot to the first call that still waits.
    private func leave(_ slot: PhysicalSlot) {
        func next() -> Wait<Entry>? {
            state.withLock { state in
                if let holder = state.holders.removeValue(forKey: slot) { state.commits[holder] = nil }
                guard var queue = state.queues.removeValue(forKey: slot) else { return nil }
                let (link, wait) = queue.removeFirst()
                if !queue.isEmpty { state.queues[slot] = queue }
                state.holders[slot] = link
                state.waits[link] = nil
                return wait
            }
        }
        while let wait = next(), !wait.end(.entered) {}
    }

    /// Returns whether a chain that waits for a slot would wait for itself. It would if the holder of the slot, or a call that the holder
    /// made, waits for a slot that the chain holds, directly or through other chains.
    private static func closesCircle(_ chain: [UInt64], _ slot: PhysicalSlot, in state: borrowing State) -> Bool {
        var open = [slot]
        var seen: Set<PhysicalSlot> = [slot]
        while let slot = open.popLast() {
            guard let holder = state.holders[slot] else { continue }
            if chain.contains(holder) { return true }
            for wait in state.waits.values where wait.chain.contains(holder) && seen.insert(wait.slot).inserted { open.append(wait.slot) }
        }
        return false
    }
}

extension PhysicalSlot {
    /// Returns whether the lane of this slot is taken before the lane of another slot. The order is arbitrary, but the same for all calls.
    fileprivate func precedes(_ other: PhysicalSlot) -> Bool {
        address.name == other.address.name ? description < other.description : address.precedes(other.address)
    }
}

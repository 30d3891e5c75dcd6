import BackendContract
import Synchronization

/// The lanes of slots. A *lane* is a serial queue: in this process, the changes of one slot run one after the other, in the order of
/// arrival.
///
/// A call that takes a lane forms a *chain* with all calls that it makes before it leaves the lane. A task-local value carries the chain. A
/// chain that already holds a slot takes its lane again without waiting. If chains would wait for each other in a circle, the call that
/// would close the circle fails, so that no deadlock occurs.
final class KeyLanes: Sendable {
    /// The links of the running chain, for each `KeyLanes` object. A *link* is the id of a call that takes lanes. The outermost call is
    /// first.
    @TaskLocal private static var chains: [ObjectIdentifier: [UInt64]] = [:]

    private struct Waiter {
        let id: UInt64
        let link: UInt64
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        /// The link that holds each slot.
        var holders: [PhysicalSlot: UInt64] = [:]
        var queues: [PhysicalSlot: [Waiter]] = [:]
        /// The waits of chains that already hold a slot, by the id of the waiter. Only these waits can be part of a circle.
        var waits: [UInt64: (chain: [UInt64], slot: PhysicalSlot)] = [:]
        var nextID: UInt64 = 1
    }

    private let state = Mutex(State())
    private let gate: LockGate

    /// - Parameter gate: The locks of stores. No new chain begins in a locked store.
    init(gate: LockGate) { self.gate = gate }

    /// Whether the running call is part of a chain of any router.
    static var isAnyHeld: Bool { !chains.isEmpty }

    /// Returns whether a call holds a slot of a store. This includes every slot for which another call waits.
    /// - Parameter store: The store; nil for any store.
    func isBusy(in store: BackendIdentity?) -> Bool {
        state.withLock { state in
            guard let store else { return !state.holders.isEmpty }
            return state.holders.keys.contains { $0.store == store }
        }
    }

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
        let wanted = slots.filter { !isHeldByCurrentChain($0) }
        if wanted.isEmpty { return try await work() }
        let chain = outer + [nextID()]
        var taken: [PhysicalSlot] = []
        defer { for slot in taken.reversed() { leave(slot) } }
        for slot in wanted.count == 1 ? wanted : Set(wanted).sorted(by: { $0.precedes($1) }) {
            try await enter(slot, chain, holdsSomething: !outer.isEmpty || !taken.isEmpty, keyName: keyName)
            taken.append(slot)
        }
        var chains = Self.chains
        chains[ObjectIdentifier(self)] = chain
        return try await Self.$chains.withValue(chains, operation: work)
    }

    private func nextID() -> UInt64 {
        state.withLock { state in
            defer { state.nextID += 1 }
            return state.nextID
        }
    }

    private enum Entry {
        case entered, refused, mustWait
    }

    private func enter(_ slot: PhysicalSlot, _ chain: [UInt64], holdsSomething: Bool, keyName: String) async throws {
        try Task.checkCancellation()
        guard let link = chain.last else { return }
        let isFree = state.withLock { state in
            guard state.holders[slot] == nil else { return false }
            state.holders[slot] = link
            return true
        }
        if isFree { return }
        let waiterID = nextID()
        let entered = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let entry = state.withLock { state -> Entry in
                    guard state.holders[slot] != nil else {
                        state.holders[slot] = link
                        return .entered
                    }
                    if Task.isCancelled || (holdsSomething && Self.closesCircle(chain, slot, in: state)) { return .refused }
                    state.queues[slot, default: []].append(Waiter(id: waiterID, link: link, continuation: continuation))
                    if holdsSomething { state.waits[waiterID] = (chain, slot) }
                    return .mustWait
                }
                if entry != .mustWait { continuation.resume(returning: entry == .entered) }
            }
        } onCancel: {
            let waiter = state.withLock { state -> Waiter? in
                guard let index = state.queues[slot]?.firstIndex(where: { $0.id == waiterID }) else { return nil }
                state.waits[waiterID] = nil
                return state.queues[slot]?.remove(at: index)
            }
            waiter?.continuation.resume(returning: false)
        }
        if !entered {
            try Task.checkCancellation()
            throw StorageError(
                StorageError.migrationFailed, key: keyName,
                "Two migrations wait for each other's keys. Break the circle between the keys that name one another as sources.")
        }
    }

    private func leave(_ slot: PhysicalSlot) {
        let next = state.withLock { state -> Waiter? in
            guard var queue = state.queues[slot], !queue.isEmpty else {
                state.holders[slot] = nil
                state.queues[slot] = nil
                return nil
            }
            let waiter = queue.removeFirst()
            state.queues[slot] = queue.isEmpty ? nil : queue
            state.holders[slot] = waiter.link
            state.waits[waiter.id] = nil
            return waiter
        }
        next?.continuation.resume(returning: true)
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

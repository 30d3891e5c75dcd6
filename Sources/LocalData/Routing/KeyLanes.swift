import BackendContract
import Synchronization

/// One line of waiting per slot: what changes a slot in this process happens one after the other, in the order of arrival.
///
/// A chain of calls - a migration, and what it calls back into the router - has an identity that travels as a task-local value. A chain that
/// holds a slot passes through it again at once; two chains that would wait for each other are told apart from a dead-lock, and the later one fails.
final class KeyLanes: Sendable {
    /// A chain of calls and the slots it holds.
    struct Chain: Sendable {
        let id: UInt64
        let router: ObjectIdentifier
        var held: Set<PhysicalSlot>
    }

    @TaskLocal static var current: Chain?

    private struct Waiter {
        let id: UInt64
        let chain: UInt64
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var holders: [PhysicalSlot: UInt64] = [:]
        var queues: [PhysicalSlot: [Waiter]] = [:]
        /// The slot that a chain waits for.
        var waitsFor: [UInt64: PhysicalSlot] = [:]
        var nextID: UInt64 = 1
    }

    private let state = Mutex(State())

    /// Whether the running chain of calls already holds a slot.
    func isHeldByCurrentChain(_ slot: PhysicalSlot) -> Bool {
        guard let chain = Self.current, chain.router == ObjectIdentifier(self) else { return false }
        return chain.held.contains(slot)
    }

    /// Runs work while this chain alone may change a slot.
    func withLane<R>(_ slot: PhysicalSlot, keyName: String, _ work: () async throws -> R) async throws -> R {
        if isHeldByCurrentChain(slot) { return try await work() }
        var chain = currentChain()
        try await enter(slot, chain: chain.id, keyName: keyName)
        defer { leave(slot) }
        chain.held.insert(slot)
        return try await Self.$current.withValue(chain, operation: work)
    }

    /// Runs work while this chain alone may change several slots, taken in one order for everybody.
    func withLanes<R>(_ slots: [PhysicalSlot], keyName: String, _ work: () async throws -> R) async throws -> R {
        var chain = currentChain()
        var taken: [PhysicalSlot] = []
        defer { for slot in taken.reversed() { leave(slot) } }
        for slot in Set(slots).sorted(by: { $0.description < $1.description }) where !chain.held.contains(slot) {
            try await enter(slot, chain: chain.id, keyName: keyName)
            taken.append(slot)
        }
        chain.held.formUnion(taken)
        return try await Self.$current.withValue(chain, operation: work)
    }

    private func currentChain() -> Chain {
        if let chain = Self.current, chain.router == ObjectIdentifier(self) { return chain }
        return Chain(id: nextID(), router: ObjectIdentifier(self), held: [])
    }

    private func nextID() -> UInt64 {
        state.withLock { state in
            defer { state.nextID += 1 }
            return state.nextID
        }
    }

    private enum Entry {
        case entered, mustWait, wouldDeadlock
    }

    private func enter(_ slot: PhysicalSlot, chain: UInt64, keyName: String) async throws {
        try Task.checkCancellation()
        let waiterID = nextID()
        let quick = state.withLock { state -> Entry in
            guard let holder = state.holders[slot] else {
                state.holders[slot] = chain
                return .entered
            }
            return Self.leads(from: holder, to: chain, in: state) ? .wouldDeadlock : .mustWait
        }
        switch quick {
        case .entered: return
        case .wouldDeadlock: throw cycle(keyName)
        case .mustWait: break
        }
        let entered = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let immediately = state.withLock { state -> Bool? in
                    guard let holder = state.holders[slot] else {
                        state.holders[slot] = chain
                        return true
                    }
                    if Task.isCancelled || Self.leads(from: holder, to: chain, in: state) { return false }
                    state.queues[slot, default: []].append(Waiter(id: waiterID, chain: chain, continuation: continuation))
                    state.waitsFor[chain] = slot
                    return nil
                }
                if let immediately { continuation.resume(returning: immediately) }
            }
        } onCancel: {
            let waiter = state.withLock { state -> Waiter? in
                guard let index = state.queues[slot]?.firstIndex(where: { $0.id == waiterID }) else { return nil }
                let waiter = state.queues[slot]?.remove(at: index)
                state.waitsFor[chain] = nil
                return waiter
            }
            waiter?.continuation.resume(returning: false)
        }
        if !entered {
            try Task.checkCancellation()
            throw cycle(keyName)
        }
    }

    private func leave(_ slot: PhysicalSlot) {
        let next = state.withLock { state -> Waiter? in
            guard var queue = state.queues[slot], !queue.isEmpty else {
                state.holders[slot] = nil
                return nil
            }
            let waiter = queue.removeFirst()
            state.queues[slot] = queue.isEmpty ? nil : queue
            state.holders[slot] = waiter.chain
            state.waitsFor[waiter.chain] = nil
            return waiter
        }
        next?.continuation.resume(returning: true)
    }

    /// Whether a chain waits, directly or through others, for one that `target` holds.
    private static func leads(from start: UInt64, to target: UInt64, in state: borrowing State) -> Bool {
        var chain = start
        var steps = 0
        while chain != target {
            guard let slot = state.waitsFor[chain], let holder = state.holders[slot], steps < 10_000 else { return false }
            chain = holder
            steps += 1
        }
        return true
    }

    private func cycle(_ keyName: String) -> StorageError {
        StorageError(
            StorageError.migrationFailed, key: keyName,
            "Two migrations wait for each other's keys. Break the circle between the keys that name one another as sources.")
    }
}

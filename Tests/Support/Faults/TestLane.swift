package import BackendRuntime
import Synchronization

/// Lanes that a test counts, holds and steps. What is not held runs on a queue of its own for each lane, in order.
package final class TestLane: Lane {
    private struct State {
        var count = 0
        var isHeld: Bool
        var held: [(lane: DispatchLane, work: @Sendable () -> Void)] = []
        var waiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state: Mutex<State>
    private let lane = DispatchLane(label: "test")

    /// Creates lanes.
    /// - Parameter isHeld: Whether work waits from the beginning.
    package init(isHeld: Bool = false) { state = Mutex(State(isHeld: isHeld)) }

    /// How many pieces of work were handed over.
    package var count: Int { state.withLock(\.count) }

    /// How many pieces of work are held back.
    package var held: Int { state.withLock(\.held.count) }

    package func enqueue(_ work: @escaping @Sendable () -> Void) { enqueue(work, on: lane) }

    /// Another lane, held and counted together with this one.
    package func named(_ label: String) -> any Lane { Named(owner: self, lane: DispatchLane(label: label)) }

    private struct Named: Lane {
        let owner: TestLane
        let lane: DispatchLane
        func enqueue(_ work: @escaping @Sendable () -> Void) { owner.enqueue(work, on: lane) }
    }

    private func enqueue(_ work: @escaping @Sendable () -> Void, on lane: DispatchLane) {
        let ready = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            state.count += 1
            // Handed on under the lock: what was released before stays before it.
            guard state.isHeld else {
                lane.enqueue(work)
                return []
            }
            state.held.append((lane, work))
            let held = state.held.count
            defer { state.waiting.removeAll { $0.count <= held } }
            return state.waiting.filter { $0.count <= held }.map(\.continuation)
        }
        for continuation in ready { continuation.resume() }
    }

    /// From now on holds work back.
    package func hold() { state.withLock { $0.isHeld = true } }

    /// Lets go of what is held, and of what comes later.
    package func release() {
        state.withLock { state in
            state.isHeld = false
            for piece in state.held { piece.lane.enqueue(piece.work) }
            state.held = []
        }
    }

    /// Returns once a number of pieces of work are held back.
    package func untilHeld(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                if state.held.count >= count { return true }
                state.waiting.append((count, continuation))
                return false
            }
            if isReady { continuation.resume() }
        }
    }

    /// Runs the next held piece of work on this thread; false when there is none.
    @discardableResult
    package func runNext() -> Bool {
        guard let next = state.withLock({ $0.held.isEmpty ? nil : $0.held.removeFirst().work }) else { return false }
        next()
        return true
    }

    /// Runs all held work on this thread, also what it brings about.
    package func runAll() { while runNext() {} }
}

extension Runtime {
    /// The real machine with some parts exchanged.
    package static func live(
        files: (any FileSystem)? = nil, clock: (any RuntimeClock)? = nil, lane: TestLane? = nil
    ) -> Runtime {
        var runtime = Runtime.live
        if let files { runtime.files = files }
        if let clock { runtime.clock = clock }
        if let lane { runtime.makeLane = { lane.named($0) } }
        return runtime
    }
}

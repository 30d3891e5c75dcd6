package import BackendRuntime
import Synchronization

/// Lanes, which are serial queues for work that may block. A test can count the work, hold it, and run it step by step.
/// Work that is not held runs in order, on a separate queue for each lane.
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
    /// - Parameter isHeld: Whether work is held from the beginning.
    package init(isHeld: Bool = false) { state = Mutex(State(isHeld: isHeld)) }

    /// The number of pieces of work that were enqueued.
    package var count: Int { state.withLock(\.count) }

    /// The number of pieces of work that are held.
    package var held: Int { state.withLock(\.held.count) }

    package func enqueue(_ work: @escaping @Sendable () -> Void) { enqueue(work, on: lane) }

    /// Makes another lane that is held and counted together with this one.
    package func named(_ label: String) -> any Lane { Named(owner: self, lane: DispatchLane(label: label)) }

    private struct Named: Lane {
        let owner: TestLane
        let lane: DispatchLane
        func enqueue(_ work: @escaping @Sendable () -> Void) { owner.enqueue(work, on: lane) }
    }

    private func enqueue(_ work: @escaping @Sendable () -> Void, on lane: DispatchLane) {
        let ready = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            state.count += 1
            // Enqueue under the lock, so that work that was released earlier stays first.
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

    /// Holds all work that is enqueued from now on.
    package func hold() { state.withLock { $0.isHeld = true } }

    /// Releases the held work, and stops holding work.
    package func release() {
        state.withLock { state in
            state.isHeld = false
            for piece in state.held { piece.lane.enqueue(piece.work) }
            state.held = []
        }
    }

    /// Waits until a number of pieces of work are held.
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

    /// Runs the next held piece of work on this thread. Returns false if there is none.
    @discardableResult
    package func runNext() -> Bool {
        guard let next = state.withLock({ $0.held.isEmpty ? nil : $0.held.removeFirst().work }) else { return false }
        next()
        return true
    }

    /// Runs all held work on this thread, including the work that it enqueues.
    package func runAll() { while runNext() {} }
}

extension Runtime {
    /// The live runtime with some parts replaced.
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

import Synchronization

/// A gate that holds operations until a test opens it.
public final class FaultGate: Sendable {
    private struct State {
        var isOpen = false
        var arrivals = 0
        var held: [Int: CheckedContinuation<Bool, Never>] = [:]
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
        var cancelled: Set<Int> = []
    }

    private let state = Mutex(State())

    /// Creates a closed gate.
    public init() {}

    /// Lets all waiting and all later operations pass.
    public func open() {
        let held = state.withLock { state in
            state.isOpen = true
            defer { state.held = [:] }
            return Array(state.held.values)
        }
        for continuation in held { continuation.resume(returning: true) }
    }

    /// Returns once a number of operations has arrived since the gate was created.
    public func untilArrivals(_ count: Int = 1) async {
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                if state.arrivals >= count { return true }
                state.watchers.append((count, continuation))
                return false
            }
            if isReady { continuation.resume() }
        }
    }

    /// Waits until the gate is open; returns false if the calling task is cancelled first, or if the wait is ended.
    /// - Parameter number: The number of the arrival, from ``arrive()``.
    func pass(_ number: Int) async -> Bool {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state -> Bool? in
                    if state.cancelled.remove(number) != nil { return false }
                    if state.isOpen { return true }
                    state.held[number] = continuation
                    return nil
                }
                announce()
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            endWait(of: number)
        }
    }

    /// Makes ``pass(_:)`` return false for one arrival.
    func endWait(of number: Int) {
        let held = state.withLock { state in
            let held = state.held.removeValue(forKey: number)
            // The wait has not begun: `pass` returns false when it starts to wait.
            if held == nil { state.cancelled.insert(number) }
            return held
        }
        held?.resume(returning: false)
    }

    /// Counts an operation that is about to wait, and returns its number.
    func arrive() -> Int {
        state.withLock { state in
            state.arrivals += 1
            return state.arrivals
        }
    }

    /// Resumes the watchers of arrivals, once the arrival is held.
    private func announce() {
        let ready = state.withLock { state in
            let ready = state.watchers.filter { $0.count <= state.arrivals }
            state.watchers.removeAll { $0.count <= state.arrivals }
            return ready
        }
        for watcher in ready { watcher.continuation.resume() }
    }
}

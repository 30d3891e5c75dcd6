import Synchronization

/// A gate where operations of a ``FaultingBackend`` wait until a test opens it.
///
/// Use it to do something at a certain moment of another operation, without sleeping.
///
/// ```swift
/// let gate = FaultGate()
/// backend.inject(.hold(gate), of: .apply)
/// let work = Task { try await storage.set("Graz", for: .city) }
/// await gate.untilArrivals(1)  // the change has reached the store, and waits there
/// gate.open()
/// try await work.value
/// ```
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
    ///
    /// ```swift
    /// let gate = FaultGate()
    /// backend.inject(.hold(gate), of: .apply)
    /// let work = Task { try await storage.set("Graz", for: .city) }
    /// await gate.untilArrivals(1)  // the change has reached the store, and waits there
    /// gate.open()
    /// try await work.value
    /// ```
    public func open() {
        let held = state.withLock { state in
            state.isOpen = true
            defer { state.held = [:] }
            return Array(state.held.values)
        }
        for continuation in held { continuation.resume(returning: true) }
    }

    /// Returns as soon as `count` operations have arrived at the gate. Operations that arrived before this call count too.
    ///
    /// ```swift
    /// let gate = FaultGate()
    /// backend.inject(.hold(gate), of: .apply)
    /// let work = Task { try await storage.set("Graz", for: .city) }
    /// await gate.untilArrivals(1)  // the change has reached the store, and waits there
    /// gate.open()
    /// try await work.value
    /// ```
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

    /// Waits until the gate opens.
    /// - Parameter number: The arrival number from ``arrive()``.
    /// - Returns: False if the calling task was cancelled or ``endWait(of:)`` was called before the gate opened.
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
            // `pass` has not started to wait for this arrival. Remember the number, so that `pass` returns false at once.
            if held == nil { state.cancelled.insert(number) }
            return held
        }
        held?.resume(returning: false)
    }

    /// Registers an operation that is about to wait.
    /// - Returns: Its arrival number.
    func arrive() -> Int {
        state.withLock { state in
            state.arrivals += 1
            return state.arrivals
        }
    }

    /// Resumes the callers of ``untilArrivals(_:)`` whose count is reached.
    private func announce() {
        let ready = state.withLock { state in
            let ready = state.watchers.filter { $0.count <= state.arrivals }
            state.watchers.removeAll { $0.count <= state.arrivals }
            return ready
        }
        for watcher in ready { watcher.continuation.resume() }
    }
}

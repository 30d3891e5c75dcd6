import BackendContract
import BackendRuntime
import Synchronization

/// Computations of values, each of which all callers that wait for the same value share.
///
/// A caller that is cancelled leaves. When the last caller of a computation leaves, the computation is cancelled.
final class ComputeFlights<Value: Sendable>: Sendable {
    private struct Flight {
        let address: StorageAddress
        var callers = 0
        var waiters: [UInt64: CheckedContinuation<Result<Value, any Error>, Never>] = [:]
        var result: Result<Value, any Error>?
        var task: ScheduledAction?
        /// Whether the value was set or removed since the computation began. Its result must not be stored.
        var isOutdated = false
    }

    private struct State {
        var flights: [UInt64: Flight] = [:]
        /// The flights that new callers join.
        var current: [StorageAddress: UInt64] = [:]
        var last: UInt64 = 0
    }

    private let state = Mutex(State())
    private let tasks: any TaskSpawner

    init(tasks: any TaskSpawner) { self.tasks = tasks }

    /// Joins the computation of a value, or starts it, and waits for its result.
    /// - Parameter work: Computes the value. Its parameter returns whether the result may be stored.
    func join(
        _ address: StorageAddress, _ work: @escaping @Sendable (_ isCurrent: @escaping @Sendable () -> Bool) async throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        let (flight, waiter, isNew) = state.withLock { state in
            state.last += 2
            let known = state.current[address]
            let flight = known ?? state.last
            if known == nil {
                state.current[address] = flight
                state.flights[flight] = Flight(address: address)
            }
            state.flights[flight]?.callers += 1
            return (flight, state.last + 1, known == nil)
        }
        if isNew { start(flight, work) }
        defer { leave(flight) }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let early = state.withLock { state -> Result<Value, any Error>? in
                    if let result = state.flights[flight]?.result { return result }
                    if Task.isCancelled { return .failure(CancellationError()) }
                    state.flights[flight]?.waiters[waiter] = continuation
                    return nil
                }
                if let early { continuation.resume(returning: early) }
            }
        } onCancel: {
            state.withLock { $0.flights[flight]?.waiters.removeValue(forKey: waiter) }?
                .resume(returning: .failure(CancellationError()))
        }
        return try result.get()
    }

    /// Keeps the results of running computations from being stored.
    /// - Parameter address: The value; nil for all values.
    func outdate(_ address: StorageAddress?) {
        state.withLock { state in
            for address in address.map({ [$0] }) ?? Array(state.current.keys) {
                // A later caller starts a new computation.
                guard let flight = state.current.removeValue(forKey: address) else { continue }
                state.flights[flight]?.isOutdated = true
            }
        }
    }

    private func start(
        _ flight: UInt64, _ work: @escaping @Sendable (_ isCurrent: @escaping @Sendable () -> Bool) async throws -> Value
    ) {
        let task = tasks.spawn { [self] in
            let result: Result<Value, any Error>
            do {
                result = .success(try await work { [self] in state.withLock { $0.flights[flight]?.isOutdated == false } })
            } catch { result = .failure(error) }
            end(flight, result)
        }
        let isAbandoned = state.withLock { state in
            state.flights[flight]?.task = task
            return state.flights[flight] == nil
        }
        if isAbandoned { task.cancel() }
    }

    private func end(_ flight: UInt64, _ result: Result<Value, any Error>) {
        let waiters = state.withLock { state in
            guard let ended = state.flights[flight] else { return [CheckedContinuation<Result<Value, any Error>, Never>]() }
            if state.current[ended.address] == flight { state.current[ended.address] = nil }
            state.flights[flight]?.result = result
            state.flights[flight]?.waiters = [:]
            return ended.waiters.sorted { $0.key < $1.key }.map(\.value)
        }
        for waiter in waiters { waiter.resume(returning: result) }
    }

    private func leave(_ flight: UInt64) {
        let task = state.withLock { state -> ScheduledAction? in
            guard let left = state.flights[flight] else { return nil }
            state.flights[flight]?.callers -= 1
            guard left.callers == 1 else { return nil }
            state.flights[flight] = nil
            if state.current[left.address] == flight { state.current[left.address] = nil }
            return left.result == nil ? left.task : nil
        }
        task?.cancel()
    }
}

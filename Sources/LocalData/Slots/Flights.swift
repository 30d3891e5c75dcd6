import BackendContract
import BackendRuntime
import Synchronization

/// Runs work once for all callers that request it at the same time.
///
/// A cancelled caller stops waiting, and the work continues to its end.
final class Flights: Sendable {
    /// Identifies the work. Two keys of one slot do not share work if their types or migrations differ.
    struct Work: Hashable, Sendable {
        private let slot: PhysicalSlot
        private let type: ObjectIdentifier
        private let migrations: [String]

        init<Value>(_ slot: Slot<Value>) {
            self.slot = slot.id
            type = ObjectIdentifier(Value.self)
            migrations = slot.key.migrations.flatMap { migration in
                [migration.id] + migration.sources.map { "\($0.domain)/\($0.name)/\($0.security)" }
            }
        }
    }

    private final class Flight: Sendable {
        struct State {
            var result: Result<Void, any Error>?
            var waiters: [UInt64: CheckedContinuation<Result<Void, any Error>, Never>] = [:]
            var nextWaiter: UInt64 = 0
        }

        let state = Mutex(State())

        func end(_ result: Result<Void, any Error>) {
            let waiters = state.withLock { state in
                state.result = result
                defer { state.waiters = [:] }
                // Resume the waiters in the order of their arrival.
                // Reason: "No order in the library depends on a hash" in Docs/Decisions/Tests.md.
                return state.waiters.sorted { $0.key < $1.key }.map(\.value)
            }
            for waiter in waiters { waiter.resume(returning: result) }
        }

        func wait() async throws {
            let id = state.withLock { state in
                state.nextWaiter += 1
                return state.nextWaiter
            }
            let result = await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    let early = state.withLock { state -> Result<Void, any Error>? in
                        if let result = state.result { return result }
                        if Task.isCancelled { return .failure(CancellationError()) }
                        state.waiters[id] = continuation
                        return nil
                    }
                    if let early { continuation.resume(returning: early) }
                }
            } onCancel: {
                state.withLock { $0.waiters.removeValue(forKey: id) }?.resume(returning: .failure(CancellationError()))
            }
            try result.get()
        }
    }

    private let flights = Mutex<[Work: Flight]>([:])
    private let tasks: any TaskSpawner

    init(tasks: any TaskSpawner) { self.tasks = tasks }

    /// Joins the work if it is running, or starts it, and waits for its end.
    func join(_ id: Work, _ work: @escaping @Sendable () async throws -> Void) async throws {
        try Task.checkCancellation()
        let (flight, isNew) = flights.withLock { flights in
            if let flight = flights[id] { return (flight, false) }
            let flight = Flight()
            flights[id] = flight
            return (flight, true)
        }
        if isNew {
            tasks.spawn {
                let result: Result<Void, any Error>
                do { result = .success(try await work()) } catch { result = .failure(error) }
                // Remove the flight before the waiters resume, so that a later caller starts a new one.
                self.flights.withLock { $0[id] = nil }
                flight.end(result)
            }
        }
        // Reason: "Callers that share a migration read the value themselves" in Docs/Decisions/Migration.md.
        try await flight.wait()
    }
}

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
        private struct State {
            var result: Result<Void, any Error>?
            /// In the order of their arrival.
            /// Reason: "No order in the library depends on a hash" in Docs/Decisions/Tests.md.
            var waits: [Wait<Result<Void, any Error>>] = []
        }

        private let state = Mutex(State())

        func end(_ result: Result<Void, any Error>) {
            let waits = state.withLock { state in
                state.result = result
                defer { state.waits = [] }
                return state.waits
            }
            for wait in waits { wait.end(result) }
        }

        func wait() async throws {
            let wait = Wait<Result<Void, any Error>>()
            state.withLock { state in
                state.waits.append(wait)
                if let result = state.result { wait.end(result) }
            }
            try await wait.result(ifCancelled: .failure(CancellationError())).get()
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

import BackendContract
import BackendRuntime

/// Finds the slots of keys, lets one chain of calls at a time change a slot, and commits the changes.
final class SlotAccess: Sendable {
    let routes: RouteTable
    let committer: Committer
    let lanes: KeyLanes
    let flights: Flights
    let lists = SplitLists()
    let runtime: Runtime
    /// How many records of a collection are read, and written in one commit, at a time.
    let pageSize: Int

    /// - Parameters:
    ///   - patience: How long a call waits for another call that uses its slot.
    ///   - noteCommit: See ``Committer/noteCommit``.
    init(
        _ routes: RouteTable, _ runtime: Runtime, pageSize: Int, patience: Duration,
        noteCommit: @escaping @Sendable (StorageDomain, Bool) async -> Void
    ) {
        (self.routes, self.runtime, self.pageSize) = (routes, runtime, pageSize)
        let lanes = KeyLanes(gate: routes.gate, clock: runtime.clock, limit: patience)
        self.lanes = lanes
        committer = Committer(hub: ChangeHub(tasks: runtime.tasks, clock: runtime.clock)) { domain, expires in
            lanes.noteCommit()
            await noteCommit(domain, expires)
        }
        flights = Flights(tasks: runtime.tasks)
    }

    /// The attempts at a step that starts over because another process or task changed the slot in between.
    var attempts: Attempts { Attempts(runtime) }

    /// The name of the machine's present start. A machine that does not name its starts has the same name for all of them.
    var bootName: String { runtime.host.bootID ?? "unknown" }

    /// Runs work while the caller's chain of calls alone may change a slot.
    func withLane<R>(_ route: Route, _ work: () async throws -> R) async throws -> R {
        try await lanes.withLane(route.slot, keyName: route.keyName, work)
    }

    /// Runs work in a lane, to its end even if its caller is cancelled.
    func unbroken<R: Sendable>(in lane: Route, _ work: @escaping @Sendable () async throws -> R) async throws -> R {
        try await unbroken { [self] in try await withLane(lane, work) }
    }

    /// Runs work to its end even if its caller is cancelled: a migration never stops between two of its steps.
    func unbroken<R: Sendable>(_ work: @escaping @Sendable () async throws -> R) async throws -> R {
        try Task.checkCancellation()
        return try await withCheckedThrowingContinuation { continuation in
            runtime.tasks.spawn {
                let result: Result<R, any Error>
                do { result = .success(try await work()) } catch { result = .failure(error) }
                continuation.resume(with: result)
            }
        }
    }

    /// Repeats a read, change and write until it returns a result. Nil means that the slot was changed after the read.
    func retrying<R>(_ name: String, _ body: () async throws -> R?) async throws -> R {
        for await _ in attempts {
            try Task.checkCancellation()
            if let result = try await body() { return result }
        }
        throw StorageError(.conflict, key: name, "Other processes or tasks keep changing the value. Try again when they are done.")
    }
}

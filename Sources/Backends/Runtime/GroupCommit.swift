package import BackendContract
import Synchronization

/// Carries out requests together that wait for a lane at the same time: one lock, one write and one flush for all of them.
///
/// A request never waits for others: it starts as soon as the lane is free. Requests that arrive meanwhile form the next group.
///
/// A request does not fail for another one. If a group fails as a whole, nothing was changed, and one of its requests may be the reason, its
/// halves are carried out by themselves, down to that request.
package final class GroupCommit<Request: Sendable, Response: Sendable>: Sendable {
    private struct Waiting {
        let request: Request
        let call: LaneCall<Response>
    }

    private struct State {
        var waiting: [Waiting] = []
        var isScheduled = false
    }

    private let state = Mutex(State())
    private let lane: any Lane
    private let clock: any RuntimeClock
    private let maximumGroup: Int
    private let perform: @Sendable ([Request], MonotonicInstant) -> [Result<Response, BackendError>]

    /// Creates a queue of requests over a lane.
    /// - Parameters:
    ///   - lane: Where groups are carried out.
    ///   - clock: The clock of the deadlines.
    ///   - maximumGroup: The most requests carried out together.
    ///   - perform: Carries out a group on the lane, before the earliest deadline of the group if that can be done; one result a request, in order.
    package init(
        lane: any Lane, clock: any RuntimeClock, maximumGroup: Int = 4_096,
        perform: @escaping @Sendable ([Request], MonotonicInstant) -> [Result<Response, BackendError>]
    ) {
        self.lane = lane
        self.clock = clock
        self.maximumGroup = maximumGroup
        self.perform = perform
    }

    /// Submits a request and waits until its group was carried out.
    /// - Throws: What `perform` answered for this request; `timedOut` or `cancelled` when the caller left first.
    package func submit(_ request: Request, deadline: MonotonicInstant, isMutation: Bool) async throws(BackendError) -> Response {
        let call = LaneCall<Response>(clock: clock, deadline: deadline, isMutation: isMutation)
        let mustSchedule = state.withLock { state in
            state.waiting.append(Waiting(request: request, call: call))
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if mustSchedule { lane.enqueue { self.runGroup() } }
        return try await call.wait()
    }

    private func runGroup() {
        let group = state.withLock { state in
            let group = Array(state.waiting.prefix(maximumGroup))
            state.waiting.removeFirst(group.count)
            state.isScheduled = !state.waiting.isEmpty
            if state.isScheduled { lane.enqueue { self.runGroup() } }
            return group
        }
        carryOut(group.filter { $0.call.begin() }[...])
    }

    private func carryOut(_ group: ArraySlice<Waiting>) {
        guard let earliest = group.map(\.call.deadline).min() else { return }
        let results = perform(group.map(\.request), earliest)
        if group.count > 1, results.allSatisfy(Self.mayBeAnothersFault) {
            let middle = group.startIndex + group.count / 2
            carryOut(group[..<middle])
            carryOut(group[middle...])
            return
        }
        for (waiting, result) in zip(group, results) { waiting.call.finish(result) }
    }

    /// Whether a request failed, changed nothing, and could succeed without the others: what concerns the whole store would be the same for each of them.
    private static func mayBeAnothersFault(_ result: Result<Response, BackendError>) -> Bool {
        guard case .failure(let error) = result, error.outcome == .notApplied else { return false }
        return [.noSpace, .tooLarge, .corrupted, .failed].contains(error.code)
    }
}

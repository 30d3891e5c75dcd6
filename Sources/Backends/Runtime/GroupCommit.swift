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
    private let maximumWeight: Int
    private let weight: @Sendable (Request) -> Int
    private let perform: Perform

    /// Carries out a group on the lane: one result a request, in order.
    /// - Parameters:
    ///   - requests: The group.
    ///   - deadline: The earliest of the group, until when it waits for others.
    ///   - progressed: Called while the work goes on: then the callers stay although their deadline has passed.
    package typealias Perform =
        @Sendable (
            _ requests: [Request], _ deadline: MonotonicInstant, _ progressed: () -> Void
        ) -> [Result<Response, BackendError>]

    /// Creates a queue of requests over a lane.
    /// - Parameters:
    ///   - lane: Where groups are carried out.
    ///   - clock: The clock of the deadlines.
    ///   - maximumGroup: The most requests carried out together.
    ///   - maximumWeight: The most that the requests of a group may weigh together. One that weighs more is carried out by itself.
    ///   - weight: How much work a request is.
    ///   - perform: Carries out a group.
    package init(
        lane: any Lane, clock: any RuntimeClock, maximumGroup: Int = 4_096, maximumWeight: Int = .max,
        weight: @escaping @Sendable (Request) -> Int = { _ in 1 }, perform: @escaping Perform
    ) {
        self.lane = lane
        self.clock = clock
        self.maximumGroup = maximumGroup
        self.maximumWeight = maximumWeight
        self.weight = weight
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
            let group = first(of: state.waiting)
            state.waiting.removeFirst(group.count)
            state.isScheduled = !state.waiting.isEmpty
            if state.isScheduled { lane.enqueue { self.runGroup() } }
            return group
        }
        carryOut(group.filter { $0.call.begin() }[...])
    }

    /// The requests of the next group: as many as fit.
    private func first(of waiting: [Waiting]) -> [Waiting] {
        var group: [Waiting] = []
        var sum = 0
        for next in waiting.prefix(maximumGroup) {
            let (total, isTooMuch) = sum.addingReportingOverflow(weight(next.request))
            guard group.isEmpty || (!isTooMuch && total <= maximumWeight) else { break }
            sum = isTooMuch ? .max : total
            group.append(next)
        }
        return group
    }

    private func carryOut(_ group: ArraySlice<Waiting>) {
        guard let earliest = group.map(\.call.deadline).min() else { return }
        let results = perform(group.map(\.request), earliest) { for waiting in group { waiting.call.progressed() } }
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

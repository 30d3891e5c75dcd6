package import BackendContract
import Synchronization

/// Combines requests that wait for a lane (a serial queue for blocking work) at the same time into a group. A group
/// needs one lock, one write and one flush.
///
/// A request never waits for further requests: a group starts as soon as the lane is free and the lock is held.
/// Requests that arrive before that join the group. Later requests form the next group.
///
/// A request never fails because of another request. One request may cause a group to fail as a whole, without any
/// change. The two halves of the group are then performed separately, and are split again, until only that request
/// fails.
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
    private let hold: Hold
    private let perform: Perform

    /// Runs work while it holds the resources of a group, for example a lock between processes. Throws without
    /// running the work if the resources are not available before the deadline.
    package typealias Hold = @Sendable (_ deadline: MonotonicInstant, _ work: () -> Void) throws(BackendError) -> Void

    /// Performs a group on the lane. Returns one result for each request, in order.
    /// - Parameters:
    ///   - requests: The group.
    ///   - deadline: The earliest deadline of the group. It limits waits for other processes.
    ///   - progressed: Called to report progress. The callers then wait longer, even beyond their deadlines
    ///     (``LaneCall/progressed()``).
    package typealias Perform =
        @Sendable (
            _ requests: [Request], _ deadline: MonotonicInstant, _ progressed: () -> Void
        ) -> [Result<Response, BackendError>]

    /// Creates a queue of requests on a lane.
    /// - Parameters:
    ///   - lane: The lane that performs the groups.
    ///   - clock: The clock of the deadlines.
    ///   - maximumGroup: The maximum number of requests in a group.
    ///   - maximumWeight: The maximum total weight of a group. A heavier request forms a group alone.
    ///   - weight: Returns the weight of a request, which is the amount of its work.
    ///   - hold: Takes the resources of a group. The group is formed once they are held. If they cannot be taken, the
    ///     requests that were waiting when the attempt began fail with the same error.
    ///   - perform: Performs a group.
    package init(
        lane: any Lane, clock: any RuntimeClock, maximumGroup: Int = 4_096, maximumWeight: Int = .max,
        weight: @escaping @Sendable (Request) -> Int = { _ in 1 },
        hold: @escaping Hold = { _, work throws(BackendError) in work() }, perform: @escaping Perform
    ) {
        self.lane = lane
        self.clock = clock
        self.maximumGroup = maximumGroup
        self.maximumWeight = maximumWeight
        self.weight = weight
        self.hold = hold
        self.perform = perform
    }

    /// Submits a request and waits until its group was performed.
    /// - Throws: The error of `hold` or `perform` for this request; `timedOut` or `cancelled` if the caller stopped
    ///   waiting first.
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
        let (number, deadline) = state.withLock { state in
            (state.waiting.count, state.waiting.lazy.filter { !$0.call.isOver }.map(\.call.deadline).min())
        }
        // All callers have stopped waiting, so drop their requests.
        guard let deadline else { return _ = take { $0.prefix(number) } }
        var group: ArraySlice<Waiting> = []
        var results: [Result<Response, BackendError>] = []
        do throws(BackendError) {
            // Reason: "A group is formed once its lock is held" in Docs/Decisions/LocksAndCommits.md.
            try hold(deadline) {
                group = take(first(of:)).filter { $0.call.begin() }[...]
                results = carryOut(group) { for waiting in group { waiting.call.progressed() } }
            }
        } catch {
            group = take { $0.prefix(number) }
            results = group.map { _ in .failure(error) }
        }
        for (waiting, result) in zip(group, results) { waiting.call.finish(result) }
    }

    /// Removes requests from the start of the queue. Schedules another group if requests remain.
    private func take(_ choice: ([Waiting]) -> ArraySlice<Waiting>) -> ArraySlice<Waiting> {
        state.withLock { state in
            let group = choice(state.waiting)
            state.waiting.removeFirst(group.count)
            state.isScheduled = !state.waiting.isEmpty
            if state.isScheduled { lane.enqueue { self.runGroup() } }
            return group
        }
    }

    /// Returns the requests of the next group: as many as the limits allow.
    private func first(of waiting: [Waiting]) -> ArraySlice<Waiting> {
        var (count, sum) = (0, 0)
        for next in waiting.prefix(maximumGroup) {
            let (total, isTooMuch) = sum.addingReportingOverflow(weight(next.request))
            guard count == 0 || (!isTooMuch && total <= maximumWeight) else { break }
            sum = isTooMuch ? .max : total
            count += 1
        }
        return waiting.prefix(count)
    }

    private func carryOut(_ group: ArraySlice<Waiting>, _ progressed: () -> Void) -> [Result<Response, BackendError>] {
        guard let earliest = group.map(\.call.deadline).min() else { return [] }
        let results = perform(group.map(\.request), earliest, progressed)
        // Reason: "A failed group is carried out in halves" in Docs/Decisions/LocksAndCommits.md.
        guard group.count > 1, results.allSatisfy(Self.mayBeAnothersFault) else { return results }
        let middle = group.startIndex + group.count / 2
        return carryOut(group[..<middle], progressed) + carryOut(group[middle...], progressed)
    }

    /// Whether a request failed, changed nothing, and might succeed without the other requests of its group. Errors
    /// of the whole store are excluded, because each request alone would fail with the same error.
    private static func mayBeAnothersFault(_ result: Result<Response, BackendError>) -> Bool {
        guard case .failure(let error) = result, error.outcome == .notApplied else { return false }
        return [.noSpace, .tooLarge, .corrupted, .failed].contains(error.code)
    }
}

package import BackendContract
import Synchronization

/// Carries out requests together that wait for a lane at the same time: one lock, one write and one flush for all of them.
///
/// A request never waits for others: it starts as soon as the lane is free and the lock is held. Requests that arrive until then join its
/// group; those that arrive later form the next one.
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
    private let hold: Hold
    private let perform: Perform

    /// Does work while it holds what a group needs, such as a lock between processes. Throws, without doing the work, if that cannot be had
    /// until the deadline.
    package typealias Hold = @Sendable (_ deadline: MonotonicInstant, _ work: () -> Void) throws(BackendError) -> Void

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
    ///   - hold: Takes what a group needs; the group is formed once it is held. If that fails, so do the requests that waited when it began.
    ///   - perform: Carries out a group.
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
        let (number, deadline) = state.withLock { state in
            (state.waiting.count, state.waiting.lazy.filter { !$0.call.isOver }.map(\.call.deadline).min())
        }
        // Without a caller, nothing is needed.
        guard let deadline else { return _ = take { $0.prefix(number) } }
        var group: ArraySlice<Waiting> = []
        var results: [Result<Response, BackendError>] = []
        do throws(BackendError) {
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

    /// Takes requests from the beginning of the line, and goes on with the rest afterwards.
    private func take(_ choice: ([Waiting]) -> ArraySlice<Waiting>) -> ArraySlice<Waiting> {
        state.withLock { state in
            let group = choice(state.waiting)
            state.waiting.removeFirst(group.count)
            state.isScheduled = !state.waiting.isEmpty
            if state.isScheduled { lane.enqueue { self.runGroup() } }
            return group
        }
    }

    /// The requests of the next group: as many as fit.
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
        guard group.count > 1, results.allSatisfy(Self.mayBeAnothersFault) else { return results }
        let middle = group.startIndex + group.count / 2
        return carryOut(group[..<middle], progressed) + carryOut(group[middle...], progressed)
    }

    /// Whether a request failed, changed nothing, and could succeed without the others: what concerns the whole store would be the same for each of them.
    private static func mayBeAnothersFault(_ result: Result<Response, BackendError>) -> Bool {
        guard case .failure(let error) = result, error.outcome == .notApplied else { return false }
        return [.noSpace, .tooLarge, .corrupted, .failed].contains(error.code)
    }
}

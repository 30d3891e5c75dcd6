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
    private final class Waiting: WaitingRequest {
        let request: Request
        let call: LaneCall<Response>
        let weight: Int

        init(_ request: Request, _ call: LaneCall<Response>, weight: Int) {
            (self.request, self.call, self.weight) = (request, call, weight)
        }

        var deadline: MonotonicInstant { call.deadline }
        var isOver: Bool { call.isOver }
        func begin() -> Bool { call.begin() }
        func progressed() { call.progressed() }
        func fail(_ error: BackendError) { call.fail(error) }
    }

    private let queue: GroupQueue
    private let clock: any RuntimeClock
    private let weight: @Sendable (Request) -> Int

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
    ///   - hold: Runs work while it holds the resources of a group, for example a lock between processes. Throws without
    ///     running the work if they are not available before the deadline. The group is formed once they are held. If they cannot be taken, the
    ///     requests that were waiting when the attempt began fail with the same error. If that error is `timedOut`, only
    ///     the requests with the earliest deadline, or one at most 20 ms later, fail. The others are tried again.
    ///   - perform: Performs a group.
    package init(
        lane: any Lane, clock: any RuntimeClock, maximumGroup: Int = 4_096, maximumWeight: Int = .max,
        weight: @escaping @Sendable (Request) -> Int = { _ in 1 },
        hold: @escaping @Sendable (_ deadline: MonotonicInstant, _ work: () -> Void) throws(BackendError) -> Void = {
            _, work throws(BackendError) in work()
        }, perform: @escaping Perform
    ) {
        self.clock = clock
        self.weight = weight
        queue = GroupQueue(lane: lane, maximumGroup: maximumGroup, maximumWeight: maximumWeight, hold: hold) { group, progressed in
            let calls = group.map { unsafeDowncast($0, to: Waiting.self) }
            let results = Performer(perform: perform).results(of: calls[...], progressed)
            return {
                for (waiting, result) in zip(calls, results) {
                    switch result {
                    case .success(let response): waiting.call.succeed(response)
                    case .failure(let error): waiting.call.fail(error)
                    }
                }
            }
        }
    }

    /// Submits a request and waits until its group was performed.
    /// - Throws: The error of `hold` or `perform` for this request; `timedOut` or `cancelled` if the caller stopped
    ///   waiting first.
    package func submit(_ request: Request, deadline: MonotonicInstant, isMutation: Bool) async throws(BackendError) -> Response {
        let call = LaneCall<Response>(clock: clock, deadline: deadline, isMutation: isMutation)
        queue.add(Waiting(request, call, weight: weight(request)))
        return try await call.wait()
    }

    private struct Performer {
        let perform: Perform

        func results(of group: ArraySlice<Waiting>, _ progressed: () -> Void) -> [Result<Response, BackendError>] {
            guard var earliest = group.first?.deadline else { return [] }
            var requests: [Request] = []
            requests.reserveCapacity(group.count)
            for waiting in group {
                earliest = min(earliest, waiting.deadline)
                requests.append(waiting.request)
            }
            let results = perform(requests, earliest, progressed)
            // Reason: "A failed group is carried out in halves" in Docs/Decisions/LocksAndCommits.md.
            guard group.count > 1, results.allSatisfy(mayBeAnothersFault) else { return results }
            let middle = group.startIndex + group.count / 2
            return self.results(of: group[..<middle], progressed) + self.results(of: group[middle...], progressed)
        }

        /// Whether a request failed, changed nothing, and might succeed without the other requests of its group. Errors
        /// of the whole store are excluded, because each request alone would fail with the same error.
        private func mayBeAnothersFault(_ result: Result<Response, BackendError>) -> Bool {
            guard case .failure(let error) = result, error.outcome == .notApplied else { return false }
            return [.noSpace, .tooLarge, .corrupted, .failed].contains(error.code)
        }
    }
}

/// A request of a ``GroupCommit``, without its types.
private protocol WaitingRequest: AnyObject, Sendable {
    var deadline: MonotonicInstant { get }
    var weight: Int { get }
    /// Whether the caller has stopped waiting.
    var isOver: Bool { get }
    /// Notes that the work begins. Returns false if the caller has stopped waiting.
    func begin() -> Bool
    func progressed()
    func fail(_ error: BackendError)
}

/// The queue of a ``GroupCommit``. It does not know the types of requests, so the compiler can specialise it.
private final class GroupQueue: Sendable {
    private struct State {
        var waiting: [any WaitingRequest] = []
        var isScheduled = false
    }

    private let state = Mutex(State())
    private let lane: any Lane
    private let maximumGroup: Int
    private let maximumWeight: Int
    private let hold: @Sendable (_ deadline: MonotonicInstant, _ work: () -> Void) throws(BackendError) -> Void
    private let perform: Perform

    /// Performs a group. Returns work that gives each caller its result, to be run when the resources are released.
    typealias Perform = @Sendable (_ group: [any WaitingRequest], _ progressed: () -> Void) -> () -> Void

    init(
        lane: any Lane, maximumGroup: Int, maximumWeight: Int,
        hold: @escaping @Sendable (_ deadline: MonotonicInstant, _ work: () -> Void) throws(BackendError) -> Void,
        perform: @escaping Perform
    ) {
        (self.lane, self.maximumGroup, self.maximumWeight) = (lane, maximumGroup, maximumWeight)
        (self.hold, self.perform) = (hold, perform)
    }

    func add(_ request: any WaitingRequest) { insert { $0.append(request) } }

    /// Adds requests to the queue. Schedules a group unless one is scheduled already.
    private func insert(_ change: (inout [any WaitingRequest]) -> Void) {
        let mustSchedule = state.withLock { state in
            change(&state.waiting)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if mustSchedule { lane.enqueue { self.runGroup() } }
    }

    private func runGroup() {
        var deadline: MonotonicInstant?
        let number = state.withLock { state in
            for waiting in state.waiting where !waiting.isOver { deadline = min(deadline ?? waiting.deadline, waiting.deadline) }
            return state.waiting.count
        }
        // All callers have stopped waiting, so drop their requests.
        guard let deadline else { return _ = take { _ in number } }
        var finish: (() -> Void)?
        do throws(BackendError) {
            // Reason: "A group is formed once its lock is held" in Docs/Decisions/LocksAndCommits.md.
            try hold(deadline) {
                var group = take(first(of:))
                group.removeAll { !$0.begin() }
                if !group.isEmpty { finish = perform(group) { for waiting in group { waiting.progressed() } } }
            }
        } catch {
            var refused = take { _ in number }
            // The attempt ended at the earliest deadline, so requests with later deadlines may still get the resources.
            // Requests that would time out at nearly the same time fail together, because each attempt has a cost.
            let latest = deadline.advanced(by: .milliseconds(20))
            let others = error.code == .timedOut ? refused.filter { $0.deadline > latest } : []
            if !others.isEmpty {
                refused.removeAll { $0.deadline > latest }
                insert { $0.insert(contentsOf: others, at: 0) }
            }
            for waiting in refused { waiting.fail(error) }
        }
        finish?()
    }

    /// Removes requests from the start of the queue. Schedules another group if requests remain.
    /// - Parameter count: Returns the number of requests to remove.
    private func take(_ count: ([any WaitingRequest]) -> Int) -> [any WaitingRequest] {
        state.withLock { state in
            let count = count(state.waiting)
            var group = state.waiting
            if count < group.count {
                group = Array(state.waiting[..<count])
                state.waiting.removeFirst(count)
                lane.enqueue { self.runGroup() }
            } else {
                state.waiting = []
                state.isScheduled = false
            }
            return group
        }
    }

    /// Returns the number of requests of the next group: as many as the limits allow.
    private func first(of waiting: [any WaitingRequest]) -> Int {
        var (count, sum) = (0, 0)
        for next in waiting.prefix(maximumGroup) {
            let (total, isTooMuch) = sum.addingReportingOverflow(next.weight)
            guard count == 0 || (!isTooMuch && total <= maximumWeight) else { break }
            sum = isTooMuch ? .max : total
            count += 1
        }
        return count
    }
}

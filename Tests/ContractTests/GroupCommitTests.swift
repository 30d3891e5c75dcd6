import BackendContract
import BackendRuntime
import Synchronization
import TestSupport
import Testing

/// Tests of a queue that collects the requests that are waiting, and performs them together as one group.
/// A store uses it to commit a group in one transaction. A group may need a lock that another process holds.
@Suite(.inTurn) struct GroupCommitTests {
    private let clock = ManualClock()
    private let lane = TestLane(isHeld: true)
    private let groups = Shared<[[Int]]>([])

    /// Makes a queue that multiplies each request by ten and records the groups. Request 13 fails.
    private func makeQueue(maximumGroup: Int = 4_096) -> GroupCommit<Int, Int> {
        GroupCommit(lane: lane, clock: clock, maximumGroup: maximumGroup) { [groups] requests, _, _ in
            groups.value.withLock { $0.append(requests) }
            return requests.map { $0 == 13 ? .failure(BackendError(.conflicting, "Thirteen.")) : .success($0 * 10) }
        }
    }

    /// Submits requests one after the other. Each is submitted once the previous one is waiting.
    private func submit(
        _ requests: [(Int, MonotonicInstant)], to queue: GroupCommit<Int, Int>
    ) async -> [Task<Result<Int, BackendError>, Never>] {
        var tasks: [Task<Result<Int, BackendError>, Never>] = []
        let scheduled = clock.scheduled
        for (index, (request, deadline)) in requests.enumerated() {
            tasks.append(
                Task { @concurrent in
                    do throws(BackendError) { return .success(try await queue.submit(request, deadline: deadline, isMutation: true)) } catch
                    {
                        return .failure(error)
                    }
                })
            await clock.untilScheduled(scheduled + index + 1)
        }
        return tasks
    }

    @Test func `a single request does not wait for others`() async {
        let tasks = await submit([(1, .seconds(10))], to: makeQueue())
        #expect(lane.held == 1)
        lane.runNext()
        #expect(await tasks[0].value == .success(10))
        #expect(groups.value.withLock { $0 } == [[1]])
        #expect(lane.held == 0)
    }

    @Test func `requests that wait together form one group, and each has its own result`() async {
        let tasks = await submit([1, 13, 2, 3].map { ($0, .seconds(10)) }, to: makeQueue())
        #expect(lane.held == 1)
        lane.runNext()
        #expect(await tasks[0].value == .success(10))
        #expect(await tasks[1].value == .failure(BackendError(.conflicting, "Thirteen.")))
        #expect(await tasks[2].value == .success(20))
        #expect(await tasks[3].value == .success(30))
        #expect(groups.value.withLock { $0 } == [[1, 13, 2, 3]])
        #expect(lane.held == 0)
    }

    @Test func `a group has a maximum size, and the other requests form further groups`() async {
        let tasks = await submit([1, 2, 3, 4, 5].map { ($0, .seconds(10)) }, to: makeQueue(maximumGroup: 2))
        lane.runAll()
        #expect(groups.value.withLock { $0 } == [[1, 2], [3, 4], [5]])
        for (index, task) in tasks.enumerated() { #expect(await task.value == .success((index + 1) * 10)) }
    }

    @Test func `requests that arrive while a group is running form the next group`() async {
        let (gate, groups) = (Gate(), groups)
        let queue = GroupCommit<Int, Int>(lane: DispatchLane(label: "test"), clock: clock) { requests, _, _ in
            groups.value.withLock { $0.append(requests) }
            if requests == [1] { gate.block() }
            return requests.map { .success($0) }
        }
        let first = await submit([(1, .seconds(10))], to: queue)
        await gate.arrived()
        let second = Task { @concurrent in try await queue.submit(2, deadline: .seconds(10), isMutation: true) }
        await clock.untilScheduled(2)
        let third = Task { @concurrent in try await queue.submit(3, deadline: .seconds(10), isMutation: true) }
        await clock.untilScheduled(3)
        gate.open()
        #expect(await first[0].value == .success(1))
        #expect(await second.result.failure == nil)
        #expect(await third.result.failure == nil)
        #expect(groups.value.withLock { $0 } == [[1], [2, 3]])
    }

    @Test func `a request whose deadline passes in the queue is left out of its group`() async {
        let tasks = await submit([(1, .seconds(10)), (2, .seconds(5)), (3, .seconds(20))], to: makeQueue())
        clock.advance(to: .seconds(5))
        #expect(await tasks[1].value.failure?.code == .timedOut)
        #expect(await tasks[1].value.failure?.outcome == .notApplied)
        tasks[2].cancel()
        #expect(await tasks[2].value.failure?.code == .cancelled)
        lane.runAll()
        #expect(groups.value.withLock { $0 } == [[1]])
        #expect(await tasks[0].value == .success(10))
    }

    @Test func `a group whose callers have all timed out is not performed`() async {
        let queue = makeQueue()
        let tasks = await submit([(1, .seconds(5)), (2, .seconds(5))], to: queue)
        clock.advance(to: .seconds(5))
        lane.runAll()
        for task in tasks { #expect(await task.value.failure?.outcome == .notApplied) }
        #expect(groups.value.withLock { $0.isEmpty })
    }

    @Test(arguments: [BackendError.Code.noSpace, .tooLarge, .corrupted, .failed])
    func `a group that fails without changes is repeated in halves, until only the request that causes the error fails`(
        _ code: BackendError.Code
    ) async {
        let queue = failing { $0.contains(5) ? BackendError(code, "The whole group.") : nil }
        let tasks = await submit([1, 2, 3, 4, 5, 6, 7].map { ($0, .seconds(10)) }, to: queue)
        lane.runAll()
        for (request, task) in zip(1..., tasks) {
            #expect(await task.value == (request == 5 ? .failure(BackendError(code, "The whole group.")) : .success(request)))
        }
        #expect(groups.value.withLock { $0 } == [[1, 2, 3, 4, 5, 6, 7], [1, 2, 3], [4, 5, 6, 7], [4, 5], [4], [5], [6, 7]])
    }

    @Test(arguments: [BackendError.Code.timedOut, .locked, .unavailable, .accessDenied])
    func `a group is not repeated in halves if its error concerns the whole store`(_ code: BackendError.Code) async {
        let queue = failing { _ in BackendError(code, "The store.") }
        let tasks = await submit([1, 2, 3].map { ($0, .seconds(10)) }, to: queue)
        lane.runAll()
        for task in tasks { #expect(await task.value == .failure(BackendError(code, "The store."))) }
        #expect(groups.value.withLock { $0.count } == 1)
    }

    @Test func `a group whose outcome is unknown is not retried`() async {
        let queue = failing { _ in BackendError(.failed, "Lost.", outcome: .unknown) }
        let tasks = await submit([1, 2, 3].map { ($0, .seconds(10)) }, to: queue)
        lane.runAll()
        for task in tasks { #expect(await task.value.failure?.outcome == .unknown) }
        #expect(groups.value.withLock { $0.count } == 1)
    }

    /// Makes a queue that returns each request, or one error for the whole group.
    private func failing(_ error: @escaping @Sendable ([Int]) -> BackendError?) -> GroupCommit<Int, Int> {
        GroupCommit(lane: lane, clock: clock) { [groups] requests, _, _ in
            groups.value.withLock { $0.append(requests) }
            if let error = error(requests) { return requests.map { _ in .failure(error) } }
            return requests.map { .success($0) }
        }
    }

    /// Makes a queue whose groups need a lock. Taking the lock waits until the gate opens.
    /// - Parameter failure: The error of the first attempt to take the lock; nil if that attempt succeeds.
    private func locking(_ gate: Gate, _ failure: BackendError? = nil) -> GroupCommit<Int, Int> {
        GroupCommit(
            lane: DispatchLane(label: "test"), clock: clock,
            hold: { _, work throws(BackendError) in
                gate.block()
                if let failure, gate.arrivals == 1 { throw failure }
                work()
            },
            perform: { [groups] requests, _, _ in
                groups.value.withLock { $0.append(requests) }
                return requests.map { .success($0) }
            })
    }

    /// Submits one request, and submits the others once the queue waits for the lock.
    private func submit(
        _ first: Int, then others: [Int], to queue: GroupCommit<Int, Int>, _ gate: Gate
    ) async -> [Task<
        Result<Int, BackendError>, Never
    >] {
        let begun = await submit([(first, .seconds(10))], to: queue)
        await gate.arrived()
        return begun + (await submit(others.map { ($0, .seconds(20)) }, to: queue))
    }

    @Test func `requests that arrive while the queue waits for the lock join its group`() async {
        let gate = Gate()
        let tasks = await submit(1, then: [2, 3], to: locking(gate), gate)
        gate.open()
        for (request, task) in zip(1..., tasks) { #expect(await task.value == .success(request)) }
        #expect(groups.value.withLock { $0 } == [[1, 2, 3]])
        #expect(gate.arrivals == 1, "one lock")
    }

    @Test func `if the lock cannot be taken, the requests that waited at the start of the attempt fail, and later ones try again`() async {
        let gate = Gate()
        let failure = BackendError(.timedOut, "Locked.")
        let tasks = await submit(1, then: [2, 3], to: locking(gate, failure), gate)
        gate.open()
        #expect(await tasks[0].value == .failure(failure))
        #expect(await tasks[1].value == .success(2))
        #expect(await tasks[2].value == .success(3))
        #expect(groups.value.withLock { $0 } == [[2, 3]])
        #expect(gate.arrivals == 2)
    }

    @Test func `if the wait for the lock ends at the earliest deadline, only calls with that deadline fail, and the others try again`()
        async
    {
        let (attempts, failure) = (Shared<[MonotonicInstant]>([]), BackendError(.timedOut, "Locked."))
        let queue = GroupCommit<Int, Int>(
            lane: lane, clock: clock,
            hold: { deadline, work throws(BackendError) in
                let number = attempts.value.withLock { attempts in
                    attempts.append(deadline)
                    return attempts.count
                }
                if number == 1 { throw failure }
                work()
            },
            perform: { [groups] requests, _, _ in
                groups.value.withLock { $0.append(requests) }
                return requests.map { .success($0) }
            })
        let tasks = await submit([(1, .seconds(20)), (2, .seconds(5)), (3, .seconds(10)), (4, .seconds(5))], to: queue)
        lane.runAll()
        #expect(await tasks[0].value == .success(1))
        #expect(await tasks[1].value == .failure(failure))
        #expect(await tasks[2].value == .success(3))
        #expect(await tasks[3].value == .failure(failure))
        #expect(groups.value.withLock { $0 } == [[1, 3]])
        #expect(attempts.value.withLock { $0 } == [MonotonicInstant.seconds(5), .seconds(10)])
    }

    @Test func `a caller that times out while the queue waits for the lock has changed nothing, and the other requests continue`() async {
        let gate = Gate()
        let tasks = await submit(1, then: [2], to: locking(gate), gate)
        clock.advance(to: .seconds(10))
        #expect(await tasks[0].value.failure?.outcome == .notApplied)
        gate.open()
        #expect(await tasks[1].value == .success(2))
        #expect(groups.value.withLock { $0 } == [[2]])
    }

    @Test func `a failed group and its halves take the lock only once`() async {
        let (gate, asked) = (Gate(isOpen: true), Shared(0))
        let queue = GroupCommit<Int, Int>(
            lane: lane, clock: clock,
            hold: { _, work throws(BackendError) in
                gate.block()
                work()
            },
            perform: { requests, _, _ in
                asked.value.withLock { $0 += 1 }
                return requests.map { requests.contains(5) ? .failure(BackendError(.failed, "Five.")) : .success($0) }
            })
        let tasks = await submit([4, 5, 6].map { ($0, .seconds(10)) }, to: queue)
        lane.runAll()
        #expect(await tasks[0].value == .success(4))
        #expect(await tasks[1].value.failure?.code == .failed)
        #expect(await tasks[2].value == .success(6))
        #expect(gate.arrivals == 1)
        #expect(asked.value.withLock { $0 } == 5)
    }

    @Test func `a group has a maximum weight, and a heavier request forms a separate group`() async {
        let queue = GroupCommit<Int, Int>(lane: lane, clock: clock, maximumWeight: 10, weight: { $0 }) { [groups] requests, _, _ in
            groups.value.withLock { $0.append(requests) }
            return requests.map { .success($0) }
        }
        let tasks = await submit([1, 2, 40_000, 3, 7, 1].map { ($0, .seconds(10)) }, to: queue)
        lane.runAll()
        for task in tasks { #expect(await task.value.failure == nil) }
        #expect(groups.value.withLock { $0 } == [[1, 2], [40_000], [3, 7], [1]])
    }

    @Test func `callers wait beyond their deadline while their group reports progress`() async {
        let queue = GroupCommit<Int, Int>(lane: lane, clock: clock) { [clock] requests, _, progressed in
            for _ in 0..<100 {
                clock.advance(by: .seconds(1))
                progressed()
            }
            return requests.map { .success($0) }
        }
        let tasks = await submit([1, 2].map { ($0, .seconds(10)) }, to: queue)
        lane.runAll()
        for (request, task) in zip(1..., tasks) { #expect(await task.value == .success(request)) }
    }

    @Test func `a group gets the earliest deadline of the requests that have not timed out`() async {
        let told = Shared<MonotonicInstant?>(nil)
        let queue = GroupCommit<Int, Int>(lane: lane, clock: clock) { requests, deadline, _ in
            told.value.withLock { $0 = deadline }
            return requests.map { .success($0) }
        }
        _ = await submit([(1, .seconds(3)), (2, .seconds(9)), (3, .seconds(7))], to: queue)
        clock.advance(to: .seconds(3))
        lane.runAll()
        #expect(told.value.withLock { $0 } == .seconds(7))
    }
}

extension BackendError.Code {
    /// A code that no backend uses.
    fileprivate static let conflicting = BackendError.Code("conflicting")
}

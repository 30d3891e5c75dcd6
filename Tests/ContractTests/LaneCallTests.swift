import BackendContract
import BackendRuntime
import Dispatch
import Synchronization
import TestSupport
import Testing

/// Tests of calls that run work on a lane, a serial queue for work that may block, and wait for its result until a deadline.
@Suite(.inTurn) struct LaneCallTests {
    private let clock = ManualClock()
    private let lane = TestLane(isHeld: true)

    /// Runs work on the lane from a new task, with a deadline at 10 s. Returns once the caller waits.
    private func start(
        isMutation: Bool = true, _ work: @escaping @Sendable (LaneCall<Int>) throws(BackendError) -> Int
    ) async -> Task<Result<Int, BackendError>, Never> {
        let (clock, lane) = (clock, lane)
        let task = Task { @concurrent () async -> Result<Int, BackendError> in
            do throws(BackendError) {
                return .success(try await lane.run(clock: clock, deadline: .seconds(10), isMutation: isMutation, work))
            } catch {
                return .failure(error)
            }
        }
        await clock.untilScheduled(1)
        return task
    }

    @Test func `work that reports progress may run beyond the deadline of its call`() async {
        let working = await start { [clock] call in
            for _ in 0..<60 {
                clock.advance(by: .seconds(9))
                call.progressed()
            }
            return 4
        }
        lane.runAll()
        #expect(await working.value == .success(4))
        #expect(clock.pending == 0)
    }

    @Test func `a call times out if its work reports no progress for the length of a deadline`() async {
        let stuck = await start { [clock] call in
            clock.advance(by: .seconds(9))
            call.progressed()
            clock.advance(by: .seconds(9))
            #expect(!call.isOver)
            clock.advance(by: .seconds(2))
            #expect(call.isOver)
            return 4
        }
        lane.runAll()
        #expect(await stuck.value.failure?.code == .timedOut)
        #expect(await stuck.value.failure?.outcome == .unknown)
    }

    @Test func `a caller gets the result or error of its work, and its timer is removed`() async {
        let sum = await start { _ in 4 }
        lane.runAll()
        #expect(await sum.value == .success(4))
        #expect(clock.pending == 0)
        let failed = await start { _ throws(BackendError) in throw BackendError(.noSpace, "Full.") }
        await clock.untilScheduled(2)
        lane.runAll()
        #expect(await failed.value == .failure(BackendError(.noSpace, "Full.")))
    }

    @Test func `work whose deadline passes in the queue never starts`() async {
        let ran = Shared(0)
        let call = await start { _ in ran.count() }
        clock.advance(to: .seconds(10))
        #expect(await call.value.failure?.code == .timedOut)
        #expect(await call.value.failure?.outcome == .notApplied)
        lane.runAll()
        #expect(ran.number == 0)
    }

    @Test func `work whose deadline passed before the call never starts`() async {
        clock.advance(to: .seconds(11))
        let ran = Shared(0)
        let call = await start { _ in ran.count() }
        #expect(await call.value.failure?.code == .timedOut)
        lane.runAll()
        #expect(ran.number == 0)
    }

    @Test(arguments: [true, false])
    func `a deadline that passes during the work ends the call, and the outcome of a change is then unknown`(_ isMutation: Bool) async {
        let (ran, reason, clock) = (Shared(0), Shared<AbandonReason?>(nil), clock)
        let call = await start(isMutation: isMutation) { call in
            call.whenAbandoned { why in reason.value.withLock { $0 = why } }
            clock.advance(to: .seconds(10))
            return ran.count()
        }
        lane.runAll()
        #expect(await call.value.failure?.code == .timedOut)
        #expect(await call.value.failure?.outcome == (isMutation ? .unknown : .notApplied))
        #expect(ran.number == 1, "work that was begun goes on")
        #expect(reason.value.withLock { $0 } == .deadline)
    }

    @Test func `work whose caller is cancelled in the queue never starts`() async {
        let ran = Shared(0)
        let call = await start { _ in ran.count() }
        call.cancel()
        #expect(await call.value.failure?.code == .cancelled)
        #expect(await call.value.failure?.outcome == .notApplied)
        lane.runAll()
        #expect(ran.number == 0)
        #expect(clock.pending == 0)
    }

    @Test func `a cancellation during the work is reported to the caller and to the work`() async {
        let (reason, late) = (Shared<AbandonReason?>(nil), Shared<AbandonReason?>(nil))
        let task = Shared<Task<Result<Int, BackendError>, Never>?>(nil)
        let call = await start { call in
            call.whenAbandoned { why in reason.value.withLock { $0 = why } }
            task.value.withLock { $0 }?.cancel()
            // A handler that is added after the caller has returned is called at once.
            call.whenAbandoned { why in late.value.withLock { $0 = why } }
            return 1
        }
        task.value.withLock { $0 = call }
        lane.runAll()
        #expect(await call.value.failure?.code == .cancelled)
        #expect(await call.value.failure?.outcome == .unknown)
        #expect(reason.value.withLock { $0 } == .cancellation)
        #expect(late.value.withLock { $0 } == .cancellation)
    }

    @Test func `work that has ended is not notified when the deadline of its call passes later`() async {
        let reason = Shared<AbandonReason?>(nil)
        let call = await start { call in
            call.whenAbandoned { why in reason.value.withLock { $0 = why } }
            return 1
        }
        lane.runAll()
        #expect(await call.value == .success(1))
        clock.advance(to: .seconds(20))
        call.cancel()
        #expect(reason.value.withLock { $0 } == nil)
    }

    @Test func `work that starts at the moment of its deadline is never reported as not applied`() async {
        let rounds = (0..<20_000).map { _ in (clock: ManualClock(), lane: TestLane(isHeld: true), ran: Shared(0)) }
        let calls = rounds.map { round in
            Task { @concurrent () async -> BackendError? in
                do throws(BackendError) {
                    _ = try await round.lane.run(clock: round.clock, deadline: .seconds(10), isMutation: true) { (_: LaneCall<Int>) in
                        round.ran.count()
                    }
                    return nil
                } catch {
                    return error
                }
            }
        }
        for round in rounds { await round.clock.untilScheduled(1) }
        // Two threads run through the rounds in step: one starts the work, the other lets the deadline pass.
        let step = Atomic(0)
        DispatchQueue.concurrentPerform(iterations: 2) { side in
            for (index, round) in rounds.enumerated() {
                step.add(1, ordering: .sequentiallyConsistent)
                for _ in 0..<20_000 where step.load(ordering: .sequentiallyConsistent) < 2 * (index + 1) {}
                if side == 0 {
                    for _ in 0..<(index % 1_000) { _ = step.load(ordering: .sequentiallyConsistent) }
                    round.lane.runAll()
                } else {
                    round.clock.advance(to: .seconds(10))
                }
            }
        }
        for (round, call) in zip(rounds, calls) {
            let error = await call.value
            #expect((round.ran.number > 0) == (error?.outcome != .notApplied))
        }
    }
}

extension Result {
    var failure: Failure? { if case .failure(let failure) = self { failure } else { nil } }
}

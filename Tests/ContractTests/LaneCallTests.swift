import BackendContract
import BackendRuntime
import Dispatch
import Synchronization
import TestSupport
import Testing

@Suite(.inTurn) struct LaneCallTests {
    private let clock = ManualClock()
    private let lane = TestLane(isHeld: true)

    /// Calls the lane from a task of its own, with a deadline at 10 s, and returns once the caller waits.
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

    @Test func `the deadline is for waiting, and not for work that goes on`() async {
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

    @Test func `work that shows no progress for as long as a call may wait is left`() async {
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

    @Test func `a caller gets what its work returned or threw, and its timer is gone`() async {
        let sum = await start { _ in 4 }
        lane.runAll()
        #expect(await sum.value == .success(4))
        #expect(clock.pending == 0)
        let failed = await start { _ throws(BackendError) in throw BackendError(.noSpace, "Full.") }
        await clock.untilScheduled(2)
        lane.runAll()
        #expect(await failed.value == .failure(BackendError(.noSpace, "Full.")))
    }

    @Test func `a deadline that passes in the line means that nothing is begun`() async {
        let ran = Shared(0)
        let call = await start { _ in ran.count() }
        clock.advance(to: .seconds(10))
        #expect(await call.value.failure?.code == .timedOut)
        #expect(await call.value.failure?.outcome == .notApplied)
        lane.runAll()
        #expect(ran.number == 0)
    }

    @Test func `a deadline that has passed before the call means that nothing is begun`() async {
        clock.advance(to: .seconds(11))
        let ran = Shared(0)
        let call = await start { _ in ran.count() }
        #expect(await call.value.failure?.code == .timedOut)
        lane.runAll()
        #expect(ran.number == 0)
    }

    @Test(arguments: [true, false])
    func `a deadline that passes under way leaves the outcome of a change unknown`(_ isMutation: Bool) async {
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

    @Test func `a cancelled caller in the line means that nothing is begun`() async {
        let ran = Shared(0)
        let call = await start { _ in ran.count() }
        call.cancel()
        #expect(await call.value.failure?.code == .cancelled)
        #expect(await call.value.failure?.outcome == .notApplied)
        lane.runAll()
        #expect(ran.number == 0)
        #expect(clock.pending == 0)
    }

    @Test func `a caller that is cancelled under way is told so, and so is its work`() async {
        let (reason, late) = (Shared<AbandonReason?>(nil), Shared<AbandonReason?>(nil))
        let task = Shared<Task<Result<Int, BackendError>, Never>?>(nil)
        let call = await start { call in
            call.whenAbandoned { why in reason.value.withLock { $0 = why } }
            task.value.withLock { $0 }?.cancel()
            // Whoever asks after the caller has left is told at once.
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

    @Test func `work that ended in time hears nothing of a later deadline`() async {
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

    @Test func `work that begins at the moment of its deadline is never called not applied`() async {
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
        // Two threads go through the rounds in step: one begins the work, the other lets the deadline pass.
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

import BackendRuntime
import Synchronization
import TestSupport
import Testing

/// Tests of actions that are scheduled on the real clock.
@Suite(.inTurn) struct SystemClockTests {
    private let clock = SystemClock()

    private func instant(_ milliseconds: Int) -> MonotonicInstant { clock.now.advanced(by: .milliseconds(milliseconds)) }

    @Test(.timeLimit(.minutes(10))) func `actions run once, in the order of their times, whatever the order of scheduling`()
        async
    {
        let times = (0..<200).map { ($0 * 37) % 100 }
        let begin = clock.now
        let run = Mutex<[(due: MonotonicInstant, at: MonotonicInstant)]>([])
        await withCheckedContinuation { continuation in
            for time in times {
                let due = begin.advanced(by: .milliseconds(20 + time))
                _ = clock.schedule(at: due) {
                    let count = run.withLock { run in
                        run.append((due, clock.now))
                        return run.count
                    }
                    if count == times.count { continuation.resume() }
                }
            }
        }
        let all = run.withLock(\.self)
        #expect(all.allSatisfy { $0.at >= $0.due })
        #expect(all.map(\.due) == all.map(\.due).sorted())
    }

    @Test(.timeLimit(.minutes(10))) func `a cancelled action does not run and releases its references at once`() async {
        // On a busy machine, the action can be due before it is cancelled. Then the test repeats with more time.
        var delay = 50
        while await !isCancelled(before: delay) { delay *= 4 }
    }

    /// Schedules an action and cancels it, and expects that it does not run.
    /// - Returns: False if the action was due before it was cancelled. Nothing is expected then.
    private func isCancelled(before delay: Int) async -> Bool {
        final class Held: Sendable {}
        var held: Held? = Held()
        weak let remains = held
        let (due, ran) = (instant(delay), Shared(0))
        let action = clock.schedule(at: due) { [held] in
            _ = held
            ran.count()
        }
        held = nil
        let remained = remains != nil
        action.cancel()
        action.cancel()
        let remainsAfterwards = remains != nil
        let wasInTime = clock.now < due
        // A later action still runs, although an earlier one was cancelled.
        await withCheckedContinuation { continuation in
            _ = clock.schedule(at: due.advanced(by: .milliseconds(50))) { continuation.resume() }
        }
        guard wasInTime else { return false }
        #expect(remained && !remainsAfterwards)
        #expect(ran.number == 0)
        return true
    }

    @Test(.timeLimit(.minutes(10))) func `an action in the past runs at once, and an action far in the future delays no other`() async {
        let far = clock.schedule(at: MonotonicInstant(nanoseconds: .max)) { Issue.record("the end of time came") }
        for time in [MonotonicInstant(nanoseconds: .min), MonotonicInstant(nanoseconds: 0), clock.now, instant(1)] {
            await withCheckedContinuation { continuation in _ = clock.schedule(at: time) { continuation.resume() } }
        }
        far.cancel()
    }

    @Test func `a duration of more nanoseconds than 64 bits can hold becomes the largest or smallest number that they can hold`() {
        #expect(Duration.seconds(Int64.max).wholeNanoseconds == .max)
        #expect(Duration.seconds(Int64.min).wholeNanoseconds == .min)
        #expect(Duration(secondsComponent: 9_223_372_036, attosecondsComponent: 900_000_000_000_000_000).wholeNanoseconds == .max)
        #expect(Duration.milliseconds(1_500).wholeNanoseconds == 1_500_000_000)
    }

    @Test(.timeLimit(.minutes(10))) func `actions that many tasks schedule at once may each schedule another action`() async {
        await withTaskGroup { group in
            for _ in 0..<20 {
                group.addTask {
                    for _ in 0..<20 {
                        await withCheckedContinuation { continuation in
                            _ = clock.schedule(at: instant(1)) { _ = clock.schedule(at: instant(1)) { continuation.resume() } }
                        }
                    }
                }
            }
        }
    }
}

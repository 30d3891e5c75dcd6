import BackendContract
import BackendRuntime
import Synchronization

/// Counts the records of one collection that a sweep has done.
final class RecordMeter: Sendable {
    private let total: Int?
    private let clock: any RuntimeClock
    private let start: MonotonicInstant
    private let finished = Atomic(0)

    /// - Parameter total: How many there are, as far as that is known.
    init(_ total: Int?, _ clock: any RuntimeClock) {
        (self.total, self.clock, start) = (total, clock, clock.now)
    }

    /// Counts one more.
    func next() -> MigrationProgress.Records {
        let done = finished.add(1, ordering: .relaxed).newValue
        let seconds = Double(start.duration(to: clock.now).wholeNanoseconds) / 1e9
        return MigrationProgress.Records(
            finished: done, total: total.map { max($0, done) }, perSecond: seconds > 0 ? Double(done) / seconds : nil)
    }
}

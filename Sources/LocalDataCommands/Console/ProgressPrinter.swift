import BackendRuntime
import Foundation
import Synchronization

/// Shows the progress of a long command as one line on standard error that is overwritten.
final class ProgressPrinter: Sendable {
    private struct State {
        var start: MonotonicInstant
        var shown: MonotonicInstant?
        var done = 0
        var pass = 1
    }

    /// The shortest time between two lines.
    private static let interval = Duration.milliseconds(200)

    private let clock: any RuntimeClock
    private let state: Mutex<State>

    private init(clock: any RuntimeClock) {
        self.clock = clock
        state = Mutex(State(start: clock.now))
    }

    /// Runs work, and shows its progress if standard error is a terminal and the output is text.
    /// - Parameter body: The work. It gets nil if no progress is shown.
    static func showing<Answer>(unless isJSON: Bool, _ body: (ProgressPrinter?) async throws -> Answer) async rethrows -> Answer {
        guard !isJSON, isatty(STDERR_FILENO) == 1 else { return try await body(nil) }
        let printer = ProgressPrinter(clock: Runtime.live.clock)
        defer { printer.end() }
        return try await body(printer)
    }

    /// Shows a new state, unless the last one was shown a moment ago.
    /// - Parameter passes: The number of times that the work processes everything. If `done` falls, the next pass has begun.
    func show(_ subject: String, done: Int, total: Int?, unit: ProgressLine.Unit, passes: Int = 1) {
        let now = clock.now
        let text: String? = state.withLock { state in
            if done < state.done { (state.pass, state.start) = (state.pass + 1, now) }
            state.done = done
            if let shown = state.shown, shown.duration(to: now) < Self.interval { return nil }
            state.shown = now
            let line = ProgressLine(subject, done: done, total: total, unit: unit, elapsed: state.start.duration(to: now)).text
            return passes > 1 ? "\(min(state.pass, passes)) of \(passes): \(line)" : line
        }
        if let text { Self.write("\r\u{1B}[K\(text.escapingControls())") }
    }

    /// Removes the line, so that the output of the command begins at the margin.
    private func end() {
        if state.withLock({ $0.shown != nil }) { Self.write("\r\u{1B}[K") }
    }

    private static func write(_ text: String) { try? FileHandle.standardError.write(contentsOf: Data(text.utf8)) }
}

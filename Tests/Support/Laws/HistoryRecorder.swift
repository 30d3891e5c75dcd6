import Synchronization

/// Gives a number to each begin and each end of a call, and collects the calls on each value.
package final class HistoryRecorder: Sendable {
    private let state = Mutex((clock: 0, histories: [String: RegisterHistory]()))

    package init() {}

    package func tick() -> Int {
        state.withLock { state in
            state.clock += 1
            return state.clock
        }
    }

    package func add(_ name: String, _ action: RegisterHistory.Action, _ begin: Int, _ end: Int) {
        state.withLock { $0.histories[name, default: RegisterHistory()].add(action, begin, end) }
    }

    package var histories: [String: RegisterHistory] { state.withLock { $0.histories } }
}

import LocalDataObservation
import Synchronization

/// The records that result from the changes of a sequence, and the changes that contradict earlier ones.
struct Replay<Record: Equatable & Sendable>: Sendable {
    private(set) var records: [String: Record] = [:]
    private(set) var breaks: [String] = []
    private(set) var count = 0

    mutating func apply(_ change: RecordChange<Record>) {
        count += 1
        let present = records[change.id]
        switch change {
        case .inserted: if present != nil { breaks.append("\(change.id) was inserted, and was there") }
        case .changed(_, let old, _):
            if present == nil { breaks.append("\(change.id) was changed, and was not there") }
            if let old, old != present { breaks.append("\(change.id) had another old value") }
        case .removed(_, let old):
            if present == nil { breaks.append("\(change.id) was removed, and was not there") }
            if let old, old != present { breaks.append("\(change.id) had another old value") }
        }
        change.apply(to: &records)
    }
}

/// Lets a reader pass, or makes it wait, as a test decides.
final class Pace: Sendable {
    private struct State {
        var isHeld = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    func hold() { state.withLock { $0.isHeld = true } }

    func release() {
        let waiting = state.withLock { state in
            state.isHeld = false
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    func pass() async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                if state.isHeld { state.waiting.append(continuation) }
                return !state.isHeld
            }
            if isFree { continuation.resume() }
        }
    }
}

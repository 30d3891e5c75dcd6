import Synchronization

/// What several callers did to one value, and whether one order of the calls, each at one moment between its begin and its end, explains what they saw.
package struct RegisterHistory: Sendable {
    package enum Action: Hashable, Sendable {
        case read(String?)
        case write(String?)
        /// Saw the first, left the second.
        case swap(String?, String?)
    }

    package struct Call: Sendable {
        package let action: Action
        package let begin: Int
        /// `Int.max` for a call that may take effect at any later time, or never.
        package let end: Int
    }

    package private(set) var calls: [Call] = []

    package init() {}

    package mutating func add(_ action: Action, _ begin: Int, _ end: Int) { calls.append(Call(action: action, begin: begin, end: end)) }

    /// A search for such an order (Wing and Gong), remembering the states that were found to lead nowhere.
    package func isLinearizable(from start: String?) -> Bool {
        struct Position: Hashable {
            let done: UInt64
            let value: String?
        }
        precondition(calls.count <= 64)
        let certain = calls.indices.reduce(UInt64(0)) { calls[$1].end == .max ? $0 : $0 | 1 << UInt64($1) }
        var dead: Set<Position> = []
        func search(_ position: Position) -> Bool {
            if position.done & certain == certain { return true }
            if !dead.insert(position).inserted { return false }
            let open = calls.indices.filter { position.done & 1 << UInt64($0) == 0 }
            // Nothing that began after an open call had ended can come before that call.
            let horizon = open.map { calls[$0].end }.min() ?? .max
            for index in open where calls[index].begin <= horizon {
                let value: String?
                switch calls[index].action {
                case .read(let seen):
                    guard seen == position.value else { continue }
                    value = seen
                case .write(let written): value = written
                case .swap(let seen, let left):
                    guard seen == position.value else { continue }
                    value = left
                }
                if search(Position(done: position.done | 1 << UInt64(index), value: value)) { return true }
            }
            return false
        }
        return search(Position(done: 0, value: start))
    }
}

/// Numbers the begins and ends of calls, and collects the calls of each value.
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

/// The state of a value, as far as its callers can observe it.
package protocol SequentialModel: Hashable, Sendable {
    associatedtype Action: Sendable

    /// Returns the possible states after an action. The list is empty if the result that the caller saw is impossible.
    func after(_ action: Action) -> [Self]
}

/// The calls of several callers on one value.
///
/// A history is linearizable if one order of the calls explains all results.
/// Each call takes effect at one moment between its begin and its end.
package struct CallHistory<Model: SequentialModel>: Sendable {
    package typealias Action = Model.Action

    package struct Call: Sendable {
        package let action: Action
        package let begin: Int
        /// The moment at which the call returned; `Int.max` for a call that may take effect at any later time, or never.
        package let end: Int
        /// Whether the call may have had no effect.
        package let isOptional: Bool
    }

    package private(set) var calls: [Call] = []

    package init() {}

    /// Adds a call.
    /// - Parameter isOptional: Whether the call may have had no effect. A call without an end is always optional.
    package mutating func add(_ action: Action, _ begin: Int, _ end: Int, isOptional: Bool = false) {
        calls.append(Call(action: action, begin: begin, end: end, isOptional: isOptional || end == .max))
    }

    private struct Position: Hashable {
        let done: UInt64
        let state: Model
    }

    /// Returns whether the history is linearizable. It may have at most 64 calls.
    ///
    /// The search tries orders of the calls (Wing and Gong), and remembers states that lead to no solution (Lowe).
    package func isLinearizable(from start: Model) -> Bool {
        precondition(calls.count <= 64)
        let certain = calls.indices.reduce(UInt64(0)) { calls[$1].isOptional ? $0 : $0 | 1 << UInt64($1) }
        var dead: Set<Position> = []
        func search(_ position: Position) -> Bool {
            if position.done & certain == certain { return true }
            if !dead.insert(position).inserted { return false }
            // A call that began after an open call had ended cannot precede that call.
            var (horizon, latest) = (Int.max, Int.min)
            for index in calls.indices {
                if position.done & 1 << UInt64(index) != 0 {
                    latest = max(latest, calls[index].begin)
                } else if !calls[index].isOptional {
                    horizon = min(horizon, calls[index].end)
                }
            }
            for index in calls.indices
            where position.done & 1 << UInt64(index) == 0 && calls[index].begin <= horizon && calls[index].end >= latest {
                for state in position.state.after(calls[index].action) {
                    if search(Position(done: position.done | 1 << UInt64(index), state: state)) { return true }
                }
            }
            return false
        }
        return search(Position(done: 0, state: start))
    }
}

/// A value that calls read, write and swap, as a model without a store.
package struct Register: SequentialModel {
    package enum Action: Hashable, Sendable {
        case read(String?)
        case write(String?)
        /// The call saw the first value and stored the second one.
        case swap(String?, String?)
    }

    let value: String?

    package init(value: String?) { self.value = value }

    package func after(_ action: Action) -> [Register] {
        switch action {
        case .read(let seen): seen == value ? [self] : []
        case .write(let written): [Register(value: written)]
        case .swap(let seen, let left): seen == value ? [Register(value: left)] : []
        }
    }
}

package typealias RegisterHistory = CallHistory<Register>

extension CallHistory<Register> {
    package func isLinearizable(from start: String?) -> Bool { isLinearizable(from: Register(value: start)) }
}

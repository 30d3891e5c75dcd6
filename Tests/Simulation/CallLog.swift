import BackendContract
import LocalData
import Synchronization
import TestSupport

/// What callers did to one value, and what they were told.
final class CallLog: Sendable {
    private struct State {
        var clock = 0
        var calls = RegisterHistory()
        var open: [Int: (action: RegisterHistory.Action, begin: Int)] = [:]
        var lines: [String] = []
        var counts: [String: Int] = [:]
    }

    private let state = Mutex(State())
    private let world: Simulation

    init(_ world: Simulation) { self.world = world }

    /// Every call that counts: unfinished changes too, which may have happened.
    var history: RegisterHistory {
        state.withLock { state in
            var all = state.calls
            for (_, call) in state.open.sorted(by: { $0.key < $1.key }) { all.add(call.action, call.begin, .max) }
            return all
        }
    }

    var lines: [String] { state.withLock(\.lines) }
    var counts: [String: Int] { state.withLock(\.counts) }

    /// Writes something down that is no call.
    func note(_ text: String) {
        state.withLock { $0.lines.append("\($0.clock): \(text)") }
        world.note(text)
    }

    /// A call that began and ended now.
    func add(_ action: RegisterHistory.Action) {
        state.withLock { state in
            state.clock += 2
            state.calls.add(action, state.clock - 1, state.clock)
            state.lines.append("\(state.clock): \(action)")
        }
    }

    private func begin(_ action: RegisterHistory.Action?, _ text: String) -> Int {
        state.withLock { state in
            state.clock += 1
            if let action { state.open[state.clock] = (action, state.clock) }
            state.lines.append("\(state.clock): \(text) begins")
            return state.clock
        }
    }

    /// - Parameter isLasting: Whether the call counts as ended; one that may still happen stays open.
    private func end(_ number: Int, _ action: RegisterHistory.Action?, _ answer: String, stays: Bool = false) {
        state.withLock { state in
            state.clock += 1
            if !stays { state.open[number] = nil }
            if let action { state.calls.add(action, number, state.clock) }
            state.lines.append("\(state.clock): the call of \(number) ends: \(answer)")
            state.counts[String(answer.prefix { $0 != ":" }), default: 0] += 1
        }
        world.note(answer)
    }

    func read(_ body: () async throws -> String?) async {
        let number = begin(nil, "a read")
        do {
            let value = try await body()
            end(number, .read(value), "read: \(value ?? "nothing")")
        } catch let error as StorageError {
            end(number, nil, "read \(error.code)")
        } catch {
            end(number, nil, "read cancelled")
        }
    }

    /// A call that puts something in the place of what it sees.
    func swap(_ value: String, _ body: () async throws -> String?) async {
        // What it sees is known when it ends; until then it is a change that may happen.
        await change(.write(value), "update", { .swap($0, value) }, body)
    }

    func write(_ value: String?, _ body: () async throws -> Void) async {
        await change(.write(value), value == nil ? "remove" : "set", { _ in .write(value) }) {
            try await body()
            return nil
        }
    }

    private func change(
        _ action: RegisterHistory.Action, _ kind: String, _ made: (String?) -> RegisterHistory.Action, _ body: () async throws -> String?
    ) async {
        let number = begin(action, "\(kind): \(action)")
        do {
            let seen = try await body()
            end(number, made(seen), kind)
        } catch let error as StorageError {
            switch error.outcome {
            case .applied: end(number, action, "\(kind) \(error.code) applied")
            case .notApplied: end(number, nil, "\(kind) \(error.code) notApplied")
            case .unknown: end(number, nil, "\(kind) \(error.code) unknown", stays: true)
            }
        } catch {
            end(number, nil, "\(kind) cancelled", stays: true)
        }
    }
}

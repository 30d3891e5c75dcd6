import Synchronization
package import Testing

/// Lets a few suites run at a time. Swift Testing starts everything at once; on a small machine the calls of a test then wait for those of all others, longer than
/// any deadline, and nothing that a test says of time holds.
package struct TurnTrait: SuiteTrait, TestScoping {
    package let isRecursive = false

    @concurrent
    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        await Turns.all.take()
        defer { Turns.all.giveBack() }
        try await function()
    }
}

extension Trait where Self == TurnTrait {
    /// The suite waits for its turn; its tests run at the same time as each other.
    package static var inTurn: TurnTrait { TurnTrait() }
}

/// So many places, given in the order of asking.
private final class Turns: Sendable {
    static let all = Turns(3)

    private struct State {
        var free: Int
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    private init(_ count: Int) { state = Mutex(State(free: count)) }

    func take() async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                guard state.free == 0 else {
                    state.free -= 1
                    return true
                }
                state.waiting.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
    }

    func giveBack() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard !state.waiting.isEmpty else {
                state.free += 1
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.resume()
    }
}

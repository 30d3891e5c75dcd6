import Synchronization
package import Testing

/// Lets a few suites run at a time. Swift Testing starts everything at once; on a small machine the calls of a test then wait for those of all others, longer than
/// any deadline, and nothing that a test says of time holds.
package struct TurnTrait: SuiteTrait, TestScoping {
    package let isRecursive = false
    /// How many of the places the suite takes.
    let places: Int

    @concurrent
    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        await Turns.all.take(places)
        defer { Turns.all.giveBack(places) }
        try await function()
    }
}

extension Trait where Self == TurnTrait {
    /// The suite waits for its turn; its tests run at the same time as each other.
    package static var inTurn: TurnTrait { TurnTrait(places: 1) }

    /// The suite waits until no other runs: it uses every core and its time is told, or what it looks at is disturbed by others.
    package static var alone: TurnTrait { TurnTrait(places: Turns.count) }
}

/// So many places, given in the order of asking.
private final class Turns: Sendable {
    static let count = 3
    static let all = Turns()

    private struct State {
        var free = Turns.count
        var waiting: [(places: Int, continuation: CheckedContinuation<Void, Never>)] = []

        /// Who can go on now.
        mutating func next() -> [CheckedContinuation<Void, Never>] {
            var next: [CheckedContinuation<Void, Never>] = []
            while let first = waiting.first, first.places <= free {
                free -= first.places
                next.append(waiting.removeFirst().continuation)
            }
            return next
        }
    }

    private let state = Mutex(State())

    func take(_ places: Int) async {
        await withCheckedContinuation { continuation in
            let next = state.withLock { state in
                state.waiting.append((places, continuation))
                return state.next()
            }
            for continuation in next { continuation.resume() }
        }
    }

    func giveBack(_ places: Int) {
        let next = state.withLock { state in
            state.free += places
            return state.next()
        }
        for continuation in next { continuation.resume() }
    }
}

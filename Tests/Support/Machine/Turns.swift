import Synchronization
package import Testing

/// Limits how many suites run at the same time.
///
/// Swift Testing starts all tests at once. On a small machine the calls of one test then wait for those of all others,
/// longer than any deadline, and no measured time is meaningful.
package struct TurnTrait: SuiteTrait, TestScoping {
    package let isRecursive = false
    /// How many of the places in ``Turns`` the suite takes while it runs.
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
    /// Makes the suite wait until one of the places is free. The tests of the suite run concurrently.
    package static var inTurn: TurnTrait { TurnTrait(places: 1) }

    /// Makes the suite wait until no other one runs. For suites that use every core and measure time,
    /// or that other tests would disturb.
    package static var alone: TurnTrait { TurnTrait(places: Turns.count) }
}

/// A limited number of places for running suites. Suites get them in the order of their requests.
private final class Turns: Sendable {
    static let count = 3
    static let all = Turns()

    private struct State {
        var free = Turns.count
        var waiting: [(places: Int, continuation: CheckedContinuation<Void, Never>)] = []

        /// Returns the callers that can continue now.
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

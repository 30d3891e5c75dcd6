import BackendContract
import Synchronization

/// What is wrong with media for a while, and who watches what is read.
package final class StoreConditions: Sendable {
    /// What is wrong with every look and every change.
    package enum Trouble: String, Hashable, Sendable, Codable {
        case locked, unavailable
        /// Every change is refused because there is no room. Reads see the content.
        case full

        /// Whether reads do not see the content.
        var hidesContent: Bool { self != .full }
    }

    /// How a call goes wrong.
    package enum Failure: String, Hashable, Sendable, Codable, CaseIterable {
        /// It says so, and did nothing.
        case refuse
        /// It made the change, and its answer is lost.
        case loseAnswer
        /// Neither the change was made nor is there an answer.
        case vanish
    }

    private struct State {
        var troubles: [String: Trouble] = [:]
        var failures: [String: [Failure]] = [:]
        var failed = 0
        var reader: (@Sendable (_ medium: String, [StorageAddress]) -> Void)?
    }

    private let state = Mutex(State())

    package init() {}

    func set(_ trouble: Trouble?, on medium: String) { state.withLock { $0.troubles[medium] = trouble } }

    /// Lets the next calls of a medium fail.
    func fail(_ failures: [Failure], on medium: String) { state.withLock { $0.failures[medium, default: []] += failures } }

    /// Nothing is wrong any more.
    func calm() { state.withLock { ($0.troubles, $0.failures) = ([:], [:]) } }

    /// Whether nothing is wrong, and no call is to fail.
    var isCalm: Bool { state.withLock { $0.troubles.isEmpty && $0.failures.values.allSatisfy(\.isEmpty) } }

    func trouble(of medium: String) -> Trouble? { state.withLock { $0.troubles[medium] } }

    /// Whether reads of a medium do not see its content.
    func hidesContent(of medium: String) -> Bool { trouble(of: medium)?.hidesContent == true }

    func takeFailure(of medium: String) -> Failure? {
        state.withLock { state in
            guard state.failures[medium]?.isEmpty == false else { return nil }
            state.failed += 1
            return state.failures[medium]?.removeFirst()
        }
    }

    /// How many calls have failed. One that was to fail may do so much later.
    var failedCalls: Int { state.withLock(\.failed) }

    /// Names who is told of every look at a slot.
    func watchReads(_ action: @escaping @Sendable (_ medium: String, [StorageAddress]) -> Void) { state.withLock { $0.reader = action } }

    func lookedAt(_ medium: String, _ addresses: [StorageAddress]) { state.withLock(\.reader)?(medium, addresses) }
}

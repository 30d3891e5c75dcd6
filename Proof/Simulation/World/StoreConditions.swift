import BackendContract
import Synchronization

/// The faults of all stores of a run: which stores are locked, unavailable or full, and which calls fail. A simulation
/// can also set an observer here, which is called for each read.
package final class StoreConditions: Sendable {
    /// A fault that affects every read or every change of a store until it ends.
    package enum Trouble: String, Hashable, Sendable, Codable {
        case locked, unavailable
        /// The store refuses every change because there is no space. Reads see the content.
        case full

        /// Whether reads cannot see the content.
        var hidesContent: Bool { self != .full }
    }

    /// How a single call fails.
    package enum Failure: String, Hashable, Sendable, Codable, CaseIterable {
        /// The call reports the failure and changed nothing.
        case refuse
        /// The store made the change, and the answer is lost.
        case loseAnswer
        /// The store did not make the change, and the answer is lost.
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

    /// Makes the next calls of a store fail.
    func fail(_ failures: [Failure], on medium: String) { state.withLock { $0.failures[medium, default: []] += failures } }

    /// Ends all troubles and pending failures.
    func calm() { state.withLock { ($0.troubles, $0.failures) = ([:], [:]) } }

    /// Whether no store has a trouble or a pending failure.
    var isCalm: Bool { state.withLock { $0.troubles.isEmpty && $0.failures.values.allSatisfy(\.isEmpty) } }

    func trouble(of medium: String) -> Trouble? { state.withLock { $0.troubles[medium] } }

    /// Whether reads of a store cannot see its content.
    func hidesContent(of medium: String) -> Bool { trouble(of: medium)?.hidesContent == true }

    func takeFailure(of medium: String) -> Failure? {
        state.withLock { state in
            guard state.failures[medium]?.isEmpty == false else { return nil }
            state.failed += 1
            return state.failures[medium]?.removeFirst()
        }
    }

    /// How many calls have failed so far. A failure that is still pending will hit the next call of its store, and
    /// counts only then.
    var failedCalls: Int { state.withLock(\.failed) }

    /// Sets the observer of all reads.
    func watchReads(_ action: @escaping @Sendable (_ medium: String, [StorageAddress]) -> Void) { state.withLock { $0.reader = action } }

    func lookedAt(_ medium: String, _ addresses: [StorageAddress]) { state.withLock(\.reader)?(medium, addresses) }
}

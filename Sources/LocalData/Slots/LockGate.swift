import BackendContract
import Synchronization

/// Which stores the program has locked. A locked store answers every call as one that is locked by itself.
///
/// A lock begins by draining: calls that hold a lane go on, and no other begins. Then nothing is let through.
final class LockGate: Sendable {
    private enum Phase: Int {
        case draining, locked
    }

    private struct State {
        /// The lock of the whole router.
        var all: Phase?
        /// The stores that were locked by themselves.
        var stores: [BackendIdentity: Phase] = [:]
        /// The stores that were unlocked while the whole router is locked.
        var exempt: Set<BackendIdentity> = []
        /// How many calls work with all stores at once.
        var wholeCalls = 0

        var isAnyLocked: Bool { all != nil || !stores.isEmpty }

        func phase(of store: BackendIdentity) -> Phase? {
            let whole = exempt.contains(store) ? nil : all
            guard let own = stores[store] else { return whole }
            return whole.map { $0.rawValue > own.rawValue ? $0 : own } ?? own
        }
    }

    private let state = Mutex(State())
    /// Whether anything is locked: most programs never lock, and their reads ask no further.
    private let isUsed = Atomic(false)
    private let hasShutDown = Atomic(false)
    private let locksEver = Atomic(0)

    /// How many locks have begun: a read that fails while this number changes may have met a lock that has already ended.
    var locks: Int { locksEver.load(ordering: .acquiring) }

    /// Whether the router was shut down, or is about to be: nothing is let through any more, and no unlocking changes that.
    var isShutDown: Bool { hasShutDown.load(ordering: .acquiring) }

    /// Lets no new call through, for good.
    func shutDown() {
        hasShutDown.store(true, ordering: .releasing)
        drain(nil)
    }

    /// The error of a call that is not let through.
    func refusal(_ key: String) -> StorageError { isShutDown ? .shutDown(key) : .lockedByProgram(key) }

    /// Whether a store is locked for the running call.
    func refuses(_ store: BackendIdentity) -> Bool {
        guard isUsed.load(ordering: .acquiring) else { return false }
        switch state.withLock({ $0.phase(of: store) }) {
        case nil: return false
        case .draining: return !KeyLanes.isAnyHeld
        case .locked: return true
        }
    }

    /// Whether the whole router is locked.
    var isClosed: Bool { isUsed.load(ordering: .acquiring) && state.withLock { $0.all == .locked } }

    /// Whether anything is locked, or about to be: what works with all stores at once goes no further then.
    var isAnyLocked: Bool { isUsed.load(ordering: .acquiring) && state.withLock(\.isAnyLocked) }

    /// Begins a call that works with all stores at once, without lanes.
    /// - Returns: Whether it may; then ``end()`` follows.
    func begin() -> Bool {
        state.withLock { state in
            guard !state.isAnyLocked else { return false }
            state.wholeCalls += 1
            return true
        }
    }

    /// Ends such a call.
    func end() { state.withLock { $0.wholeCalls -= 1 } }

    /// Whether such a call is under way.
    var isInWholeUse: Bool { state.withLock { $0.wholeCalls > 0 } }

    /// Lets no new call through.
    /// - Parameter store: The store; nil for all.
    func drain(_ store: BackendIdentity?) { close(store, .draining) }

    /// Lets nothing through.
    /// - Parameter store: The store; nil for all.
    func lock(_ store: BackendIdentity?) { close(store, .locked) }

    private func close(_ store: BackendIdentity?, _ phase: Phase) {
        locksEver.add(1, ordering: .releasing)
        state.withLock { state in
            guard let store else { return (state.all, state.exempt) = (phase, []) }
            state.stores[store] = phase
            state.exempt.remove(store)
        }
        isUsed.store(true, ordering: .releasing)
    }

    /// Lets every call through again.
    /// - Parameter store: The store, also while the whole router is locked; nil for all.
    func unlock(_ store: BackendIdentity?) {
        if isShutDown { return }
        let isUsed = state.withLock { state in
            if let store {
                state.stores[store] = nil
                if state.all != nil { state.exempt.insert(store) }
            } else {
                state = State(wholeCalls: state.wholeCalls)
            }
            return state.isAnyLocked
        }
        self.isUsed.store(isUsed, ordering: .releasing)
    }
}

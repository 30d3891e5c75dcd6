import BackendContract
import Synchronization

/// The locks that the program has set on stores. For calls, such a store is like a keyring that another program has locked.
///
/// A lock has two phases. While it drains, calls that hold a lane continue, and no other call begins. Then no call is let through.
final class LockGate: Sendable {
    private enum Phase: Int {
        case draining, locked
    }

    private struct State {
        /// The lock of the whole router.
        var all: Phase?
        /// The locks of single stores.
        var stores: [BackendIdentity: Phase] = [:]
        /// The stores that were unlocked although the whole router is locked.
        var exempt: Set<BackendIdentity> = []
        /// The number of running calls that use all stores at once.
        var wholeCalls = 0

        var isAnyLocked: Bool { all != nil || !stores.isEmpty }

        func phase(of store: BackendIdentity) -> Phase? {
            let whole = exempt.contains(store) ? nil : all
            guard let own = stores[store] else { return whole }
            return whole.map { $0.rawValue > own.rawValue ? $0 : own } ?? own
        }
    }

    /// The keys that remember values. They forget them when a lock begins.
    let remembering = RememberingKeys()
    private let state = Mutex(State())
    /// Whether any store is locked or draining. Most programs never lock a store, so their reads check only this flag.
    private let isUsed = Atomic(false)
    private let hasShutDown = Atomic(false)

    /// A number that changes when a lock begins. If it has changed during a read that failed, the cause may be a lock, even one that has
    /// already ended.
    var locks: Int { remembering.locks.load(ordering: .acquiring) }

    /// Whether the router was shut down, or its shutdown has begun. No new call is let through, and unlocking does not change that.
    var isShutDown: Bool { hasShutDown.load(ordering: .acquiring) }

    /// Lets no new call through, permanently.
    func shutDown() {
        hasShutDown.store(true, ordering: .releasing)
        drain(nil)
    }

    /// Returns the error for a call that is not let through.
    func refusal(_ key: String) -> StorageError { isShutDown ? .shutDown(key) : .lockedByProgram(key) }

    /// Returns whether a store is locked for the running call.
    func refuses(_ store: BackendIdentity) -> Bool {
        guard isUsed.load(ordering: .acquiring) else { return false }
        switch state.withLock({ $0.phase(of: store) }) {
        case nil: return false
        case .draining: return !KeyLanes.isAnyHeld
        case .locked: return true
        }
    }

    /// Whether the whole router is locked, and not only draining.
    var isClosed: Bool { isUsed.load(ordering: .acquiring) && state.withLock { $0.all == .locked } }

    /// Whether the program uses locks at present.
    var isInUse: Bool { isUsed.load(ordering: .acquiring) }

    /// Whether any store is locked or draining. A call that uses all stores at once must then stop.
    var isAnyLocked: Bool { isUsed.load(ordering: .acquiring) && state.withLock(\.isAnyLocked) }

    /// Begins a call that uses all stores at once, without lanes.
    /// - Returns: Whether the call may begin. If so, the caller must call ``end()`` afterwards.
    func begin() -> Bool {
        state.withLock { state in
            guard !state.isAnyLocked else { return false }
            state.wholeCalls += 1
            return true
        }
    }

    /// Ends a call that uses all stores at once.
    func end() { state.withLock { $0.wholeCalls -= 1 } }

    /// Whether a call is running that uses all stores at once.
    var isInWholeUse: Bool { state.withLock { $0.wholeCalls > 0 } }

    /// Begins a lock: no new call is let through.
    /// - Parameter store: The store; nil for all stores.
    func drain(_ store: BackendIdentity?) { close(store, .draining) }

    /// Completes a lock: no call is let through.
    /// - Parameter store: The store; nil for all stores.
    func lock(_ store: BackendIdentity?) { close(store, .locked) }

    private func close(_ store: BackendIdentity?, _ phase: Phase) {
        remembering.locks.add(1, ordering: .releasing)
        state.withLock { state in
            guard let store else { return (state.all, state.exempt) = (phase, []) }
            state.stores[store] = phase
            state.exempt.remove(store)
        }
        isUsed.store(true, ordering: .releasing)
        // The number changes again, for a value that was read while the lock began.
        remembering.locks.add(1, ordering: .releasing)
        remembering.forget()
    }

    /// Ends a lock: every call is let through again. Does nothing after a shutdown.
    /// - Parameter store: The store, which can be unlocked even while the whole router is locked; nil for all stores.
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

import BackendContract
import BackendRuntime
import Sealing
import Synchronization

/// Overwrites sealing keys in memory when the keyring that stores them is locked. It asks the keyring periodically, and
/// only while a key from it is in memory.
final class KeyringFollower: Sendable {
    private struct State {
        var next: ScheduledAction?
        var isOver = false
    }

    private let slots: SlotAccess
    private let keys: SealingKeys
    private let interval: Duration
    private let state = Mutex(State())

    init(_ slots: SlotAccess, _ keys: SealingKeys, interval: Duration) {
        (self.slots, self.keys) = (slots, keys)
        self.interval = interval
    }

    /// Checks after each interval, until it is stopped or released.
    func start() {
        let clock = slots.runtime.clock
        let action = clock.schedule(at: clock.now.advanced(by: interval)) { [weak self] in
            guard let self else { return }
            _ = slots.runtime.tasks.spawn { [weak self] in
                await self?.check()
                self?.start()
            }
        }
        let isOver = state.withLock { state in
            state.next = action
            return state.isOver
        }
        if isOver { action.cancel() }
    }

    func stop() {
        state.withLock { state in
            state.isOver = true
            state.next?.cancel()
        }
    }

    /// Overwrites the keys whose keyring is locked now, and closes the databases that use these keys.
    private func check() async {
        for backend in slots.routes.opened {
            guard let holder = backend as? any KeyHoldingStore, await holder.followSource() else { continue }
            slots.committer.hub.forgetEvents(of: backend.identity)
        }
        await keys.forgetLocked()
    }
}

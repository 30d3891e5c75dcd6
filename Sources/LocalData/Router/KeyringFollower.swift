import BackendContract
import BackendRuntime
import Sealing
import Synchronization

/// Lets go of keys while the keyring that holds them is locked. It asks the keyring now and then, and only while it holds a key.
final class KeyringFollower: Sendable {
    private struct State {
        var next: ScheduledAction?
        var isOver = false
    }

    private let env: Environment
    private let interval: Duration
    private let state = Mutex(State())

    init(_ env: Environment, interval: Duration) {
        self.env = env
        self.interval = interval
    }

    /// Asks again after each interval, until it is stopped or released.
    func start() {
        let clock = env.runtime.clock
        let action = clock.schedule(at: clock.now.advanced(by: interval)) { [weak self] in
            guard let self else { return }
            _ = env.runtime.tasks.spawn { [weak self] in
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

    /// Lets go of the keys whose source is locked now.
    private func check() async {
        for backend in env.routes.opened {
            guard let holder = backend as? any KeyHoldingStore, await holder.followSource() else { continue }
            env.hub.forgetEvents(of: backend.identity)
        }
        await env.coder.seals.keys.forgetLocked()
    }
}

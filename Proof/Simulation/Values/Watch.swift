import LocalData
import Synchronization

/// An observer of a value. It checks that the last value that it received is the current value.
final class Watch: Sendable {
    private let scene: Scene
    private let program: Scene.Running
    private let key: Int
    private let last = Mutex<String??>(nil)
    private let isOver = Mutex(false)

    init(_ scene: Scene, _ program: Scene.Running, _ key: Int) {
        self.scene = scene
        self.program = program
        self.key = key
        let calls = scene.moving[key].calls
        _ = scene.machine.spawn { [self] in
            do {
                try await calls.watch(program.router) { value in self.last.withLock { $0 = .some(value) } }
            } catch {}
            isOver.withLock { $0 = true }
        }
    }

    func judge(_ act: Act<MovingValues>) async throws {
        // On a full disk, a value stays in its legacy location. The sequence `values(for:)` does not report
        // changes of this location.
        if act.plan.hasFullDisk { return }
        // If the sequence has ended, a read failed, and the observer cannot know the current value.
        guard !isOver.withLock(\.self), !program.process.hasEnded, let seen = last.withLock(\.self) else { return }
        let value: String?
        do { value = try await scene.moving[key].calls.value(program.router) } catch { return }
        await scene.machine.world.settle()
        let latest = last.withLock(\.self)
        guard value != seen, let latest, latest != value, !isOver.withLock(\.self) else { return }
        throw act.violation(
            .observation, "key \(key): \(latest ?? "nothing") was the last value observed, but the current value is \(value ?? "nothing")")
    }
}

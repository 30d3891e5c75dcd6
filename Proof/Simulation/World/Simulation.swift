package import BackendRuntime
import Foundation
import Synchronization
import TestSupport

/// A simulated machine with one thread, on which a seed decides what happens next.
///
/// Tasks, lanes (serial queues) and timers of code on ``runtime(_:files:)`` become steps. The seed picks one ready step
/// at a time, which runs to its next suspension. Time does not pass during a step; it advances when nothing else can
/// run. The same seed gives the same run, step for step, and the same ``digest``.
package final class Simulation: Sendable {
    /// Why a run did not end.
    package enum Failure: Error, CustomStringConvertible {
        /// No step is ready: tasks wait for each other, or for something that is not simulated.
        case stuck(steps: Int)
        /// The run exceeded its limit of steps.
        case endless(steps: Int)
        /// Another thread added a step, so the code uses something that is not simulated.
        case leaked(String)

        package var description: String {
            switch self {
            case .stuck(let steps): "After \(steps) steps nothing can happen any more, and the run is not over."
            case .endless(let steps): "After \(steps) steps the run is still not over."
            case .leaked(let what): "Another thread added \(what): something that is not simulated got in."
            }
        }
    }

    /// A step that is ready, with the number of its task or lane.
    private struct Step {
        enum Work {
            case job(UnownedJob)
            case lane(Int)
        }
        let work: Work
        let owner: Int
    }

    private struct Work {
        let label: String
        var waiting: [@Sendable () -> Void] = []
        var isStalled = false
    }

    private struct Timer {
        let instant: MonotonicInstant
        let number: UInt64
        let action: @Sendable () -> Void
    }

    private struct State: @unchecked Sendable {
        var numbers: SeededGenerator
        var picker: StepPicker
        var ready: [Step] = []
        var lanes: [Work] = []
        var timers: [Timer] = []
        var timersEver: UInt64 = 0
        var now = MonotonicInstant(nanoseconds: 1_000_000_000)
        /// How many seconds the machine has slept. The wall clock advanced during this time.
        var slept = 0
        /// By how many seconds the wall clock is wrong.
        var error = 0
        /// The value of `passed` when the machine was last started.
        var started = 0.0
        var steps = 0
        var boots = 1
        /// How slow the machine is. A timer fires although other steps are ready, on average once in this number of
        /// steps. If it is 0, a timer fires only when no other step is ready.
        var haste = 0
        var digest: UInt64 = 0xCBF2_9CE4_8422_2325
        var thread: pthread_t?
        var leak: String?
        /// All tasks of the run, so that they can be cancelled after it.
        var tasks: [Task<Void, Never>] = []
        /// The notes of each step; nil if the run is not traced.
        var trace: [String]?

        /// All the time that has passed, in seconds, including the time of sleep.
        var passed: Double { Double(now.nanoseconds) / 1e9 + Double(slept) }

        /// Folds a number into the digest. This is FNV-1a on eight bytes at a time, with the upper half folded into
        /// the lower.
        mutating func note(_ number: UInt64) {
            digest = (digest ^ number) &* 0x100_0000_01B3
            digest ^= digest >> 32
        }

        mutating func addLane(_ lane: Int) { ready.append(Step(work: .lane(lane), owner: picker.owner(ofLane: lane))) }

        /// Chooses one of the ready steps. Returns its index.
        mutating func pick() -> Int {
            guard picker.schedule != .uniform, ready.count > 1 else { return Int.random(in: 0..<ready.count, using: &numbers) }
            return picker.pick(ready.map(\.owner))
        }

        mutating func check(_ what: String) {
            if let thread, pthread_equal(thread, pthread_self()) == 0 { leak = leak ?? what }
        }
    }

    private let state: Mutex<State>
    private let executor = SeededExecutor()
    private let betweenSteps = Mutex<(@Sendable (Int) -> Void)?>(nil)

    /// Whether the run is recorded in ``trace``.
    package let isTraced: Bool

    /// Creates a machine.
    /// - Parameters:
    ///   - seed: Decides the order of steps and all random numbers.
    ///   - schedule: How the next step is chosen; nil for the schedule that follows from the seed.
    ///   - isTraced: Whether the run is recorded in ``trace``.
    package init(seed: UInt64, schedule: Schedule? = nil, isTraced: Bool = false) {
        let picker = StepPicker(schedule ?? Schedule(seed: seed), seed: seed)
        state = Mutex(State(numbers: SeededGenerator(seed), picker: picker, trace: isTraced ? [] : nil))
        self.isTraced = isTraced
        executor.world.withLock { $0 = Weak(self) }
    }

    /// A hash of all steps so far. Two runs that took the same steps have the same digest.
    package var digest: UInt64 { state.withLock(\.digest) }

    /// How many steps were taken.
    package var steps: Int { state.withLock(\.steps) }

    /// A random number below a bound, which follows from the seed.
    package func draw(_ bound: Int) -> Int { state.withLock { Int.random(in: 0..<bound, using: &$0.numbers) } }

    /// The record of a traced run: which of the ready steps was taken each time, and the notes that were added.
    package var trace: [String] { state.withLock { $0.trace ?? [] } }

    /// Folds a number into the digest, and adds a text to the trace.
    package func note(_ number: Int, _ text: @autoclosure () -> String) {
        let line = isTraced ? text() : nil
        state.withLock { state in
            state.note(UInt64(truncatingIfNeeded: number))
            if let line { state.trace?.append("\(state.steps): \(line)") }
        }
    }

    /// Makes the machine slow: a timer fires although other steps are ready, on average once in `haste` steps. If
    /// `haste` is 0, a timer fires only when no other step is ready.
    package func setHaste(_ haste: Int) { state.withLock { $0.haste = haste } }

    /// Whether time advances only when no step is ready.
    package var isUnhurried: Bool { state.withLock { $0.haste == 0 } }

    /// Sets an action that runs before each step. Its argument is the number of steps taken so far.
    package func betweenSteps(_ action: (@Sendable (Int) -> Void)?) { betweenSteps.withLock { $0 = action } }

    /// Waits until no other step is ready and the timers of the next day have fired.
    package func settle() async {
        setHaste(0)
        await withCheckedContinuation { continuation in
            _ = schedule(at: now.advanced(by: .seconds(86_400))) { continuation.resume() }
        }
    }

    /// The wall clock, in seconds since 1970.
    package var wallSeconds: Double { state.withLock { 1_800_000_000 + $0.passed + Double($0.error) } }

    /// Lets the machine sleep: the wall clock and the boot clock advance, the monotonic clock does not.
    package func sleep(seconds: Int) { state.withLock { $0.slept += seconds } }

    /// Sets the wall clock.
    /// - Parameter error: By how many seconds it is wrong from now on; 0 sets it right.
    package func setClock(wrongBy error: Int) { state.withLock { $0.error = error } }

    /// The time since the machine's last start.
    package var sinceBoot: Duration { state.withLock { .seconds($0.passed - $0.started) } }

    /// How often the machine has been started.
    package var boots: Int { state.withLock(\.boots) }

    /// Counts another start of the machine.
    package func restart() {
        state.withLock { state in
            state.boots += 1
            state.started = state.passed
        }
    }

    // MARK: Running

    /// Runs a function, and everything that it starts, on the calling thread until the function returns.
    /// - Parameter limit: The number of steps after which the run fails.
    package func run<R: Sendable>(limit: Int = 2_000_000, _ body: @escaping @Sendable () async throws -> R) throws -> R {
        state.withLock { $0.thread = pthread_self() }
        let result = Mutex<Result<R, any Error>?>(nil)
        Task(executorPreference: executor) {
            let value: Result<R, any Error>
            do { value = .success(try await body()) } catch { value = .failure(error) }
            result.withLock { $0 = value }
        }
        while true {
            if let leak = state.withLock(\.leak) { throw Failure.leaked(leak) }
            if let end = result.withLock({ $0 }) { return try end.get() }
            guard steps < limit else { throw Failure.endless(steps: steps) }
            betweenSteps.withLock(\.self)?(steps)
            guard let next = take() else { throw Failure.stuck(steps: steps) }
            next()
        }
    }

    /// Cancels the tasks that a finished run left, and takes their steps until none is left, which frees their
    /// memory.
    ///
    /// First release the run's processes, so that none of these steps reaches a store. Also read ``digest``, ``steps``
    /// and ``trace`` first, because the steps change them.
    /// - Parameter limit: The largest number of steps. Tasks that need more stay in memory.
    package func unwind(limit: Int = 100_000) {
        betweenSteps(nil)
        let tasks = state.withLock { state in
            defer { state.tasks = [] }
            state.haste = 0
            for lane in state.lanes.indices where state.lanes[lane].isStalled {
                state.lanes[lane].isStalled = false
                if !state.lanes[lane].waiting.isEmpty { state.addLane(lane) }
            }
            return state.tasks
        }
        for task in tasks { task.cancel() }
        for _ in 0..<limit {
            guard let next = take() else { return }
            next()
        }
    }

    /// Removes and returns the next step or timer; nil if there is none.
    private func take() -> (() -> Void)? {
        state.withLock { state in
            state.steps += 1
            let isHasty =
                state.haste > 0 && !state.ready.isEmpty && !state.timers.isEmpty
                && Int.random(in: 0..<state.haste, using: &state.numbers) == 0
            if state.ready.isEmpty || isHasty {
                guard let first = state.timers.indices.min(by: { Self.isEarlier(state.timers[$0], state.timers[$1]) }) else { return nil }
                let timer = state.timers.remove(at: first)
                state.now = max(state.now, timer.instant)
                state.note(timer.number)
                state.trace?.append("\(state.steps): timer \(timer.number)")
                return timer.action
            }
            let pick = state.pick()
            state.note(UInt64(state.ready.count) << 32 | UInt64(pick))
            state.trace?.append("\(state.steps): \(pick) of \(state.ready.count)")
            let step = state.ready.remove(at: pick)
            switch step.work {
            case .job(let job):
                let executor = executor
                return { job.runSynchronously(on: executor.asUnownedTaskExecutor()) }
            case .lane(let lane):
                let work = state.lanes[lane].waiting.removeFirst()
                if !state.lanes[lane].waiting.isEmpty { state.addLane(lane) }
                return work
            }
        }
    }

    private static func isEarlier(_ left: Timer, _ right: Timer) -> Bool { (left.instant, left.number) < (right.instant, right.number) }

    // MARK: What runs here

    /// The runtime of one process of this machine.
    /// - Parameters:
    ///   - process: The name of the process.
    ///   - files: The file system. By default every operation on it fails.
    package func runtime(_ process: String, files: any FileSystem = NoFiles()) -> Runtime {
        Runtime(
            clock: SimulatedClock(world: self), randomness: Randomness(words: { [self] in state.withLock { $0.numbers.next() } }),
            tasks: SimulatedSpawner(world: self, executor: executor), makeLane: { [self] label in makeLane(label) }, files: files,
            host: HostFacts(bootID: "boot \(boots)", processID: 1, environment: [:], executableName: process))
    }

    fileprivate func keep(_ task: Task<Void, Never>) { state.withLock { $0.tasks.append(task) } }

    fileprivate func add(_ job: UnownedJob) {
        state.withLock { state in
            state.check("a task's step")
            state.ready.append(Step(work: .job(job), owner: state.picker.owner(of: job)))
        }
    }

    private func makeLane(_ label: String) -> any Lane {
        state.withLock { state in
            state.lanes.append(Work(label: label))
            return SimulatedLane(world: self, number: state.lanes.count - 1)
        }
    }

    fileprivate func add(_ work: @escaping @Sendable () -> Void, to lane: Int) {
        state.withLock { state in
            state.check("work on a lane")
            state.lanes[lane].waiting.append(work)
            if state.lanes[lane].waiting.count == 1, !state.lanes[lane].isStalled { state.addLane(lane) }
        }
    }

    /// Stops the chosen lanes for a while, and everything else continues. A call that waits on such a lane may exceed
    /// its deadline.
    package func stall(for duration: Duration, where isMeant: (_ label: String) -> Bool) {
        let held = state.withLock { state in
            let held = state.lanes.indices.filter { !state.lanes[$0].isStalled && isMeant(state.lanes[$0].label) }
            for lane in held { state.lanes[lane].isStalled = true }
            state.ready.removeAll { if case .lane(let lane) = $0.work { held.contains(lane) } else { false } }
            return held
        }
        _ = schedule(at: now.advanced(by: duration)) { [self] in
            state.withLock { state in
                for lane in held where state.lanes[lane].isStalled {
                    state.lanes[lane].isStalled = false
                    if !state.lanes[lane].waiting.isEmpty { state.addLane(lane) }
                }
            }
        }
    }

    fileprivate var now: MonotonicInstant { state.withLock(\.now) }

    fileprivate func letPass(_ duration: Duration) { state.withLock { $0.now = $0.now.advanced(by: duration) } }

    fileprivate func schedule(at instant: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
        let number = state.withLock { state in
            state.check("a timer")
            state.timersEver += 1
            state.timers.append(Timer(instant: instant, number: state.timersEver, action: action))
            return state.timersEver
        }
        return ScheduledAction { [self] in
            // The timer's action is released outside of the lock, because its release can run code that takes the
            // lock.
            _ = state.withLock { state in state.timers.firstIndex { $0.number == number }.map { state.timers.remove(at: $0) } }
        }
    }
}

private struct Weak: Sendable {
    weak let world: Simulation?
    init(_ world: Simulation) { self.world = world }
}

/// Hands every step of every task to the simulated machine.
private final class SeededExecutor: TaskExecutor {
    let world = Mutex<Weak?>(nil)

    func enqueue(_ job: consuming ExecutorJob) {
        let step = UnownedJob(job)
        world.withLock { $0?.world }?.add(step)
    }
}

private struct SimulatedSpawner: TaskSpawner {
    let world: Simulation
    let executor: SeededExecutor

    func spawn(_ operation: @escaping @Sendable () async -> Void) -> ScheduledAction {
        let task = Task(executorPreference: executor) { await operation() }
        world.keep(task)
        return ScheduledAction { task.cancel() }
    }
}

private struct SimulatedLane: Lane {
    let world: Simulation
    let number: Int

    func enqueue(_ work: @escaping @Sendable () -> Void) { world.add(work, to: number) }
}

private struct SimulatedClock: RuntimeClock {
    let world: Simulation

    var now: MonotonicInstant { world.now }
    var wallSeconds: Double { world.wallSeconds }
    var sinceBoot: Duration { world.sinceBoot }

    func schedule(at instant: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
        world.schedule(at: instant, action)
    }

    func pause(_ duration: Duration) { world.letPass(duration) }
}

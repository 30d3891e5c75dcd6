import BackendRuntime
import LocalData
import Synchronization
import TestSupport

/// Carries out one run of programs on a simulated machine. The plan of the run has rounds: groups of programs that run
/// at the same time, with the calls that they make.
package struct Act<S: Subject>: Sendable {
    let campaign: Campaign<S>
    let machine: Machine<S>
    var plan: S.Plan { campaign.plan }

    func violation(_ rule: Rule, _ what: String) -> Campaign<S>.Violation {
        Campaign<S>.Violation(rule: rule, what: what, campaign: campaign, history: machine.diary.lines, trace: machine.world.trace)
    }
}

/// Starts the programs of a run and makes their calls. Each subject, a part of the library that simulations test, has
/// its own type that conforms to this protocol.
protocol Stage<S>: Sendable {
    associatedtype S: Subject
    associatedtype Running: RunningProgram
    typealias Program = S.Plan.Program

    var machine: Machine<S> { get }
    /// The stores to which accidents happen. An accident is a planned fault, such as a kill or a locked store.
    var media: [String] { get }

    /// Starts a program of a round.
    func launch(_ name: String, _ program: Program) async -> Running
    /// Whether the version of a program is earlier than the newest version.
    func isOlder(_ program: Program) -> Bool
    /// Makes a call of a program.
    func make(_ call: Call<Program.Verb>, of running: Running, _ turn: Turn) async
    /// Starts the tasks of a program that observe values, if it has any.
    ///
    /// - Returns: Checks that run at the end of the round.
    func watch(_ running: Running) -> [@Sendable (Act<S>) async throws -> Void]
    /// Changes a legacy location as a program that does not use LocalData would.
    /// - Parameter number: The number in the text that is written.
    func change(_ key: Int, _ place: Int, removes: Bool, number: Int)
}

/// Identifies one call of a run.
struct Turn: Sendable {
    /// The round, the program, the caller and the position of the call, as in `p0.1.0.1`.
    let name: String
    let position: Int
    /// The number of the first text that the call writes.
    let first: Int
}

/// A program that is running in a round.
protocol RunningProgram: Sendable {
    var process: SimulatedProcess { get }
}

extension Stage {
    func watch(_ running: Running) -> [@Sendable (Act<S>) async throws -> Void] { [] }
    func change(_ key: Int, _ place: Int, removes: Bool, number: Int) {}
}

extension Act {
    /// Runs every round of the plan. At the end, no store is locked, unavailable or full any more.
    func live(on stage: some Stage<S>) async throws {
        for (number, round) in plan.rounds.enumerated() { try await live(round, number, stage) }
        machine.world.setHaste(0)
        machine.weather.calm()
    }

    /// Runs the programs of a round until their callers have returned or their processes have ended.
    private func live<On: Stage<S>>(_ round: Round<S.Plan.Program>, _ number: Int, _ stage: On) async throws {
        let world = machine.world
        var running: [On.Running] = []
        for (index, program) in round.programs.enumerated() { running.append(await stage.launch("p\(number).\(index)", program)) }
        if running.count > 1 { machine.cover(.secondProcess) }
        if round.programs.contains(where: stage.isOlder) { machine.cover(.olderVersion) }
        world.setHaste(plan.haste)
        if plan.haste > 0 { machine.cover(.deadline) }
        let crew = Crew()
        let watches = running.count == 1 ? stage.watch(running[0]) : []
        let callers = zip(running, round.programs).enumerated().map { index, pair in
            let (program, planned) = pair
            return planned.callers.enumerated().map { caller, calls in
                let hand = crew.sign(program.process)
                let first = 300_000 + number * 100_000 + index * 10_000 + caller * 1_000
                return machine.spawn {
                    for (position, call) in calls.enumerated() {
                        let name = "p\(number).\(index).\(caller).\(position)"
                        await stage.make(call, of: program, Turn(name: name, position: position, first: first + position * 10))
                    }
                    hand.leave()
                }
            }
        }
        let begin = world.steps
        let accidents = Accidents(stage: stage, running: running, callers: callers, round: number, events: round.events)
        world.betweenSteps { accidents.happen(upTo: $0 - begin) }
        await crew.wait()
        world.betweenSteps(nil)
        if running.contains(where: { !$0.process.hasEnded }), !watches.isEmpty {
            await world.settle()
            for judge in watches { try await judge(self) }
        }
        for program in running { program.process.end() }
        machine.diary.endRound()
    }

    // MARK: What every verdict asks

    func rows(of report: MigrationReport) -> String {
        report.rows.map { "\($0.key): \($0.state) \($0.errorCode?.name ?? "") \($0.message ?? "") \($0.residue)" }.joined(separator: "; ")
    }

    /// Throws a violation unless some order of the calls explains the history.
    /// - Parameter wider: Returns a history with more optional calls, which is tried after the first; nil if there is none.
    func judge<Model>(
        _ history: CallHistory<Model>, from begin: Model, of what: String, wider: () -> CallHistory<Model>? = { nil }
    ) throws where Model.Action: Hashable {
        guard history.calls.count <= 64 else { throw violation(.world, "\(history.calls.count) calls are too many for the search") }
        JudgedHistories.add(history, from: begin)
        if history.isLinearizable(from: begin) { return }
        if let wider = wider() { return try judge(wider, from: begin, of: what) }
        throw violation(.order, "no order of the calls of \(what) explains what was seen")
    }

    /// The contents of all quarantined values.
    func quarantine(_ router: StorageRouter) async throws -> [[UInt8]] {
        var kept: [[UInt8]] = []
        do {
            for entry in try await router.audit().quarantine { kept.append(Array(try await router.quarantine.data(of: entry))) }
        } catch { throw violation(.unseen, "the quarantine cannot be read: \(error)") }
        return kept
    }
}

/// Causes the accidents of a round, each after the planned number of steps.
private final class Accidents<On: Stage>: Sendable {
    private let stage: On
    private let running: [On.Running]
    private let callers: [[ScheduledAction]]
    private let round: Int
    private let events: Mutex<[Event]>
    private var machine: Machine<On.S> { stage.machine }

    init(stage: On, running: [On.Running], callers: [[ScheduledAction]], round: Int, events: [Event]) {
        self.stage = stage
        self.running = running
        self.callers = callers
        self.round = round
        self.events = Mutex(events.reversed())
    }

    func happen(upTo step: Int) {
        while let event = events.withLock({ ($0.last?.step ?? .max) <= step ? $0.popLast() : nil }) { happen(event.accident, event.step) }
    }

    private func happen(_ accident: Accident, _ step: Int) {
        let media = stage.media
        if case .foreign = accident {} else { machine.countAccident() }
        func medium(_ number: Int) -> String { media[number % media.count] }
        func happens(_ fault: Fault?, _ text: String) {
            if let fault { machine.cover(fault) }
            machine.diary.note(text)
        }
        switch accident {
        case .end(let program) where program < running.count:
            happens(.processEnd, "\(running[program].process.name) ends")
            running[program].process.end()
        case .powerCut:
            machine.cover(.powerCut)
            for program in running { program.process.end() }
            let before = machine.disk.damage.count
            machine.disk.cutPower()
            if machine.disk.damage.count > before { machine.cover(.torn) }
            machine.diary.add(-1, .powerCut, "the power is cut")
        case .cancel(let program, let caller) where program < callers.count && caller < callers[program].count:
            happens(.cancelled, "caller \(caller) of \(running[program].process.name) is cancelled")
            callers[program][caller].cancel()
        case .trouble(let number, let trouble):
            happens(trouble.map(Fault.init), "\(medium(number)): \(trouble?.rawValue ?? "in reach")")
            machine.weather.set(trouble, on: medium(number))
        case .failure(let number, let failure):
            happens(.failure, "\(medium(number)): the next call will \(failure.rawValue)")
            machine.weather.fail([failure], on: medium(number))
        case .stall(let number, let seconds):
            happens(.deadline, "\(medium(number)): stalls for \(seconds) s")
            machine.world.stall(for: .seconds(seconds)) { [name = medium(number)] in $0.hasSuffix("/\(name)") }
        case .pause(let program) where program < running.count:
            let name = running[program].process.name
            happens(nil, "\(name) pauses")
            machine.world.stall(for: .seconds(2)) { $0.hasPrefix("\(name)/") }
        case .foreign(let key, let place, let removes):
            stage.change(key, place, removes: removes, number: 900_000 + round * 10_000 + step)
        case .sleep(let seconds):
            happens(.sleep, "the machine sleeps for \(seconds) s")
            machine.world.sleep(seconds: seconds)
        case .setClock(let error):
            machine.cover(.clockSet)
            machine.diary.setClock(wrongBy: error)
        default: break
        }
    }
}

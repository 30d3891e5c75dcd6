import BackendContract
import BackendRuntime
import LocalData
import Synchronization

/// A run with versions, collections or lifetimes: a plan, and a seed that says in which order ready steps are taken. See ``Campaign``.
///
/// Each record is a value of its own, with a history that one order of the calls must explain. In the end a few sweeps of the latest program finish, older places are empty, and
/// every record is there once, in the latest shape.
package struct RecordCampaign: Sendable, Codable, Hashable {
    package struct Violation: Error, CustomStringConvertible {
        package let rule: Campaign.Rule
        package let what: String
        package let campaign: RecordCampaign
        package let history: [String]
        package let trace: [String]
        package var description: String {
            "seed \(campaign.seed), \(campaign.plan.kind): \(rule.rawValue): \(what)\n\(campaign.plan.text)\n\(history.joined(separator: "\n"))"
        }
    }

    package struct Outcome: Sendable {
        package let digest: UInt64
        package let steps: Int
        package let counts: [String: Int]
        package let coverage: RecordCoverage
        package let history: [String]
        package let trace: [String]
    }

    package var seed: UInt64
    package var plan: RecordPlan

    /// The run that follows from a seed.
    package init(seed: UInt64, kind: RecordKind? = nil) {
        self.seed = seed
        plan = RecordPlan(seed: seed, kind: kind)
    }

    /// Runs it.
    /// - Parameter mutant: The part of the protocol that is taken away.
    /// - Throws: ``Violation``.
    package func run(_ mutant: RecordMutant? = nil, isTraced: Bool = false) throws(Violation) -> Outcome {
        let world = Simulation(seed: seed, isTraced: isTraced)
        let scene = RecordScene(world, plan, mutant)
        do {
            try world.run { try await RecordAct(campaign: self, scene: scene).play() }
        } catch let violation as Violation {
            throw violation
        } catch {
            throw Violation(rule: .world, what: "\(error)", campaign: self, history: scene.diary.lines, trace: world.trace)
        }
        return Outcome(
            digest: world.digest, steps: world.steps, counts: scene.diary.counts, coverage: scene.coverage.withLock(\.self),
            history: scene.diary.lines, trace: world.trace)
    }

    /// A shorter run that breaks the same rule.
    /// - Parameter tries: How many orders of the steps are tried for each shorter plan.
    package func shrunk(_ violation: Violation, _ mutant: RecordMutant? = nil, tries: UInt64 = 6) -> Violation {
        var best = violation
        var isSmaller = true
        while isSmaller {
            isSmaller = false
            for plan in best.campaign.plan.shorter {
                guard let found = Self.failing(plan, like: best, mutant, tries) else { continue }
                best = found
                isSmaller = true
                break
            }
        }
        return best
    }

    private static func failing(_ plan: RecordPlan, like violation: Violation, _ mutant: RecordMutant?, _ tries: UInt64) -> Violation? {
        for seed in [violation.campaign.seed] + (0..<tries) {
            var campaign = violation.campaign
            (campaign.plan, campaign.seed) = (plan, seed)
            do throws(Violation) { _ = try campaign.run(mutant) } catch {
                if error.rule == violation.rule { return error }
            }
        }
        return nil
    }
}

/// A run that is kept, because it broke a rule once.
package struct PastRecordFailure: Codable, Sendable {
    /// What was wrong.
    package var note: String
    /// The rule that it broke then.
    package var rule: Campaign.Rule
    package var campaign: RecordCampaign

    package init(note: String, rule: Campaign.Rule, campaign: RecordCampaign) {
        self.note = note
        self.rule = rule
        self.campaign = campaign
    }
}

/// The course of a run.
struct RecordAct: Sendable {
    let campaign: RecordCampaign
    let scene: RecordScene
    var plan: RecordPlan { campaign.plan }

    func violation(_ rule: Campaign.Rule, _ what: String) -> RecordCampaign.Violation {
        RecordCampaign.Violation(rule: rule, what: what, campaign: campaign, history: scene.diary.lines, trace: scene.world.trace)
    }

    func play() async throws {
        let begins = try await plant()
        for (number, round) in plan.rounds.enumerated() { await live(round, number) }
        scene.world.setHaste(0)
        scene.weather.calm()
        if let failure = scene.failure { throw violation(.order, failure) }
        try await RecordVerdict(act: self, begins: begins).reach()
    }

    // MARK: The beginning

    /// What programs stored before anything went wrong.
    private func plant() async throws -> [RecordModel] {
        var begins = (0..<plan.count).map { _ in RecordModel(rules, value: nil, version: 1, life: .endless) }
        for version in Set(plan.beginnings).subtracting([0]).sorted() {
            let running = await scene.launch("before.\(version)", version: version)
            for record in 0..<plan.count where plan.beginnings[record] == version {
                let text = Self.beginning(record)
                if !plan.kind.hasOlder { scene.keepSecret(text) }
                let begin = scene.world.wallSeconds
                try await running.program.records[record].set(running.router, text)
                var life = Life.endless
                if let lifetime = plan.lifetime {
                    life = Life(low: begin + Double(lifetime), high: scene.world.wallSeconds + Double(lifetime))
                }
                begins[record] = RecordModel(rules, value: text, version: version, life: life)
            }
            running.process.end()
        }
        if plan.isSpoilt {
            let running = await scene.launch("before", version: 1)
            try await scene.shape.spoil(running.router)
            running.process.end()
        }
        scene.disk.restart()
        return begins
    }

    static func beginning(_ record: Int) -> String { Shape.text(of: 200_000 + record) }

    private var rules: RecordModel.Rules {
        RecordModel.Rules(
            hasOlder: plan.kind.hasOlder, isExplicit: plan.kind.isExplicit, isTagged: plan.kind == .retagged, isList: plan.kind == .listed,
            lifetime: plan.lifetime.map { 1_800_000_000 + Double($0) })
    }

    // MARK: A round

    /// Programs at once, until their callers are done or they have ended.
    private func live(_ round: RecordPlan.Round, _ number: Int) async {
        let world = scene.world
        var running: [RecordScene.Running] = []
        for (index, program) in round.programs.enumerated() {
            let name = "p\(number).\(index)"
            scene.diary.add(-1, .launch(program.version), "\(name) starts, of version \(program.version)")
            running.append(await scene.launch(name, version: program.version))
        }
        if running.count > 1 { scene.coverage.withLock { $0.begin(.secondProcess) } }
        if round.programs.contains(where: { $0.version < plan.kind.latest }) { scene.coverage.withLock { $0.begin(.olderVersion) } }
        world.setHaste(plan.haste)
        if plan.haste > 0 { scene.coverage.withLock { $0.begin(.deadline) } }
        let crew = Crew()
        var callers: [[ScheduledAction]] = []
        for (index, program) in running.enumerated() {
            callers.append(
                round.programs[index].callers.enumerated().map { caller, calls in
                    let hand = crew.sign(program.process)
                    let first = 300_000 + number * 100_000 + index * 10_000 + caller * 1_000
                    return scene.spawn {
                        let worker = RecordCaller(scene: scene, running: program, name: "p\(number).\(index).\(caller)", first: first)
                        for (position, call) in calls.enumerated() { await worker.make(call, position) }
                        hand.leave()
                    }
                })
        }
        let begin = world.steps
        let accidents = RecordAccidents(scene: scene, running: running, callers: callers, events: round.events)
        world.betweenSteps { accidents.happen(upTo: $0 - begin) }
        await crew.wait()
        world.betweenSteps(nil)
        for program in running { program.process.end() }
        scene.diary.endRound()
    }
}

/// What goes wrong in a round, when its step has come.
private final class RecordAccidents: Sendable {
    private let scene: RecordScene
    private let running: [RecordScene.Running]
    private let callers: [[ScheduledAction]]
    private let events: Mutex<[RecordPlan.Event]>

    init(scene: RecordScene, running: [RecordScene.Running], callers: [[ScheduledAction]], events: [RecordPlan.Event]) {
        self.scene = scene
        self.running = running
        self.callers = callers
        self.events = Mutex(events.reversed())
    }

    func happen(upTo step: Int) {
        while let event = events.withLock({ ($0.last?.step ?? .max) <= step ? $0.popLast() : nil }) { happen(event.accident) }
    }

    private func cover(_ fault: RecordCoverage.Fault) { scene.coverage.withLock { $0.begin(fault) } }

    private func happen(_ accident: RecordPlan.Accident) {
        let media = scene.shape.media
        func medium(_ number: Int) -> String { media[number % media.count] }
        switch accident {
        case .end(let program) where program < running.count:
            cover(.processEnd)
            scene.diary.note("\(running[program].process.name) ends")
            running[program].process.end()
        case .powerCut:
            cover(.powerCut)
            for program in running { program.process.end() }
            scene.disk.cutPower()
            scene.diary.add(-1, .powerCut, "the power is cut")
        case .cancel(let program, let caller) where program < callers.count && caller < callers[program].count:
            cover(.cancelled)
            scene.diary.note("caller \(caller) of \(running[program].process.name) is cancelled")
            callers[program][caller].cancel()
        case .trouble(let number, let trouble):
            if let trouble { cover(trouble == .locked ? .locked : .unavailable) }
            scene.diary.note("\(medium(number)): \(trouble?.rawValue ?? "in reach")")
            scene.weather.set(trouble, on: medium(number))
        case .failure(let number, let failure):
            cover(.failure)
            scene.diary.note("\(medium(number)): the next call will \(failure.rawValue)")
            scene.weather.fail([failure], on: medium(number))
        case .stall(let number, let seconds):
            cover(.deadline)
            scene.diary.note("\(medium(number)): stalls for \(seconds) s")
            scene.world.stall(for: .seconds(seconds)) { [name = medium(number)] in $0.hasSuffix("/\(name)") }
        case .pause(let program) where program < running.count:
            let name = running[program].process.name
            scene.diary.note("\(name) pauses")
            scene.world.stall(for: .seconds(2)) { $0.hasPrefix("\(name)/") }
        case .sleep(let seconds):
            cover(.sleep)
            scene.diary.note("the machine sleeps for \(seconds) s")
            scene.world.sleep(seconds: seconds)
        default: break
        }
    }
}

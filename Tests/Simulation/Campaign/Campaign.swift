import BackendContract
import BackendRuntime
import LocalData
import Synchronization

/// A run: a plan, and a seed that says in which order ready steps are taken.
///
/// What every caller saw is one history a key; one order of the calls must explain it. In the end, with everything in reach, a few sweeps finish, older places are empty, and
/// whatever was displaced without a call is still somewhere.
package struct Campaign: Sendable, Codable, Hashable {
    /// A rule that a run broke.
    package struct Violation: Error, CustomStringConvertible {
        /// Which rule, as the list of invariants names it.
        package let rule: Rule
        package let what: String
        package let campaign: Campaign
        package let history: [String]
        package let trace: [String]
        package var description: String {
            "seed \(campaign.seed), \(campaign.plan.kind): \(rule.rawValue): \(what)\n\(campaign.plan.text)\n\(history.joined(separator: "\n"))"
        }
    }

    package enum Rule: String, Sendable, Codable {
        case order = "one order of the calls explains what was seen (I1-I4)"
        case twice = "sweeping again changes nothing (I5)"
        case unseen = "nothing is destroyed unseen (I6)"
        case secrecy = "nothing is told in the plain (I7)"
        case liveness = "once faults stop, finitely many sweeps finish"
        case observation = "who follows a value ends with the last one"
        case world = "the run ends, and nothing real gets in"
    }

    /// What a run came to.
    package struct Outcome: Sendable {
        package let digest: UInt64
        package let steps: Int
        package let counts: [String: Int]
        package let coverage: Coverage
        /// What callers did and were told.
        package let history: [String]
        /// What was done step by step, if it was to be written down.
        package let trace: [String]
    }

    package var seed: UInt64
    package var plan: Plan

    /// The run that follows from a seed.
    package init(seed: UInt64, kind: Kind? = nil) {
        self.seed = seed
        plan = Plan(seed: seed, kind: kind)
    }

    /// Runs it.
    /// - Parameter mutant: The part of the protocol that is taken away.
    /// - Throws: ``Violation``.
    package func run(_ mutant: Mutant? = nil, isTraced: Bool = false) throws(Violation) -> Outcome {
        let world = Simulation(seed: seed, isTraced: isTraced)
        let scene = Scene(world, plan, mutant)
        do {
            try world.run { try await Act(campaign: self, scene: scene).play() }
        } catch let violation as Violation {
            throw violation
        } catch {
            throw Violation(rule: .world, what: "\(error)", campaign: self, history: scene.diary.lines, trace: world.trace)
        }
        return Outcome(
            digest: world.digest, steps: world.steps, counts: scene.diary.counts, coverage: scene.coverage.withLock(\.self),
            history: scene.diary.lines, trace: world.trace)
    }
}

/// The course of a run.
struct Act: Sendable {
    let campaign: Campaign
    let scene: Scene
    var plan: Plan { campaign.plan }

    func violation(_ rule: Campaign.Rule, _ what: String) -> Campaign.Violation {
        Campaign.Violation(rule: rule, what: what, campaign: campaign, history: scene.diary.lines, trace: scene.world.trace)
    }

    func play() async throws {
        let begins = plant()
        for (number, round) in plan.rounds.enumerated() { try await live(round, number) }
        scene.world.setHaste(0)
        scene.weather.calm()
        try await Verdict(act: self, begins: begins).reach()
    }

    // MARK: The beginning

    /// What stands where, before anybody runs.
    private func plant() -> [ValueModel] {
        var planted: [Spot: String?] = [:]
        return scene.moving.enumerated().map { index, moving in
            var older: [String?] = []
            for (place, olderPlace) in moving.older.enumerated() {
                let spot = olderPlace.spot
                if let text = planted[spot] {
                    older.append(text)
                    continue
                }
                let text = Shape.text(of: 100_000 + index * 10 + place)
                // What has an older shape stands in the place itself: there, one thing only.
                let isTaken = moving.rules.isInPlace && plan.beginnings[index] != .absent
                let value = isTaken ? nil : plant(plan.older[index * 2 + place], text, at: olderPlace)
                planted[spot] = .some(value)
                older.append(value)
                if value != nil, plan.kind == .weaker || spot.medium.hasPrefix("encryptedSQLite") { scene.keepSecret(text) }
            }
            var model = ValueModel(moving.rules, older: older)
            let text = Shape.text(of: 200_000 + index)
            switch plan.beginnings[index] {
            case .absent: break
            case .value:
                put(
                    .value(.bytes((try? moving.calls.bytes(text)) ?? []), StorageMetadata(serializer: "json"), isForeign: false),
                    moving.spot)
                (model.value, model.isSettled) = (text, true)
                if !moving.spot.medium.hasPrefix("userDefaults") { scene.keepSecret(text) }
            case .removed:
                put(.tombstone(StorageMetadata()), moving.spot)
                model.isSettled = true
            case .damaged: scene.disk.corrupt(moving.spot.medium, moving.spot.address, bytes: Array("damage \(index)".utf8))
            case .undecodable: put(.value(Scene.undecodable, StorageMetadata(serializer: "json"), isForeign: false), moving.spot)
            }
            return model
        }
    }

    private func plant(_ beginning: Plan.OlderBeginning, _ text: String, at place: OlderPlace) -> String? {
        switch beginning {
        case .absent: return nil
        case .value:
            if let foreign = place.foreign {
                scene.disk.writeForeign(foreign(text), to: place.spot.medium, at: place.spot.address)
            } else {
                let json = (try? place.calls?.bytes(text)) ?? Array("\"\(text)\"".utf8)
                put(.value(.bytes(json), StorageMetadata(serializer: "json"), isForeign: false), place.spot)
            }
            return text
        case .damaged:
            scene.disk.corrupt(place.spot.medium, place.spot.address, bytes: Array("older damage \(text.suffix(4))".utf8))
            return nil
        case .undecodable:
            put(.value(Scene.undecodable, StorageMetadata(serializer: "json"), isForeign: false), place.spot)
            return nil
        }
    }

    private func put(_ content: SimulatedDisk.Content, _ spot: Spot) {
        scene.disk.plant(content, in: spot.medium, at: spot.address, isOneFile: !spot.medium.hasPrefix("keychain"))
    }

    // MARK: A round

    /// Programs at once, until their callers are done or they have ended.
    private func live(_ round: Plan.Round, _ number: Int) async throws {
        let world = scene.world
        var running: [Scene.Running] = []
        for (index, program) in round.programs.enumerated() { running.append(await scene.launch("p\(number).\(index)", program)) }
        if running.count > 1 { scene.coverage.withLock { $0.begin(.secondProcess) } }
        if round.programs.contains(where: \.isOlder) { scene.coverage.withLock { $0.begin(.olderVersion) } }
        world.setHaste(plan.haste)
        if plan.haste > 0 { scene.coverage.withLock { $0.begin(.deadline) } }
        let crew = Crew()
        var callers: [[ScheduledAction]] = []
        var watches: [Watch] = []
        for (index, program) in running.enumerated() {
            if program.plan.isWatched, running.count == 1 { watches = scene.moving.indices.map { Watch(scene, program, $0) } }
            callers.append(
                program.plan.callers.enumerated().map { caller, calls in
                    let hand = crew.sign(program.process)
                    let first = 300_000 + number * 100_000 + index * 10_000 + caller * 1_000
                    return scene.spawn {
                        let worker = Caller(scene: scene, program: program, name: "p\(number).\(index).\(caller)", first: first)
                        for (position, call) in calls.enumerated() { await worker.make(call, position) }
                        hand.leave()
                    }
                })
        }
        let begin = world.steps
        let stage = Accidents(scene: scene, running: running, callers: callers, round: number, events: round.events)
        world.betweenSteps { stage.happen(upTo: $0 - begin) }
        await crew.wait()
        world.betweenSteps(nil)
        if running.contains(where: { !$0.process.hasEnded }), !watches.isEmpty {
            await world.settle()
            for watch in watches { try await watch.judge(self) }
        }
        for program in running { program.process.end() }
        scene.diary.endRound()
    }
}

/// What goes wrong in a round, when its step has come.
private final class Accidents: Sendable {
    private let scene: Scene
    private let running: [Scene.Running]
    private let callers: [[ScheduledAction]]
    private let round: Int
    private let events: Mutex<[Plan.Event]>

    init(scene: Scene, running: [Scene.Running], callers: [[ScheduledAction]], round: Int, events: [Plan.Event]) {
        self.scene = scene
        self.running = running
        self.callers = callers
        self.round = round
        self.events = Mutex(events.reversed())
    }

    func happen(upTo step: Int) {
        while let event = events.withLock({ ($0.last?.step ?? .max) <= step ? $0.popLast() : nil }) { happen(event.accident, event.step) }
    }

    private func cover(_ fault: Coverage.Fault) { scene.coverage.withLock { $0.begin(fault) } }

    private func happen(_ accident: Plan.Accident, _ step: Int) {
        func medium(_ number: Int) -> String { scene.media[number % scene.media.count] }
        switch accident {
        case .end(let program) where program < running.count:
            cover(.processEnd)
            scene.diary.note("\(running[program].process.name) ends")
            running[program].process.end()
        case .powerCut:
            cover(.powerCut)
            for program in running { program.process.end() }
            let before = scene.disk.damage.count
            scene.disk.cutPower()
            if scene.disk.damage.count > before { cover(.torn) }
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
        case .foreign(let key, let place, let removes): change(key % scene.moving.count, place, removes, 900_000 + round * 10_000 + step)
        default: break
        }
    }

    /// A program that knows nothing of LocalData writes an older place.
    private func change(_ key: Int, _ place: Int, _ removes: Bool, _ number: Int) {
        let moving = scene.moving[key]
        let older = moving.older[place % moving.older.count]
        guard let foreign = older.foreign, scene.mayChange(older.spot) else { return }
        cover(.foreign)
        let text = removes ? nil : Shape.text(of: number)
        scene.disk.writeForeign(text.map(foreign), to: older.spot.medium, at: older.spot.address)
        for (index, other) in scene.moving.enumerated() {
            for (number, place) in other.older.enumerated() where place.spot == older.spot {
                scene.diary.add(index, .older(number, text), "another program leaves \(text ?? "nothing") in \(older.spot.address.name)")
            }
        }
    }
}

/// Somebody who follows a value.
private final class Watch: Sendable {
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
        _ = scene.spawn { [self] in
            do {
                try await calls.watch(program.router) { value in self.last.withLock { $0 = .some(value) } }
            } catch {}
            isOver.withLock { $0 = true }
        }
    }

    func judge(_ act: Act) async throws {
        // A read that failed ended the sequence; so did nothing else.
        guard !isOver.withLock(\.self), !program.process.hasEnded, let seen = last.withLock(\.self) else { return }
        let value: String?
        do { value = try await scene.moving[key].calls.value(program.router) } catch { return }
        await scene.world.settle()
        let latest = last.withLock(\.self)
        guard value != seen, let latest, latest != value, !isOver.withLock(\.self) else { return }
        throw act.violation(.observation, "key \(key): \(latest ?? "nothing") was told last, and it is \(value ?? "nothing")")
    }
}

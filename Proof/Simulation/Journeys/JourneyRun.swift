import BackendContract
import BackendRuntime
import Foundation
import LocalData
import Synchronization

/// A journey that broke a rule.
package struct JourneyFailure: Error, CustomStringConvertible {
    package let journey: Journey
    package let what: String
    package let log: [String]
    package var description: String { "\(what)\n\(journey)\n\(log.joined(separator: "\n"))" }
}

extension Journey {
    /// Carries out the journey, and throws if it broke a rule.
    /// - Parameter seed: Decides the order of the steps within the calls.
    /// - Returns: The number of steps.
    @discardableResult
    package func run(seed: UInt64, mutant: Mutant? = nil) throws(JourneyFailure) -> Int {
        Mutant.activate(mutant)
        let machine = Machine<MovingValues>(seed: seed, schedule: .uniform, mutant: mutant, isTraced: false)
        let log = Mutex<[String]>([])
        defer { _ = machine.unwind() }
        do {
            try machine.world.run {
                var run = JourneyRun(self, machine) { line in log.withLock { $0.append(line) } }
                try await run.reach()
            }
        } catch { throw JourneyFailure(journey: self, what: "\(error)", log: log.withLock(\.self)) }
        return machine.world.steps
    }

    /// Returns a shorter journey that breaks a rule, too.
    package func shrunk(_ failure: JourneyFailure, seed: UInt64, mutant: Mutant? = nil) -> JourneyFailure {
        for journey in shorter {
            do throws(JourneyFailure) { try journey.run(seed: seed, mutant: mutant) } catch {
                return journey.shrunk(error, seed: seed, mutant: mutant)
            }
        }
        return failure
    }
}

/// A broken rule.
private struct Broken: Error, CustomStringConvertible { let description: String }

/// A journey that is carried out: the programs that run, and what each slot must contain.
private struct JourneyRun {
    private struct Program: Sendable {
        let router: StorageRouter
        let process: SimulatedProcess
    }

    /// The changes that a call makes, and the call.
    private struct Plan: Sendable {
        var changes: [(item: Int, writing: Belief.Writing)] = []
        let body: @Sendable (StorageRouter) async throws -> [Int: String?]
    }

    /// An action during the next call, after some of its steps.
    private struct Accident: Sendable {
        let step: Int
        let action: @Sendable () -> Void
    }

    private let journey: Journey
    private let releases: [JourneyRelease]
    private let machine: Machine<MovingValues>
    private let log: @Sendable (String) -> Void
    private var programs: [Int: Program] = [:]
    private var beliefs = [Belief](repeating: Belief(), count: Journey.items)
    /// The newest release that has made a call; -1 before the first one.
    private var newest = -1
    private var texts = 0
    private var starts = 0
    private var accidents: [Accident] = []
    private var endsAfter: Int?

    private static let lifetime = 36_000
    private var hasWindow: Bool { journey.releases.contains(where: \.hasWindow) }

    init(_ journey: Journey, _ machine: Machine<MovingValues>, log: @escaping @Sendable (String) -> Void) {
        (self.journey, self.machine, self.log) = (journey, machine, log)
        releases = journey.declared()
    }

    mutating func reach() async throws {
        for step in journey.steps { try await make(step) }
        calm()
        let last = max(newest, 0)
        for release in last == releases.count - 1 ? [last] : [last, releases.count - 1] { try await judge(release) }
    }

    /// Reads everything with a release, sweeps, and reads everything again, also after a restart.
    private mutating func judge(_ release: Int) async throws {
        for verb in (0..<Journey.items).map(Journey.Verb.get) + [.list, .sweep, .sweep] { try await call(release, verb, mustSucceed: true) }
        programs = [:]
        machine.disk.restart()
        for verb in (0..<Journey.items).map(Journey.Verb.get) + [.list, .found] { try await call(release, verb, mustSucceed: true) }
    }

    private mutating func make(_ step: Journey.Step) async throws {
        let (machine, isOver) = (machine, { [newest] (release: Int) in release < newest })
        switch step {
        case .call(let release, let verb): try await call(release, verb)
        case .beside(let verb, let release, let other): try await call(max(newest, release + 1), verb, beside: (release, other))
        case .foreign(let release, let item, let removes):
            guard isOver(release) || release == 0 && newest < 0 else { return }
            foreign(release, item, removes: removes)
        case .trouble(let store, let trouble, let step):
            let medium = Self.medium(store)
            accidents.append(Accident(step: step) { machine.weather.set(trouble, on: medium) })
        case .failure(let store, let failure, let step):
            let medium = Self.medium(store)
            accidents.append(Accident(step: step) { machine.weather.fail([failure], on: medium) })
        case .end(let step): endsAfter = step
        case .powerCut:
            endAll()
            machine.disk.cutPower()
            log("the power is cut")
            guard journey.isWary else { break }
            // Any earlier value may return.
            if journey.releases[...max(newest, 0)].contains(where: { $0.store == .ring }) {
                for item in beliefs.indices { beliefs[item].blur() }
            }
        case .restart:
            endAll()
            machine.disk.restart()
            log("the machine is restarted")
        case .sleep:
            machine.world.sleep(seconds: Self.lifetime * 2)
            // A release that names several earlier places takes a value from one behind an expired value: see Docs/KnownLimits.md.
            if journey.releases.dropFirst(2).contains(where: { !$0.isChain }) { for item in beliefs.indices { beliefs[item].limit() } }
            log("the machine sleeps")
        }
    }

    private mutating func endAll() {
        for program in programs.values { program.process.end() }
        programs = [:]
    }

    private mutating func calm() {
        machine.weather.calm()
        (accidents, endsAfter) = ([], nil)
        endAll()
    }

    private static func medium(_ store: Journey.Store) -> String { Spot(Journey.domain(store), "").medium }

    private mutating func program(_ release: Int) async throws -> Program {
        if let program = programs[release], !program.process.hasEnded { return program }
        starts += 1
        let (router, process) = await machine.launch(
            "release \(release).\(starts)", version: "\(release + 1)", releases[release].catalog, isWary: journey.isWary, pageSize: 2)
        if let refused = machine.diary.lines.first(where: { $0.contains("refused") }) { throw Broken(description: refused) }
        let program = Program(router: router, process: process)
        programs[release] = program
        return program
    }

    // MARK: Calls

    private mutating func call(
        _ release: Int, _ verb: Journey.Verb, beside other: (release: Int, verb: Journey.Verb)? = nil, mustSucceed: Bool = false
    ) async throws {
        newest = max(newest, release)
        guard let plan = plan(verb, of: release) else { return }
        let program = try await program(release)
        var calls = [(program, plan)]
        if let other, let plan = self.plan(other.verb, of: other.release) { calls.append((try await self.program(other.release), plan)) }
        let begin = machine.world.wallSeconds
        let isQuiet = accidents.isEmpty && endsAfter == nil && calls.count == 1
        noteRewrite(by: release, of: plan.changes.map(\.item))
        if let other, calls.count > 1 { noteRewrite(by: other.release, of: calls[1].1.changes.map(\.item)) }
        let results = await attempt(calls)
        let end = machine.world.wallSeconds
        log(
            "\(release) \(verb): \(Self.shown(results[0]))"
                + (other.map { "; \($0.release) \($0.verb): \(Self.shown(results.last ?? nil))" } ?? ""))
        if mustSucceed, case .failure(let error) = results[0] { throw Broken(description: "\(verb) of release \(release) fails: \(error)") }
        if release == newest {
            // A change that another program makes at the same time may be seen, or not yet.
            if let other, calls.count > 1 { settleOlder(other.verb, calls[1].1, nil, by: other.release) }
            // A release that names several earlier places misses a record that moves between two of them: see Docs/KnownLimits.md.
            if release > 1, calls.count > 1, !journey.releases[release].isChain { for item in beliefs.indices { beliefs[item].limit() } }
            try judge(results[0], from: begin, to: end, verb)
            settle(plan, results[0])
            if !isQuiet { blurMerged(plan) }
            limit(verb, plan, results[0], by: release, isQuiet: isQuiet)
            if isQuiet, case .success = results[0] { try await judgeForgetting(verb) }
        } else {
            settleOlder(verb, plan, results[0], by: release)
            limit(verb, plan, results[0], by: release, isQuiet: isQuiet)
        }
        if let other, calls.count > 1 {
            settleOlder(other.verb, calls[1].1, results[1], by: other.release)
            limit(other.verb, calls[1].1, results[1], by: other.release, isQuiet: false)
        }
        if let leak = machine.leak { throw Broken(description: leak) }
    }

    private static func shown(_ result: Result<[Int: String?], any Error>?) -> String {
        switch result {
        case nil: "ended"
        case .success(let seen)?:
            seen.isEmpty ? "done" : seen.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value ?? "nothing")" }.joined(separator: ", ")
        case .failure(let error)?: "\(error)"
        }
    }

    /// Makes calls at once, and causes the accidents. A call whose program ends has no result.
    private mutating func attempt(_ calls: [(program: Program, plan: Plan)]) async -> [Result<[Int: String?], any Error>?] {
        let crew = Crew()
        let results = Mutex([Result<[Int: String?], any Error>?](repeating: nil, count: calls.count))
        for (index, call) in calls.enumerated() {
            let hand = crew.sign(call.program.process)
            _ = machine.spawn {
                let result: Result<[Int: String?], any Error>
                do { result = .success(try await call.plan.body(call.program.router)) } catch { result = .failure(error) }
                results.withLock { $0[index] = result }
                hand.leave()
            }
        }
        let begin = machine.world.steps
        let planned = Mutex(accidents + (endsAfter.map { [Accident(step: $0) { calls[0].program.process.end() }] } ?? []))
        machine.world.betweenSteps { step in
            let due = planned.withLock { planned in
                defer { planned.removeAll { $0.step <= step - begin } }
                return planned.filter { $0.step <= step - begin }
            }
            for accident in due { accident.action() }
        }
        await crew.wait()
        machine.world.betweenSteps(nil)
        machine.weather.calm()
        (accidents, endsAfter) = ([], nil)
        return results.withLock(\.self)
    }

    private mutating func text() -> String {
        texts += 1
        return Marks.text(of: texts)
    }

    /// Returns the plan of a call; nil if the release cannot make the call.
    private mutating func plan(_ verb: Journey.Verb, of release: Int) -> Plan? {
        let declared = releases[release]
        let all = 0..<Journey.items
        let now = machine.world.wallSeconds
        switch verb {
        case .get(let item):
            let calls = declared.items[item]
            return Plan { [item: try await calls.value($0)] }
        case .exists(let item):
            let calls = declared.items[item]
            // The answer is only about the destination.
            return Plan {
                _ = try await calls.exists($0)
                return [:]
            }
        case .set(let item), .setExpiring(let item):
            var seconds: Int?
            if case .setExpiring = verb, declared.records != nil || item == 0 { seconds = Self.lifetime }
            let (calls, text, lifetime) = (declared.items[item], text(), seconds)
            return Plan(changes: [(item, Belief.Writing(text: text, expiry: seconds.map { now + Double($0) }))]) {
                try await calls.set($0, text, lifetime)
                return [:]
            }
        case .update(let item):
            let (calls, text) = (declared.items[item], text())
            return Plan(changes: [(item, Belief.Writing(text: text, mayExpire: true))]) { [item: try await calls.update($0, text)] }
        case .remove(let item):
            let calls = declared.items[item]
            return Plan(changes: [(item, Belief.Writing())]) {
                try await calls.remove($0)
                return [:]
            }
        case .sweep:
            let catalog = declared.catalog
            return Plan {
                _ = try await $0.registerCatalog(catalog, migrateImmediately: true)
                return [:]
            }
        case .list, .found:
            guard let records = declared.records else { return nil }
            let isList = if case .list = verb { true } else { false }
            return Plan { router in
                let found = try await isList ? records.list(router) : records.found(router)
                return Dictionary(uniqueKeysWithValues: all.dropFirst().map { ($0, found[Journey.id($0)]) })
            }
        case .setAll:
            guard let records = declared.records else { return nil }
            let texts = all.dropFirst().map { _ in text() }
            let count = declared.domain.kind == .keychain ? 1 : texts.count
            return Plan(changes: (0..<count).map { ($0 + 1, Belief.Writing(text: texts[$0])) }) {
                try await records.setAll($0, texts)
                return [:]
            }
        case .clear:
            guard let records = declared.records else { return nil }
            return Plan(changes: all.dropFirst().map { ($0, Belief.Writing()) }) {
                try await records.clear($0)
                return [:]
            }
        case .endWindow:
            let calls = declared.items
            guard journey.releases[release].hasWindow else { return nil }
            return Plan { router in
                for item in calls { try await item.endWindow(router) }
                return [:]
            }
        case .forget, .forgetEverything:
            let domain = declared.domain
            let isEverything = if case .forget = verb { false } else { true }
            return Plan(changes: all.map { ($0, Belief.Writing()) }) { router in
                if isEverything { try await router.forgetEverything() } else { try await router.forget(domain) }
                return [:]
            }
        }
    }

    // MARK: Rules

    private func judge(_ result: Result<[Int: String?], any Error>?, from begin: Double, to end: Double, _ verb: Journey.Verb) throws {
        guard case .success(let seen)? = result else { return }
        for (item, answer) in seen {
            if let objection = beliefs[item].objection(to: answer, from: begin, to: end) {
                throw Broken(description: "item \(item), \(verb): \(objection)")
            }
        }
    }

    private mutating func settle(_ plan: Plan, _ result: Result<[Int: String?], any Error>?) {
        let end = machine.world.wallSeconds
        if case .success(let seen)? = result { for (item, answer) in seen { beliefs[item].saw(answer, at: end, isInWindow: hasWindow) } }
        for (item, writing) in plan.changes {
            switch Self.outcome(result) {
            case .applied: beliefs[item].make(writing)
            case .unknown: beliefs[item].perhaps(writing)
            case .notApplied: break
            }
        }
    }

    /// Leaves out what Docs/KnownLimits.md lists about chains of three releases, and about a call of `forget` that fails.
    private mutating func limit(
        _ verb: Journey.Verb, _ plan: Plan, _ result: Result<[Int: String?], any Error>?, by release: Int, isQuiet: Bool
    ) {
        var isLimited = (1..<releases.count - 1).contains(release) && (!isQuiet || plan.changes.contains { $0.writing.text == nil })
        // The last of four releases may change a value while it cannot read a location in the middle.
        if release > 2, !isQuiet, journey.releases.contains(where: { $0.policy != .destinationWins }) { isLimited = true }
        switch (verb, result) {
        case (.forget, .success?), (.forgetEverything, .success?): isLimited = !isQuiet
        case (.forget, _), (.forgetEverything, _): isLimited = true
        default: break
        }
        if isLimited { for (item, _) in plan.changes { beliefs[item].limit() } }
    }

    /// With `merge`, a change in a release window does not name what it could not read: see Docs/KnownLimits.md.
    private mutating func blurMerged(_ plan: Plan) {
        guard hasWindow, journey.releases.contains(where: { $0.policy == .merge }) else { return }
        for (item, _) in plan.changes { beliefs[item].blur() }
    }

    /// An older program that converts a value within its slot makes a new write of it: see Docs/KnownLimits.md. One that merges combines
    /// new values with earlier ones, which the newest release has replaced.
    private mutating func blurConverted(by release: Int) {
        func isShared(_ release: Journey.Release) -> Bool { Journey.slot(of: release.store) == .otherList }
        let before = journey.releases[...release]
        if before.contains(where: isShared), journey.releases[...newest].count(where: isShared) > 1 { beliefs[0].blur() }
        guard before.contains(where: { $0.policy == .merge }) else { return }
        for item in beliefs.indices where !beliefs[item].others.isEmpty { beliefs[item].blur() }
    }

    /// Notes that the list of all records is written: a program that changes one record writes all of them again.
    private mutating func noteRewrite(by release: Int, of items: [Int]) {
        guard journey.beginsWithList, release == 0, items.contains(where: { $0 > 0 }) else { return }
        for note in list() {
            guard let item = (1..<Journey.items).first(where: { Journey.id($0) == note.id }) else { continue }
            // The policy decides about a list that is written after the records were moved. Merging takes the same text once more.
            if journey.releases.contains(where: { $0.policy == .merge }) { beliefs[item].blur() }
            beliefs[item].other(Belief.Writing(text: note.text, isSure: false))
        }
    }

    private func list() -> [JourneyNote] {
        let record = machine.disk.record(of: Self.medium(journey.releases[0].store), StorageAddress("list"))
        return record.flatMap { try? JSONDecoder().decode([JourneyNote].self, from: Data(Self.bytes($0.payload))) } ?? []
    }

    private mutating func settleOlder(_ verb: Journey.Verb, _ plan: Plan, _ result: Result<[Int: String?], any Error>?, by release: Int) {
        blurConverted(by: release)
        guard Self.outcome(result) != .notApplied else { return }
        let slot = Journey.slot(of: journey.releases[release].store)
        let isShared = release < newest - 1 && slot == Journey.slot(of: journey.releases[newest].store)
        for (item, writing) in plan.changes {
            var writing = writing
            writing.isSure = Self.outcome(result) == .applied && !(journey.beginsWithList && release == 0 && item > 0)
            beliefs[item].other(writing)
            switch verb {
            case .forget, .forgetEverything: beliefs[item].blur()
            default: if isShared { beliefs[item].blur() }
            }
        }
    }

    private static func outcome(_ result: Result<[Int: String?], any Error>?) -> MutationOutcome {
        switch result {
        case nil: .unknown
        case .success?: .applied
        case .failure(let error as StorageError)?: error.outcome
        case .failure?: .unknown
        }
    }

    /// After everything was forgotten, no store has any of the values.
    private func judgeForgetting(_ verb: Journey.Verb) async throws {
        switch verb {
        case .forget, .forgetEverything: break
        default: return
        }
        for (medium, slots) in machine.disk.picture(without: []) {
            for (address, content) in slots {
                guard case .value(let payload, _, _) = content, !Marks.numbers(in: payload.canonicalBytes).isEmpty else { continue }
                throw Broken(description: "\(medium), \(address.namespace.name)/\(address.name) has a value after \(verb)")
            }
        }
    }

    /// Changes a list as a program does that does not use LocalData.
    private mutating func foreign(_ release: Int, _ item: Int, removes: Bool) {
        let store = journey.releases[release].store
        guard [.list, .otherList].contains(store) else { return }
        if newest >= 0, Journey.slot(of: journey.releases[newest].store) == store { return }
        let writing = Belief.Writing(text: removes ? nil : text())
        let medium = Self.medium(store)
        if item == 0 {
            machine.disk.writeForeign(writing.text.map { .string($0) }, to: medium, at: StorageAddress("value"))
        } else {
            guard journey.beginsWithList, release == 0 else { return }
            noteRewrite(by: 0, of: [item])
            let address = StorageAddress("list")
            var notes = list()
            notes.removeAll { $0.id == Journey.id(item) }
            if let text = writing.text { notes.append(JourneyNote(id: Journey.id(item), text: text)) }
            let bytes = (try? JSONEncoder().encode(notes)).map(Array.init)
            machine.disk.writeForeign(notes.isEmpty ? nil : bytes.map { .data($0) }, to: medium, at: address)
        }
        beliefs[item].other(Belief.Writing(text: writing.text, isSure: item == 0))
        let isSealedLater = item == 0 && releases.count > 2 && journey.releases.contains { $0.store == .sealed }
        if release > 0 || isSealedLater { beliefs[item].limit() }
        log("another program leaves \(writing.text ?? "nothing") for item \(item) in \(store)")
    }

    private static func bytes(_ payload: StoragePayload) -> [UInt8] {
        switch payload {
        case .bytes(let bytes), .native(.data(let bytes)): bytes
        default: []
        }
    }
}

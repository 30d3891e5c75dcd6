import TestSupport

/// The events of a run: which programs start, what they call, and what goes wrong when.
///
/// A plan follows from a seed. It does not contain the order in which ready steps are taken. For a run that broke a
/// rule, ``Campaign/shrunk(_:_:tries:)`` finds a shorter plan that breaks the same rule and is easier to read.
package protocol CampaignPlan: Codable, Hashable, Sendable {
    associatedtype Kind: Label
    associatedtype Program: CampaignProgram

    var kind: Kind { get }
    /// The difference between the plan and others of its kind: the policy for conflicts, and the place of the values.
    var variant: String { get }
    /// How slow the simulated machine is. A timer fires although other steps are ready, on average once in this number
    /// of steps. If it is 0, a timer fires only when no other step is ready.
    var haste: Int { get set }
    var rounds: [Round<Program>] { get set }
    /// A description of the initial state.
    var head: String { get }
    /// Changes of the plan, each of which makes the initial state simpler. They help to find a simpler run that breaks
    /// the same rule.
    var simplifications: [(inout Self) -> Void] { get }

    /// Creates the plan that follows from a seed.
    /// - Parameter kind: The kind; drawn from the seed if nil.
    init(seed: UInt64, kind: Kind?)
}

/// The kinds of calls and of accidents that the plan of a seed draws. Half of the plans draw only a few kinds, so each of these occurs often
/// (Groce et al.: Swarm Testing, ISSTA 2012).
struct Swarm {
    private var numbers: SeededGenerator
    private let isPartial: Bool

    init(seed: UInt64) {
        numbers = SeededGenerator(seed ^ 0x54A2_5EED_0003_5EED)
        isPartial = numbers.next() % 2 == 0
    }

    /// Returns as many numbers as there are alternatives. Each number names an alternative, and one that is not drawn is missing.
    mutating func choices(of count: Int) -> [Int] {
        guard isPartial else { return Array(0..<count) }
        let some = Array((0..<count).shuffled(using: &numbers).prefix(Int.random(in: count / 5...count / 2, using: &numbers)))
        return (0..<count).map { some[$0 % some.count] }
    }
}

/// A program that runs in a round, that is, in a group of programs that run at the same time.
package protocol CampaignProgram: Codable, Hashable, Sendable {
    associatedtype Verb: Label
    /// The calls of each caller, in order.
    var callers: [[Call<Verb>]] { get set }
    /// A short text that distinguishes the program from others in the printed plan.
    var note: String { get }
    /// A copy of the program in which unusual properties, which few failures need, are switched off.
    var simpler: Self { get }
}

/// A call of a program.
package struct Call<Verb: Label>: Codable, Hashable, Sendable {
    var verb: Verb
    /// The key or record, numbered from 0.
    var key: Int
}

/// Programs that run at the same time, and what goes wrong while they run.
package struct Round<Program: CampaignProgram>: Codable, Hashable, Sendable {
    var programs: [Program]
    var events: [Event]
}

/// An accident and its time.
package struct Event: Codable, Hashable, Sendable {
    /// How many steps of the round are taken before the accident.
    var step: Int
    var accident: Accident
}

/// Something that can go wrong in a run.
package enum Accident: Codable, Hashable, Sendable {
    case end(program: Int)
    case powerCut
    case cancel(program: Int, caller: Int)
    case trouble(medium: Int, StoreConditions.Trouble?)
    case failure(medium: Int, StoreConditions.Failure)
    case stall(medium: Int, seconds: Int)
    /// One program stops for a while, and the others continue.
    case pause(program: Int)
    /// A program that does not use LocalData changes a legacy location.
    case foreign(key: Int, place: Int, removes: Bool)
    /// The machine sleeps: the wall clock and the boot clock advance, the monotonic clock does not.
    case sleep(seconds: Int)
    /// The wall clock is set wrong by some seconds, or set right again.
    case setClock(wrongBy: Int)
}

extension CampaignPlan {
    package var variant: String { "" }

    /// The plan as text.
    package var text: String {
        let parts = rounds.enumerated().map { number, round in
            let programs = round.programs.enumerated().map { index, program in
                let calls = program.callers.map { $0.map { "\($0.verb) \($0.key)" }.joined(separator: ", ") }.joined(separator: " | ")
                return "  p\(number).\(index)\(program.note): \(calls)"
            }
            return (programs + round.events.map { "  after \($0.step) steps: \($0.accident)" }).joined(separator: "\n")
        }
        return (["\(head)\(haste > 0 ? ", haste \(haste)" : "")"] + parts).joined(separator: "\n")
    }

    /// Whether a store is out of space at some time.
    var hasFullDisk: Bool {
        rounds.contains { $0.events.contains { if case .trouble(_, .full) = $0.accident { true } else { false } } }
    }

    /// How many calls and accidents the plan has.
    package var size: Int { rounds.reduce(0) { $0 + $1.programs.flatMap(\.callers).joined().count + $1.events.count } }

    /// All plans that have one element less.
    var shorter: [Self] {
        var plans: [Self] = []
        func add(_ change: (inout Self) -> Void) {
            var plan = self
            change(&plan)
            if plan != self { plans.append(plan) }
        }
        for round in rounds.indices where rounds.count > 1 { add { $0.rounds.remove(at: round) } }
        for round in rounds.indices {
            for program in rounds[round].programs.indices where rounds[round].programs.count > 1 {
                add { $0.rounds[round].programs.remove(at: program) }
            }
            for event in rounds[round].events.indices { add { $0.rounds[round].events.remove(at: event) } }
            for program in rounds[round].programs.indices {
                let callers = rounds[round].programs[program].callers
                for caller in callers.indices where callers.count > 1 {
                    add { $0.rounds[round].programs[program].callers.remove(at: caller) }
                }
                for caller in callers.indices {
                    for call in callers[caller].indices where callers[caller].count > 1 {
                        add { $0.rounds[round].programs[program].callers[caller].remove(at: call) }
                    }
                }
                add { $0.rounds[round].programs[program] = rounds[round].programs[program].simpler }
            }
        }
        for simplify in simplifications { add(simplify) }
        add { $0.haste = 0 }
        return plans
    }
}

/// What is to happen in a run, but for the order in which ready steps are taken: who starts, what they call, and what goes wrong when.
///
/// A plan follows from a seed. A shorter plan that breaks the same rule is easier to read: see ``Campaign/shrunk(_:_:tries:)``.
package protocol CampaignPlan: Codable, Hashable, Sendable {
    associatedtype Kind: Label
    associatedtype Program: CampaignProgram

    var kind: Kind { get }
    /// See ``Simulation/setHaste(_:)``.
    var haste: Int { get set }
    var rounds: [Round<Program>] { get set }
    /// The beginning, in words.
    var head: String { get }
    /// The changes that make the beginning simpler.
    var simplifications: [(inout Self) -> Void] { get }

    /// The plan that follows from a seed.
    /// - Parameter kind: The kind; drawn when nil.
    init(seed: UInt64, kind: Kind?)
}

/// A program that runs in a round.
package protocol CampaignProgram: Codable, Hashable, Sendable {
    associatedtype Verb: Label
    /// What each of its callers calls, in order.
    var callers: [[Call<Verb>]] { get set }
    /// What tells it from others, in words.
    var note: String { get }
    /// The same program without what may not matter.
    var simpler: Self { get }
}

/// A call of a program.
package struct Call<Verb: Label>: Codable, Hashable, Sendable {
    var verb: Verb
    /// Which key or record: the number counts those that there are.
    var key: Int
}

/// Programs that run at once, and what goes wrong meanwhile.
package struct Round<Program: CampaignProgram>: Codable, Hashable, Sendable {
    var programs: [Program]
    var events: [Event]
}

/// Something that goes wrong.
package struct Event: Codable, Hashable, Sendable {
    /// After how many steps of the round.
    var step: Int
    var accident: Accident
}

/// What can go wrong.
package enum Accident: Codable, Hashable, Sendable {
    case end(program: Int)
    case powerCut
    case cancel(program: Int, caller: Int)
    case trouble(medium: Int, StoreConditions.Trouble?)
    case failure(medium: Int, StoreConditions.Failure)
    case stall(medium: Int, seconds: Int)
    /// One program stops for a while, and the others go on.
    case pause(program: Int)
    /// A program that does not use LocalData changes an older place.
    case foreign(key: Int, place: Int, removes: Bool)
    /// The wall clock goes on: the machine slept.
    case sleep(seconds: Int)
    /// Somebody sets the wall clock: from now on it is wrong by some seconds, or right.
    case setClock(wrongBy: Int)
}

extension CampaignPlan {
    /// The plan in words.
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

    /// Whether a disk is full for a while.
    var hasFullDisk: Bool {
        rounds.contains { $0.events.contains { if case .trouble(_, .full) = $0.accident { true } else { false } } }
    }

    /// How many calls and accidents it has.
    package var size: Int { rounds.reduce(0) { $0 + $1.programs.flatMap(\.callers).joined().count + $1.events.count } }

    /// Plans with one thing less.
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

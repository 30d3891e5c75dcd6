import TestSupport

/// What is to happen in a run, but for the order in which ready steps are taken: who starts, what they call, and what goes wrong when.
///
/// A plan follows from a seed. A shorter plan that breaks the same rule is easier to read: see ``Campaign/shrunk(_:)``.
package struct Plan: Codable, Hashable, Sendable {
    /// What stands in a key's place when the run begins.
    package enum Beginning: String, Codable, CaseIterable, Sendable { case absent, value, removed, damaged, undecodable }

    /// What an older place holds when the run begins.
    package enum OlderBeginning: String, Codable, CaseIterable, Sendable { case value, absent, damaged, undecodable }

    package enum Verb: String, Codable, CaseIterable, Sendable {
        case get, value, set, update, erase, remove, exists, force, sweep, plan, batch
    }

    package struct Call: Codable, Hashable, Sendable {
        var verb: Verb
        /// Which key: the number counts those that there are.
        var key: Int
    }

    /// A program that runs in a round.
    package struct Program: Codable, Hashable, Sendable {
        /// Whether it is of the version before, which knows only the older places.
        var isOlder = false
        /// Whether the migration's condition does not hold for it.
        var isHeldBack = false
        /// Whether somebody follows the values.
        var isWatched = false
        var callers: [[Call]]
    }

    package enum Accident: Codable, Hashable, Sendable {
        case end(program: Int)
        case powerCut
        case cancel(program: Int, caller: Int)
        case trouble(medium: Int, Weather.Trouble?)
        case failure(medium: Int, Weather.Failure)
        case stall(medium: Int, seconds: Int)
        /// Everybody else goes on for a while.
        case pause(program: Int)
        /// A program that knows nothing of LocalData changes an older place.
        case foreign(key: Int, place: Int, removes: Bool)
    }

    package struct Event: Codable, Hashable, Sendable {
        /// After how many steps of the round.
        var step: Int
        var accident: Accident
    }

    package struct Round: Codable, Hashable, Sendable {
        var programs: [Program]
        var events: [Event]
    }

    package var kind: Kind
    var policy: Policy
    /// How many of the kind there are.
    var count: Int
    var isWary: Bool
    var tears: Bool
    /// See ``Simulation/setHaste(_:)``.
    var haste: Int
    var beginnings: [Beginning]
    var older: [OlderBeginning]
    var rounds: [Round]

    /// The plan that follows from a seed.
    /// - Parameter kind: The kind of migration; drawn when nil.
    package init(seed: UInt64, kind: Kind? = nil) {
        // Another stream than the one that picks the steps.
        var numbers = SeededGenerator(seed ^ 0x9E1A_1A90_5EED_5EED)
        func draw(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &numbers) }
        func pick<T>(_ all: [T]) -> T { all[draw(all.count)] }
        let drawn = pick(Kind.allCases)
        let kind = kind ?? drawn
        self.kind = kind
        policy = pick(kind.policies)
        count = draw(kind.tears ? 2 : 4) == 0 ? 2 : 1
        isWary = draw(kind.tears ? 2 : 3) == 0
        tears = draw(3) > 0
        haste = pick([0, 0, 0, 60])
        let keys = count * (kind == .shared ? 2 : 1)
        beginnings = (0..<keys).map { _ in
            guard draw(3) == 0 else { return .absent }
            // Nobody outside can seal a value.
            return pick(kind == .sealed || kind == .inPlace ? [.removed, .damaged, .undecodable] : Beginning.allCases)
        }
        older = (0..<2 * keys).map { place in
            switch draw(16) {
            case 0, 1: .absent
            // Then an older version moves the second place's value to the first.
            case 3..<9 where (kind == .several || kind == .inPlace) && place % 2 == 0: .absent
            case 2: kind == .inPlace ? .value : pick([.damaged, .undecodable])
            default: .value
            }
        }
        let isAlone = kind == .byHand
        rounds = []
        for _ in 0..<(kind.tears ? 2 : 1 + draw(2)) {
            let programs = (0..<(isAlone || draw(4) == 0 ? 1 : 2)).map { number in
                let isOlder = number == 1 && draw(kind == .several || kind == .inPlace ? 2 : 4) == 0
                return Program(
                    isOlder: isOlder, isHeldBack: kind == .conditional && draw(3) == 0, isWatched: !isOlder && draw(6) == 0,
                    callers: (0..<(1 + draw(2))).map { _ in
                        (0..<(1 + draw(3))).map { _ in Call(verb: Self.verb(draw(20)), key: draw(keys)) }
                    })
            }
            let calls = programs.flatMap(\.callers).joined().count
            let events = (0..<draw(5)).map { _ -> Event in
                // Most is at stake while values are on their way: in the beginning.
                let step = draw(draw(2) == 0 ? 40 : 20 + calls * 25)
                let accident: Accident =
                    switch draw(17) {
                    case 0: .end(program: draw(programs.count))
                    case 1, 2: .powerCut
                    case 3: .cancel(program: draw(programs.count), caller: draw(2))
                    case 14 where kind.tears: .powerCut
                    case 4, 5, 6, 14: .trouble(medium: draw(4), pick([.locked, .unavailable, .locked, .unavailable, nil]))
                    case 7, 8: .failure(medium: draw(4), pick(Weather.Failure.allCases))
                    case 9: .stall(medium: draw(4), seconds: 5 + draw(10))
                    case 13, 15, 16: .pause(program: draw(programs.count))
                    default: .foreign(key: draw(keys), place: draw(2), removes: draw(4) == 0)
                    }
                return Event(step: step, accident: accident)
            }
            rounds.append(Round(programs: programs, events: events.sorted { $0.step < $1.step }))
        }
    }

    private static func verb(_ number: Int) -> Verb {
        switch number {
        case 0, 1: .get
        case 2, 3, 4: .value
        case 5, 6, 7: .set
        case 8, 9: .update
        case 10: .erase
        case 11, 12, 13: .remove
        case 14: .exists
        case 15: .force
        case 16, 17: .sweep
        case 18: .plan
        default: .batch
        }
    }
}

import TestSupport

/// The plan of a run of moving values.
package struct ValuePlan: CampaignPlan {
    /// The initial content of a key's slot.
    package enum Beginning: String, Codable, CaseIterable, Sendable { case absent, value, removed, damaged, undecodable }

    /// The initial content of a legacy location.
    package enum OlderBeginning: String, Codable, CaseIterable, Sendable { case value, absent, damaged, undecodable }

    package enum Verb: String, Label {
        case get, value, set, update, erase, remove, exists, force, sweep, plan, batch, rotate
    }

    /// A program that runs in a round.
    package struct Program: CampaignProgram {
        /// Whether the program is the earlier version, which knows only the legacy locations.
        var isOlder = false
        /// Whether the condition of the migration is false for the program, so that the value is not moved.
        var isHeldBack = false
        /// Whether the values have observers.
        var isWatched = false
        package var callers: [[Call<Verb>]]

        package var note: String {
            "\(isOlder ? " (older)" : "")\(isHeldBack ? " (held back)" : "")\(isWatched ? " (watched)" : "")"
        }

        package var simpler: Program {
            var program = self
            program.isWatched = false
            return program
        }
    }

    package var kind: ValueKind
    var policy: Policy
    /// How many sets of keys the run has. Each set is a ``Shape``.
    var count: Int
    var isWary: Bool
    var tears: Bool
    package var haste: Int
    var beginnings: [Beginning]
    var older: [OlderBeginning]
    package var rounds: [Round<Program>]

    /// Whether the slot begins with a forged removal: a tombstone without a seal in a store of sealed values. The
    /// library treats it as damage.
    func isForged(_ beginning: Beginning) -> Bool { kind == .sealed && beginning == .removed }

    package init(seed: UInt64, kind: ValueKind? = nil) {
        // Uses another random stream than the choice of the steps.
        var numbers = SeededGenerator(seed ^ 0x9E1A_1A90_5EED_5EED)
        func draw(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &numbers) }
        func pick<T>(_ all: [T]) -> T { all[draw(all.count)] }
        var drawn = pick(ValueKind.allCases.filter { !$0.allowsWeakerProtection })
        if drawn == .weaker {
            var others = SeededGenerator(seed ^ 0x10E3_10E3_5EED_5EED)
            drawn = [.weaker, .lowered, .loweredForeign][Int.random(in: 0..<3, using: &others)]
        }
        let kind = kind ?? drawn
        self.kind = kind
        policy = pick(kind.policies)
        count = draw(kind.tears ? 2 : 4) == 0 ? 2 : 1
        isWary = draw(kind.tears ? 2 : 3) == 0
        // In the model, changes of legacy locations are durable at once.
        if kind == .loweredForeign { isWary = false }
        tears = draw(3) > 0
        haste = pick([0, 0, 0, 60])
        let keys = count * (kind == .shared ? 2 : 1)
        beginnings = (0..<keys).map { _ in
            guard draw(3) == 0 else { return .absent }
            // A plan cannot seal a value, so sealed keys begin without one. A tombstone without a seal is a forgery.
            return pick(kind == .sealed || kind == .inPlace ? [.removed, .damaged, .undecodable] : Beginning.allCases)
        }
        older = (0..<2 * keys).map { place in
            switch draw(16) {
            case 0, 1: .absent
            // The first of two legacy locations is often empty. An older version then moves the value of the second one
            // into it.
            case 3..<9 where (kind == .several || kind == .inPlace) && place % 2 == 0: .absent
            case 2: kind == .inPlace ? .value : pick([.damaged, .undecodable])
            default: .value
            }
        }
        let isAlone = kind == .byHand
        var swarm = Swarm(seed: seed)
        let (verbs, accidents) = (swarm.choices(of: 20), swarm.choices(of: 17))
        rounds = []
        for _ in 0..<(kind.tears ? 2 : 1 + draw(2)) {
            let programs = (0..<(isAlone || draw(4) == 0 ? 1 : 2)).map { number in
                let isOlder = number == 1 && draw(kind == .several || kind == .inPlace ? 2 : 4) == 0
                return Program(
                    isOlder: isOlder, isHeldBack: kind == .conditional && draw(3) == 0, isWatched: !isOlder && draw(6) == 0,
                    callers: (0..<(1 + draw(2))).map { _ in
                        (0..<(1 + draw(3))).map { _ in Call(verb: Self.verb(verbs[draw(20)], of: kind), key: draw(keys)) }
                    })
            }
            let calls = programs.flatMap(\.callers).joined().count
            let events = (0..<draw(5)).map { _ -> Event in
                // Half of the accidents happen early, while values are being moved.
                let step = draw(draw(2) == 0 ? 40 : 20 + calls * 25)
                let accident: Accident =
                    switch accidents[draw(17)] {
                    case 0: .end(program: draw(programs.count))
                    case 1, 2: .powerCut
                    case 3: .cancel(program: draw(programs.count), caller: draw(2))
                    case 14 where kind.tears: .powerCut
                    case 4, 5, 6, 14: .trouble(medium: draw(4), pick([.locked, .unavailable, .locked, .full, nil]))
                    case 7, 8: .failure(medium: draw(4), pick(StoreConditions.Failure.allCases))
                    case 9: .stall(medium: draw(4), seconds: 5 + draw(10))
                    case 13, 15, 16: .pause(program: draw(programs.count))
                    default: .foreign(key: draw(keys), place: draw(2), removes: draw(4) == 0)
                    }
                return Event(step: step, accident: accident)
            }
            rounds.append(Round(programs: programs, events: events.sorted { $0.step < $1.step }))
        }
    }

    private static func verb(_ number: Int, of kind: ValueKind) -> Verb {
        switch number {
        case 14 where kind == .sealed, 18 where kind == .sealed: .rotate
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

    package var variant: String { policy.rawValue }

    package var head: String {
        let begins = zip(beginnings.indices, beginnings).map {
            "\($0): \($1.rawValue), older \(older[2 * $0].rawValue)/\(older[2 * $0 + 1].rawValue)"
        }
        return "\(kind), \(policy), \(count) of it\(isWary ? ", wary" : "")\(tears ? ", tears" : ""); \(begins.joined(separator: "; "))"
    }

    package var simplifications: [(inout ValuePlan) -> Void] {
        [{ $0.count = 1 }, { $0.isWary = false }, { $0.tears = false }]
            + beginnings.indices.map { index in { $0.beginnings[index] = .absent } }
            + older.indices.map { index in { $0.older[index] = .value } }
    }
}

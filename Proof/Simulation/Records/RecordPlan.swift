import TestSupport

/// The plan of a run that tests schema versions, collections or lifetimes.
package struct RecordPlan: CampaignPlan {
    package enum Verb: String, Label {
        case value, set, update, erase, remove, exists, sweep, all, carry, setMany
    }

    package struct Program: CampaignProgram {
        var version: Int
        package var callers: [[Call<Verb>]]
        package var note: String { " (version \(version))" }
        package var simpler: Program { self }
    }

    package var kind: RecordKind
    var place: RecordPlace
    /// The policy for a value in the destination and another value in the legacy location.
    var policy: Policy
    /// How many records the run has.
    var count: Int
    /// The version of the program that stored each record before the run; 0 for no record.
    var beginnings: [Int]
    /// Whether one record cannot be migrated.
    var isSpoilt: Bool
    /// Whether a damaged record is stored beside those that the programs use.
    var isDamaged: Bool
    /// Whether the collection declares no type tag, so that a program reads the records of every type name.
    var isRenamed: Bool
    /// Whether the programs after the first version derive an attribute from the text of each record, and query by it.
    var isQueried: Bool
    /// The lifetime of values, in seconds.
    var lifetime: Int?
    package var haste: Int
    package var rounds: [Round<Program>]

    package init(seed: UInt64, kind: RecordKind? = nil) {
        var numbers = SeededGenerator(seed ^ 0x0DDB_A11C_0113_C7ED)
        func draw(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &numbers) }
        func pick<T>(_ all: [T]) -> T { all[draw(all.count)] }
        let drawn = pick(RecordKind.allCases)
        let kind = kind ?? drawn
        self.kind = kind
        place = pick([.database, .database, .list, .ring, .sealed])
        // Another random stream, so that the other numbers of a seed stay the same.
        var others = SeededGenerator(seed ^ 0x50_11C1_E500_5EED)
        policy = kind.policies[Int.random(in: kind.policies.indices, using: &others)]
        count = kind.isCollection ? 3 + draw(3) : 1 + draw(2)
        let oldest = kind.hasOlder || kind == .retagged ? 1 : kind.latest
        beginnings = (0..<count).map { _ in draw(5) == 0 ? 0 : 1 + draw(draw(2) == 0 ? 1 : oldest) }
        isSpoilt = kind.isExplicit && draw(4) == 0
        isDamaged = kind.mayHaveDamage && seed % 5 == 2
        // No drawn number, so that the other numbers of a seed stay the same.
        isQueried = kind.isCollection && kind != .referring && seed % 9 == 3
        isRenamed = kind == .retagged && !isSpoilt && seed % 3 == 1
        lifetime = kind.expires ? 30 + draw(60) : nil
        haste = pick([0, 0, 0, 60])
        var swarm = Swarm(seed: seed)
        let (verbs, accidents) = (swarm.choices(of: 20), swarm.choices(of: kind.expires ? 26 : 16))
        rounds = []
        for number in 0..<((kind.expires ? 2 : 1) + draw(3)) {
            let programs = (0..<(draw(4) == 0 ? 1 : 2)).map { _ in
                // Most programs are newer than the programs of the previous round. Sometimes an old program runs on
                // newer data.
                let version = draw(4) == 0 ? 1 : min(kind.latest, 1 + draw(kind.latest) + (number > 0 ? 1 : 0))
                return Program(
                    version: version,
                    callers: (0..<(1 + draw(2))).map { _ in
                        (0..<(1 + draw(3))).map { [count] _ in Call(verb: Self.verb(verbs[draw(20)], kind), key: draw(count)) }
                    })
            }
            let calls = programs.flatMap(\.callers).joined().count
            let events = (0..<draw(kind.expires ? 6 : 5)).map { _ -> Event in
                let step = draw(draw(2) == 0 ? 60 : 20 + calls * 40)
                let accident: Accident =
                    switch accidents[draw(accidents.count)] {
                    case 0, 1: .end(program: draw(programs.count))
                    case 2, 3, 4: .powerCut
                    case 5: .cancel(program: draw(programs.count), caller: draw(2))
                    case 6, 7, 8: .trouble(medium: draw(3), pick([.locked, .unavailable, .locked, .full, nil]))
                    case 9, 10: .failure(medium: draw(3), pick(StoreConditions.Failure.allCases))
                    case 11: .stall(medium: draw(3), seconds: 5 + draw(10))
                    case 12, 13, 14, 15: .pause(program: draw(programs.count))
                    case 16, 17, 18: .setClock(wrongBy: pick([-3_600, 100, 7_200, 86_400 * 400]))
                    case 19: .setClock(wrongBy: 0)
                    default: .sleep(seconds: 10 + draw(60))
                    }
                return Event(step: step, accident: accident)
            }
            var all = events
            // The machine sleeps for a part of the lifetime, so that the lifetimes of values from several rounds
            // overlap.
            if let lifetime, draw(3) > 0 { all.append(Event(step: 0, accident: .sleep(seconds: lifetime * (2 + draw(3)) / 5))) }
            rounds.append(Round(programs: programs, events: all.sorted { $0.step < $1.step }))
        }
    }

    /// Returns the version that decides what a program of a version can read. If only the name of the type differs, it is the same for all.
    func version(_ version: Int) -> Int { isRenamed ? 1 : version }

    private static func verb(_ number: Int, _ kind: RecordKind) -> Verb {
        switch number {
        case 0, 1, 2: .value
        case 3, 4, 5: .set
        case 6, 7: .update
        case 8: .erase
        case 9, 10, 11: .remove
        case 12: .exists
        case 13, 14: .sweep
        case 15, 16: kind.isExplicit ? .carry : .sweep
        case 17: kind.isExplicit ? .carry : .value
        case 18: kind.isCollection ? .all : .value
        default: .setMany
        }
    }

    package var variant: String { "\(policy.rawValue) in \(place.rawValue)" }

    package var head: String {
        "\(kind) in \(place), \(policy), \(count) of it, stored by versions \(beginnings)\(isSpoilt ? ", one unreadable" : "")\(isDamaged ? ", one damaged" : "")\(isRenamed ? ", renamed" : "")\(isQueried ? ", queried" : "")\(lifetime.map { ", for \($0) s" } ?? "")"
    }

    package var simplifications: [(inout RecordPlan) -> Void] {
        let fewer: (inout RecordPlan) -> Void = { plan in
            guard plan.count > 1 else { return }
            plan.count -= 1
            plan.beginnings.removeLast()
        }
        return [fewer, { $0.policy = .destinationWins }, { $0.isSpoilt = false }, { $0.isDamaged = false }, { $0.isQueried = false }]
            + beginnings.indices.map { index in { $0.beginnings[index] = 0 } }
    }
}

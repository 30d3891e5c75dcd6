import TestSupport

/// What is to happen in a run of shapes in place.
package struct InPlacePlan: CampaignPlan {
    /// What the slot holds when the run begins.
    package enum Beginning: String, Codable, CaseIterable, Sendable {
        case older, nothing
        /// The shape of version 2: the window is over for this value.
        case newer
        /// What a program wrote that knows nothing of LocalData.
        case foreign
    }

    /// How the window ends.
    package enum End: String, Codable, CaseIterable, Sendable {
        /// By a sweep of a later version.
        case version
        /// By a call.
        case release
    }

    package enum Verb: String, Label {
        case get, value, set, update, erase, remove, exists, force, sweep, plan, batch, release
    }

    /// A program that runs in a round.
    package struct Program: CampaignProgram {
        var version = 2
        package var callers: [[Call<Verb>]]

        package var note: String { " (version \(version))" }
        package var simpler: Program { self }
    }

    package var kind: InPlaceKind
    var stores: InPlaceStores
    var later: InPlaceLater
    var end: End
    /// Whether the window ends when everything else is over.
    var ends: Bool
    package var haste: Int
    var beginnings: [Beginning]
    package var rounds: [Round<Program>]

    package init(seed: UInt64, kind: InPlaceKind? = nil) {
        // Another stream than the one that picks the steps.
        var numbers = SeededGenerator(seed ^ 0x5A9E_0F00_1A71_AACE)
        func draw(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &numbers) }
        func pick<T>(_ all: [T]) -> T { all[draw(all.count)] }
        let drawn = pick(InPlaceKind.allCases)
        let kind = kind ?? drawn
        self.kind = kind
        let stores = pick(InPlaceStores.allCases)
        self.stores = stores
        later = kind == .third ? .third : pick([.over, .dropped])
        end = pick(End.allCases)
        if later == .over { end = .version }
        ends = draw(2) == 0
        haste = pick([0, 0, 0, 60])
        let keys = draw(4) == 0 ? 2 : 1
        let begins: [Beginning] = [.older, .older, .nothing, .newer] + (stores == .bare ? [.foreign, .foreign] : [])
        beginnings = (0..<keys).map { _ in pick(begins) }
        rounds = []
        let versions: [[Int]] =
            switch kind {
            case .downgrade: (0..<(2 + draw(4))).map { [$0 % 2 == 0 ? 2 : 1] }
            case .rolling: [[2]] + (0..<(1 + draw(2))).map { _ in pick([[1, 2], [1, 2, 2], [2, 2], [1, 1, 2]]) }
            case .third: [pick([[2], [3]])] + (0..<(1 + draw(2))).map { _ in pick([[1, 2, 3], [2, 3], [1, 3], [1, 2], [3, 3], [2]]) }
            case .ending: [[2]] + (0..<(1 + draw(2))).map { _ in pick([[1, 2], [1, 2, 3], [2, 3], [1, 3]]) }
            }
        let mayEnd = end == .release && (kind == .ending || draw(4) == 0)
        for round in versions {
            let programs = round.map { version in
                Program(
                    version: version,
                    callers: (0..<(round.count > 1 ? 1 : 1 + draw(2))).map { _ in
                        (0..<(1 + draw(4))).map { _ in Call(verb: Self.verb(draw(mayEnd ? 22 : 20)), key: draw(keys)) }
                    })
            }
            let calls = programs.flatMap(\.callers).joined().count
            let events = (0..<draw(kind == .downgrade ? 3 : 5)).map { _ -> Event in
                let step = draw(draw(2) == 0 ? 40 : 20 + calls * 20)
                let accident: Accident =
                    switch draw(18) {
                    case 0, 1: .end(program: draw(programs.count))
                    case 2, 3: .powerCut
                    case 4: .cancel(program: draw(programs.count), caller: draw(2))
                    case 5, 6, 7: .trouble(medium: draw(2), pick([.locked, .unavailable, .locked, .unavailable, nil, nil]))
                    case 8, 9, 10: .failure(medium: draw(2), pick(Weather.Failure.allCases))
                    case 11: .stall(medium: draw(2), seconds: 5 + draw(10))
                    case 12, 13, 14: .pause(program: draw(programs.count))
                    case _ where kind == .downgrade || stores != .bare: .end(program: 0)
                    default: .foreign(key: draw(keys), place: 0, removes: draw(3) == 0)
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
        case 5, 6, 7, 8: .set
        case 9, 10: .update
        case 11: .erase
        case 12, 13: .remove
        case 14: .exists
        case 15: .force
        case 16, 17: .sweep
        case 18: .plan
        case 19: .batch
        default: .release
        }
    }

    package var head: String {
        let begins = beginnings.enumerated().map { "\($0): \($1.rawValue)" }
        let end = ends ? "ends by \(self.end)" : "kept, may end by \(self.end)"
        return "\(kind), \(stores), version 3: \(later), \(end); \(begins.joined(separator: "; "))"
    }

    package var simplifications: [(inout InPlacePlan) -> Void] {
        [{ $0.beginnings = [$0.beginnings[0]] }, { $0.ends = false }]
            + beginnings.indices.map { index in { if index < $0.beginnings.count { $0.beginnings[index] = .nothing } } }
    }
}

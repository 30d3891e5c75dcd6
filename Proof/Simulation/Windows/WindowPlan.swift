import TestSupport

/// The plan of a run of a release window.
package struct WindowPlan: CampaignPlan {
    /// The content of the slots of a key when the run begins.
    package enum Beginning: String, Codable, CaseIterable, Sendable {
        case older, nothing, both
        /// Only the destination has a value, as version 2 writes it.
        case newer
        case removed = "removed, older"
    }

    /// How the release window ends. While it is open, the legacy location is kept up to date for version 1.
    package enum End: String, Codable, CaseIterable, Sendable {
        /// A later version of the program ends it by a sweep, which migrates all keys.
        case version
        /// A call of `endReleaseWindow(for:)` ends it.
        case release
    }

    package enum Verb: String, Label {
        case get, value, set, update, erase, remove, exists, force, sweep, plan, batch, release
    }

    /// A program that runs in a round.
    package struct Program: CampaignProgram {
        /// Version 1 uses only the legacy location, version 2 keeps it up to date, and version 3 has no window.
        var version = 2
        package var callers: [[Call<Verb>]]

        package var note: String { " (version \(version))" }
        package var simpler: Program { self }
    }

    package var kind: WindowKind
    var stores: WindowStores
    var policy: Policy
    var end: End
    /// Whether the window ends after all rounds.
    var ends: Bool
    package var haste: Int
    var beginnings: [Beginning]
    package var rounds: [Round<Program>]

    package init(seed: UInt64, kind: WindowKind? = nil) {
        // Uses another random stream than the choice of the steps.
        var numbers = SeededGenerator(seed ^ 0x3A1B_0F00_5EED_5EED)
        func draw(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &numbers) }
        func pick<T>(_ all: [T]) -> T { all[draw(all.count)] }
        let drawn = pick(WindowKind.allCases)
        let kind = kind ?? drawn
        self.kind = kind
        let stores = pick(WindowStores.allCases)
        self.stores = stores
        policy = pick(stores.policies)
        // A collection has one window for all of its records. Its end cannot be expressed in the model, which knows a
        // single value.
        let mayEnd = stores != .records
        end = mayEnd ? pick(End.allCases) : .version
        ends = mayEnd && draw(2) == 0
        haste = pick([0, 0, 0, 60])
        let keys = draw(4) == 0 ? 2 : 1
        beginnings = (0..<keys).map { _ in
            draw(2) == 0 ? .older : pick([.older, .nothing, .both, .newer, .removed])
        }
        rounds = []
        let versions = kind.versions(draw)
        var swarm = Swarm(seed: seed)
        let (verbs, accidents) = (swarm.choices(of: 20) + [20, 21], swarm.choices(of: 18))
        // In some plans, the programs already call `endReleaseWindow(for:)` in the rounds.
        let callsEnd = draw(4) == 0 && end == .release
        for round in versions {
            let isSingle = kind == .rolling
            let programs = round.map { version in
                // For version 3, the window is over. So it runs only in plans in which a version ends the window. In
                // other plans, version 2 runs instead.
                let version = version == 3 && (end == .release || !mayEnd) ? 2 : version
                return Program(
                    version: version,
                    callers: (0..<(isSingle ? 1 : 1 + draw(2))).map { _ in
                        (0..<(1 + draw(kind == .rolling ? 3 : 4))).map { _ in
                            Call(verb: Self.verb(verbs[draw(callsEnd ? 22 : 20)]), key: draw(keys))
                        }
                    })
            }
            let calls = programs.flatMap(\.callers).joined().count
            let events = (0..<draw(kind.isByTurns ? 3 : 5)).map { _ -> Event in
                let step = draw(draw(2) == 0 ? 40 : 20 + calls * 25)
                let accident: Accident =
                    switch accidents[draw(18)] {
                    case 0, 1: .end(program: draw(programs.count))
                    case 2, 3: .powerCut
                    case 4: .cancel(program: draw(programs.count), caller: draw(2))
                    case 5, 6, 7: .trouble(medium: draw(3), pick([.locked, .unavailable, .locked, .unavailable, nil, nil]))
                    case 8, 9, 10: .failure(medium: draw(3), pick(StoreConditions.Failure.allCases))
                    case 11: .stall(medium: draw(3), seconds: 5 + draw(10))
                    case 12, 13, 14: .pause(program: draw(programs.count))
                    case _ where kind.isByTurns: .end(program: 0)
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
        return "\(kind), \(stores), \(policy), \(end); \(begins.joined(separator: "; "))"
    }

    package var simplifications: [(inout WindowPlan) -> Void] {
        [{ $0.beginnings = [$0.beginnings[0]] }, { $0.ends = false }, { $0.stores = .listToList }]
            + beginnings.indices.map { index in { if index < $0.beginnings.count { $0.beginnings[index] = .older } } }
    }
}

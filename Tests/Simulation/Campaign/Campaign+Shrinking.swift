/// A run that is kept, because it broke a rule once.
package struct PastFailure: Codable, Sendable {
    /// What was wrong.
    package var note: String
    /// The rule that it broke then.
    package var rule: Campaign.Rule
    package var campaign: Campaign

    package init(note: String, rule: Campaign.Rule, campaign: Campaign) {
        self.note = note
        self.rule = rule
        self.campaign = campaign
    }
}

extension Campaign {
    /// A shorter run that breaks the same rule: calls, programs and accidents that do not matter are left out.
    /// - Parameters:
    ///   - mutant: The part of the protocol that is taken away.
    ///   - tries: How many orders of the steps are tried for each shorter plan.
    package func shrunk(_ violation: Violation, _ mutant: Mutant? = nil, tries: UInt64 = 6) -> Violation {
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

    private static func failing(_ plan: Plan, like violation: Violation, _ mutant: Mutant?, _ tries: UInt64) -> Violation? {
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

extension Plan {
    /// How many calls and accidents it has.
    package var size: Int { rounds.reduce(0) { $0 + $1.programs.flatMap(\.callers).joined().count + $1.events.count } }

    /// Plans with one thing less.
    var shorter: [Plan] {
        var plans: [Plan] = []
        func add(_ change: (inout Plan) -> Void) {
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
                add { $0.rounds[round].programs[program].isWatched = false }
            }
        }
        add { $0.count = 1 }
        add { $0.haste = 0 }
        add { $0.isWary = false }
        add { $0.tears = false }
        for index in beginnings.indices { add { $0.beginnings[index] = .absent } }
        for index in older.indices { add { $0.older[index] = .value } }
        return plans
    }
}

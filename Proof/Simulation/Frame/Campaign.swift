package import Foundation
import Synchronization

/// A rule that every run keeps, as the list of invariants names it.
package enum Rule: String, Sendable, Codable {
    case order = "one order of the calls explains what was seen (I1-I4)"
    case twice = "sweeping again changes nothing (I5)"
    case unseen = "nothing is destroyed unseen (I6)"
    case secrecy = "nothing is told in the plain (I7)"
    case liveness = "once faults stop, finitely many sweeps finish"
    case truth = "in a release window, every version reads the truth"
    case observation = "who follows a value ends with the last one"
    case world = "the run ends, and nothing real gets in"
}

/// A run: a plan, and a seed that says in which order ready steps are taken.
///
/// What every caller saw is one history for each key or record; one order of the calls must explain it. In the end, with everything in reach, a few sweeps finish, older
/// places are empty, and whatever was displaced without a call is still somewhere.
package struct Campaign<S: Subject>: Sendable, Codable, Hashable {
    /// A rule that a run broke.
    package struct Violation: Error, CustomStringConvertible {
        package let rule: Rule
        package let what: String
        package let campaign: Campaign
        /// What callers did and were told.
        package let history: [String]
        /// What was done step by step, if it was to be written down.
        package let trace: [String]
        package var description: String {
            "seed \(campaign.seed), \(campaign.plan.kind): \(rule.rawValue): \(what)\n\(campaign.plan.text)\n\(history.joined(separator: "\n"))"
        }
    }

    /// What a run came to.
    package struct Outcome: Sendable {
        package let digest: UInt64
        package let steps: Int
        /// How often calls ended how.
        package let counts: [String: Int]
        package let coverage: Coverage<S>
        package let history: [String]
        package let trace: [String]
    }

    package var seed: UInt64
    package var plan: S.Plan

    /// The run that follows from a seed.
    package init(seed: UInt64, kind: S.Kind? = nil) {
        self.seed = seed
        plan = S.Plan(seed: seed, kind: kind)
    }

    /// Runs it.
    /// - Parameter mutant: The part of the protocol that is taken away.
    /// - Throws: ``Violation``.
    package func run(_ mutant: Mutant? = nil, isTraced: Bool = false) throws(Violation) -> Outcome {
        Mutant.activate(mutant)
        let machine = Machine<S>(seed: seed, mutant: mutant, isTraced: isTraced)
        let act = Act(campaign: self, machine: machine)
        let result: Result<Outcome, Violation>
        do {
            try machine.world.run { try await S.play(act) }
            result = .success(
                Outcome(
                    digest: machine.world.digest, steps: machine.world.steps, counts: machine.diary.counts,
                    coverage: machine.coverage.withLock(\.self), history: machine.diary.lines, trace: machine.world.trace))
        } catch let violation as Violation {
            result = .failure(violation)
        } catch { result = .failure(act.violation(.world, "\(error)")) }
        // The result is complete: what the tasks do while they unwind changes nothing in it.
        let left = machine.unwind()
        let outcome = try result.get()
        if left > 0 { throw act.violation(.world, "\(left) programs stay in memory after the run") }
        return outcome
    }

    /// A shorter run that breaks the same rule: calls, programs and accidents that do not matter are left out.
    /// - Parameters:
    ///   - mutant: The part of the protocol that is taken away.
    ///   - tries: How many orders of the steps are tried for each shorter plan.
    package func shrunk(_ violation: Violation, _ mutant: Mutant? = nil, tries: UInt64 = 6) -> Violation {
        for plan in violation.campaign.plan.shorter {
            if let found = Self.failing(plan, like: violation, mutant, tries) { return shrunk(found, mutant, tries: tries) }
        }
        return violation
    }

    private static func failing(_ plan: S.Plan, like violation: Violation, _ mutant: Mutant?, _ tries: UInt64) -> Violation? {
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

/// A run that is kept, because it broke a rule once.
package struct PastFailure<S: Subject>: Codable, Sendable {
    /// What was wrong.
    package var note: String
    /// The rule that it broke then.
    package var rule: Rule
    package var campaign: Campaign<S>

    /// Keeps a run.
    package init(_ violation: Campaign<S>.Violation, note: String) {
        (self.note, rule, campaign) = (note, violation.rule, violation.campaign)
    }

    /// The runs that are kept in a folder, by the names of their files.
    package static func all(in folder: URL) throws -> [(name: String, failure: PastFailure)] {
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        return try files.sorted { $0.lastPathComponent < $1.lastPathComponent }.map {
            ($0.lastPathComponent, try JSONDecoder().decode(PastFailure.self, from: try Data(contentsOf: $0)))
        }
    }

    /// Runs it again, in several orders of its steps: the plan is what matters, and a seed gives another order as soon as the code changes.
    /// - Returns: The first violation.
    package func again(orders: UInt64 = 20) -> Campaign<S>.Violation? {
        for seed in [campaign.seed] + (0..<orders) {
            var campaign = campaign
            campaign.seed = seed
            do throws(Campaign<S>.Violation) { _ = try campaign.run() } catch { return error }
        }
        return nil
    }
}

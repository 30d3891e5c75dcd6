package import Foundation
import Synchronization

/// A rule that every run must keep. I1 to I7 are invariants of `Docs/Design.md`.
package enum Rule: String, Sendable, Codable {
    case order = "one order of the calls explains what was seen (I1-I4)"
    case twice = "sweeping again changes nothing (I5)"
    case unseen = "nothing is destroyed unseen (I6)"
    case secrecy = "no secret occurs in plaintext (I7)"
    case liveness = "once faults stop, finitely many sweeps finish"
    case truth = "in a release window, every version reads the truth"
    case observation = "an observer ends with the last value"
    case world = "the run ends, and nothing real gets in"
}

/// One run of a simulation. It has a plan (the programs, their calls, and what goes wrong), and a seed that chooses the
/// order in which ready steps are taken.
///
/// At the end, the rules are checked. For each key or record, one order of its calls must explain all answers. Then
/// every store can be reached, and a few sweeps (migrations of all keys) must finish and leave the legacy locations
/// empty. A value that was replaced by something other than a call must still be stored.
package struct Campaign<S: Subject>: Sendable, Codable, Hashable {
    /// A rule that a run broke.
    package struct Violation: Error, CustomStringConvertible {
        package let rule: Rule
        package let what: String
        package let campaign: Campaign
        /// The calls that were made, and their answers.
        package let history: [String]
        /// The steps of the run; empty unless the run was traced.
        package let trace: [String]
        package var description: String {
            "seed \(campaign.seed), \(campaign.plan.kind): \(rule.rawValue): \(what)\n\(campaign.plan.text)\n\(history.joined(separator: "\n"))"
        }
    }

    /// The result of a run that broke no rule.
    package struct Outcome: Sendable {
        package let digest: UInt64
        package let steps: Int
        /// How often calls of each kind ended in each way.
        package let counts: [String: Int]
        package let coverage: Coverage<S>
        package let history: [String]
        package let trace: [String]
    }

    package var seed: UInt64
    package var plan: S.Plan

    /// Creates the run that follows from a seed.
    package init(seed: UInt64, kind: S.Kind? = nil) {
        self.seed = seed
        plan = S.Plan(seed: seed, kind: kind)
    }

    /// Carries out the run.
    /// - Parameters:
    ///   - mutant: The part of the protocol that is switched off.
    ///   - schedule: How the next step is chosen; nil for the schedule that follows from the seed.
    /// - Throws: ``Violation``.
    package func run(_ mutant: Mutant? = nil, schedule: Schedule? = nil, isTraced: Bool = false) throws(Violation) -> Outcome {
        Mutant.activate(mutant)
        let machine = Machine<S>(seed: seed, schedule: schedule, mutant: mutant, isTraced: isTraced)
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
        // The result is complete. To free their memory, the tasks of the run now take their last steps, which do not
        // change the result.
        let left = machine.unwind()
        let outcome = try result.get()
        if left > 0 { throw act.violation(.world, "\(left) programs stay in memory after the run") }
        return outcome
    }

    /// Finds a shorter run that breaks the same rule, by leaving out calls, programs and accidents one at a time.
    /// - Parameters:
    ///   - mutant: The part of the protocol that is switched off.
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

/// A run that broke a rule once, stored as a regression test.
package struct PastFailure<S: Subject>: Codable, Sendable {
    /// A description of the failure.
    package var note: String
    /// The rule that the run broke.
    package var rule: Rule
    package var campaign: Campaign<S>

    /// Stores the run of a violation.
    package init(_ violation: Campaign<S>.Violation, note: String) {
        (self.note, rule, campaign) = (note, violation.rule, violation.campaign)
    }

    /// Loads the stored runs of a folder, sorted by file name.
    package static func all(in folder: URL) throws -> [(name: String, failure: PastFailure)] {
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        return try files.sorted { $0.lastPathComponent < $1.lastPathComponent }.map {
            ($0.lastPathComponent, try JSONDecoder().decode(PastFailure.self, from: try Data(contentsOf: $0)))
        }
    }

    /// Runs the plan again, in several orders of its steps.
    ///
    /// A seed stands for another order of steps as soon as the code changes. So the stored plan runs with the stored
    /// seed and with other seeds.
    package func again(orders: UInt64 = 20) -> Campaign<S>.Violation? {
        for seed in [campaign.seed] + (0..<orders) {
            var campaign = campaign
            campaign.seed = seed
            do throws(Campaign<S>.Violation) { _ = try campaign.run() } catch { return error }
        }
        return nil
    }
}

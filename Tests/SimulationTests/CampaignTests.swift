import Foundation
import Simulation
import TestSupport
import Testing

/// The real router over simulated stores, by the thousand: see CONTRIBUTING, "Simulation".
@Suite(.serialized, .alone) struct CampaignTests {
    private static let environment = ProcessInfo.processInfo.environment

    /// What was found once, before anything new is looked for.
    @Test func `no run that broke a rule once breaks one again`() throws {
        let failures = try PastFailures.all()
        #expect(failures.count >= 8)
        for (name, failure) in failures {
            // The plan is what matters; the order of the steps is another one as soon as the code is.
            for seed in [failure.campaign.seed] + (0..<20) {
                var campaign = failure.campaign
                campaign.seed = seed
                do throws(Campaign.Violation) { _ = try campaign.run() } catch { Issue.record("\(name) (\(failure.note)): \(error)") }
            }
        }
    }

    @Test func `twenty thousand runs break no rule, and come to everything`() async throws {
        let count = UInt64(Self.environment["LOCALDATA_SEEDS"] ?? "") ?? 20_000
        let clock = ContinuousClock()
        let begin = clock.now
        let result = await Series(0..<count).runAside()
        for violation in result.violations { Issue.record("\(violation)") }
        print(result.coverage.text)
        print("\(result.runs) seeds, \(result.steps) steps, \(result.violations.count) violations, \(begin.duration(to: clock.now))")
        if count >= 20_000 { #expect(result.coverage.gaps.isEmpty) }
        for answer in [
            "value answered", "set done", "set unavailable unknown", "update done", "remove residueRemains applied", "batch done",
            "sweep answered",
        ] {
            #expect(result.counts[answer, default: 0] > 0, "\(answer)")
        }
    }

    @Test func `a seed gives the same run again`() throws {
        var digests: Set<UInt64> = []
        for seed in 0..<UInt64(300) {
            let (one, other) = (try Campaign(seed: seed).run(), try Campaign(seed: seed).run())
            digests.insert(one.digest)
            guard one.digest != other.digest || one.history != other.history else { continue }
            let traces = [try Campaign(seed: seed).run(isTraced: true).trace, try Campaign(seed: seed).run(isTraced: true).trace]
            let difference = zip(traces[0], traces[1]).enumerated().first { $0.element.0 != $0.element.1 }?.offset ?? 0
            let parts = traces.map { $0.dropFirst(max(0, difference - 20)).prefix(24).joined(separator: "\n") }
            Issue.record("seed \(seed) gave two runs:\n\(parts.joined(separator: "\n---\n"))")
        }
        #expect(digests.count == 300)
    }

    @Test func `a run that breaks a rule is made shorter, and is told in full`() throws {
        let violation = try #require(Series(0..<2_000, mutant: .noTombstone).run().violations.first)
        let shrunk = violation.campaign.shrunk(violation, .noTombstone)
        #expect(shrunk.rule == violation.rule)
        #expect(shrunk.campaign.plan.size < violation.campaign.plan.size)
        #expect(shrunk.campaign.plan.size <= 4, "\(shrunk)")
        // It is the same run again, also when it has been written down and read in between.
        let read = try JSONDecoder().decode(Campaign.self, from: try JSONEncoder().encode(shrunk.campaign))
        let again = #expect(throws: Campaign.Violation.self) { try read.run(.noTombstone) }
        #expect(again?.description == shrunk.description)
        for part in ["seed \(shrunk.campaign.seed)", shrunk.rule.rawValue, shrunk.campaign.plan.text] {
            #expect(shrunk.description.contains(part))
        }
        #expect(throws: Never.self) { try read.run() }
    }
}

/// The runs that are kept.
enum PastFailures {
    static func all() throws -> [(name: String, failure: PastFailure)] {
        let folder = try #require(Bundle.module.url(forResource: "PastFailures", withExtension: nil))
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        return try files.sorted { $0.lastPathComponent < $1.lastPathComponent }.map {
            ($0.lastPathComponent, try JSONDecoder().decode(PastFailure.self, from: try Data(contentsOf: $0)))
        }
    }
}

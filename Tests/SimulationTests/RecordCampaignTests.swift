import Foundation
import Simulation
import TestSupport
import Testing

/// Versions, collections and lifetimes, by the thousand: see CONTRIBUTING, "Simulation".
@Suite(.serialized, .alone) struct RecordCampaignTests {
    @Test func `runs with records break no rule, and come to everything`() async throws {
        let count = UInt64(ProcessInfo.processInfo.environment["LOCALDATA_RECORD_SEEDS"] ?? "") ?? 2_000
        let clock = ContinuousClock()
        let begin = clock.now
        let result = await RecordSeries(0..<count).runAside()
        for violation in result.violations { Issue.record("\(violation)") }
        print(result.coverage.text)
        print("\(result.runs) seeds, \(result.steps) steps, \(result.violations.count) violations, \(begin.duration(to: clock.now))")
        if count >= 20_000 { #expect(result.coverage.gaps.isEmpty) }
        for answer in [
            "value answered", "value incompatibleSchema notApplied", "set done", "update done", "carry done", "all answered",
            "sweep answered",
        ] {
            #expect(result.counts[answer, default: 0] > 0, "\(answer)")
        }
    }

    @Test func `a seed with records gives the same run again`() throws {
        var digests: Set<UInt64> = []
        for seed in 0..<UInt64(60) {
            let (one, other) = (try RecordCampaign(seed: seed).run(), try RecordCampaign(seed: seed).run())
            digests.insert(one.digest)
            #expect(one.digest == other.digest && one.history == other.history, "seed \(seed) gave two runs")
        }
        #expect(digests.count == 60)
    }

    @Test func `a run with records that breaks a rule is made shorter, and is told in full`() throws {
        let violation = try #require(RecordSeries(0..<2_000, mutant: .noBackup).run().violations.first)
        let shrunk = violation.campaign.shrunk(violation, .noBackup)
        #expect(shrunk.rule == violation.rule)
        #expect(shrunk.campaign.plan.size <= 3, "\(shrunk)")
        let read = try JSONDecoder().decode(RecordCampaign.self, from: try JSONEncoder().encode(shrunk.campaign))
        let again = #expect(throws: RecordCampaign.Violation.self) { try read.run(.noBackup) }
        #expect(again?.description == shrunk.description)
        #expect(throws: Never.self) { try read.run() }
    }
}

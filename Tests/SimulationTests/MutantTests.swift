import Simulation
import TestSupport
import Testing

/// A checker that finds nothing is worth nothing until it is shown that it would.
@Suite(.serialized, .inTurn) struct MutantTests {
    @Test(arguments: Mutant.allCases)
    func `the campaign notices when a part of the protocol is missing`(_ mutant: Mutant) async throws {
        let result = await Series(0..<20_000, kind: mutant.telling, mutant: mutant).runAside()
        let found = try #require(result.violations.first, "\(mutant) was not noticed in \(result.runs) seeds")
        print("\(mutant): noticed after \(found.campaign.seed + 1) seeds of \(found.campaign.plan.kind): \(found.what)")
        // The same run breaks no rule when nothing is missing.
        _ = try found.campaign.run()
    }

    @Test(arguments: RecordMutant.allCases)
    func `the campaign of records notices when a part of the protocol is missing`(_ mutant: RecordMutant) async throws {
        let result = await RecordSeries(0..<20_000, kind: mutant.telling, mutant: mutant).runAside()
        let found = try #require(result.violations.first, "\(mutant) was not noticed in \(result.runs) seeds")
        print("\(mutant): noticed after \(found.campaign.seed + 1) seeds of \(found.campaign.plan.kind): \(found.what)")
        _ = try found.campaign.run()
    }
}

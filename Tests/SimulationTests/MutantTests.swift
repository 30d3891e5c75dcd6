import Simulation
import TestSupport
import Testing

/// A checker that finds nothing is worth nothing until it is shown that it would.
@Suite(.serialized, .inTurn) struct MutantTests {
    @Test(arguments: MovingValues.mutants)
    func `the campaign notices when a part of the protocol is missing`(_ mutant: Mutant) async throws {
        try await notices(MovingValues.self, mutant)
    }

    @Test(arguments: StoredRecords.mutants)
    func `the campaign of records notices when a part of the protocol is missing`(_ mutant: Mutant) async throws {
        try await notices(StoredRecords.self, mutant)
    }

    @Test(arguments: ReleaseWindows.mutants)
    func `the campaign of windows notices when a part of the protocol is missing`(_ mutant: Mutant) async throws {
        try await notices(ReleaseWindows.self, mutant)
    }

    @Test(arguments: ShapesInPlace.mutants)
    func `the campaign of shapes in place notices when a part of the protocol is missing`(_ mutant: Mutant) async throws {
        try await notices(ShapesInPlace.self, mutant)
    }

    private func notices<S: Subject>(_ subject: S.Type, _ mutant: Mutant) async throws {
        let result = await Series<S>(0..<20_000, kind: S.telling(mutant), mutant: mutant).runAside()
        let found = try #require(result.violations.first, "\(mutant) was not noticed in \(result.runs) seeds")
        print("\(mutant): noticed after \(found.campaign.seed + 1) seeds of \(found.campaign.plan.kind): \(found.what)")
        // The same run breaks no rule when nothing is missing.
        _ = try found.campaign.run()
    }
}

import Foundation
import LocalDataTesting
import LocalDataVocabulary
import TestSupport
import Testing

@testable import LocalData
@testable import LocalDataPlans

/// Laws (statements that are checked with random contents) of `planSweep()` and `planRegistration`. A sweep migrates
/// the values of all keys of a catalog. A plan rehearses the sweep without writing, and the sweep must then do what the
/// plan reported.
@Suite(.inTurn, .tags(.campaign)) struct PlanLawTests {
    /// The rows of a report without their durations.
    private func timeless(_ report: MigrationReport) -> [MigrationReport.Row] {
        report.rows.map { row in
            var row = row
            row.duration = .zero
            return row
        }
    }

    @Test func `the plan for one key predicts its sweep and changes nothing, for random contents and states of the stores`() async {
        await forAll(Arbitrary<World>.world, count: 200, spelling: \.spelledOut) { world in
            let bench = try await MigrationBench(world)
            let before = try await bench.look()
            let plan = await bench.router.planSweep()
            try same(try await bench.look(), before, "after the plan")
            try same(timeless(plan), timeless(await bench.router.sweep()), "the plan")
        }
    }

    @Test func `a plan predicts the sweep of chained migrations, shared legacy locations, collections and lists`() async {
        let contents = Arbitrary<Planted>.one(of: Planted.allCases).list(23...23)
        let worlds = zip(contents, Arbitrary<Int>.one(of: Array(0..<6))).map { PlannedWorld(contents: $0, policy: $1) }
        await forAll(worlds, count: 20, spelling: \.spelledOut) { world in
            try await world.plant()
            let router = world.machine.launch()
            try await router.registerCatalog(world.catalog)
            let (before, kept) = (world.changes, try await router.audit().quarantine.count)
            let plan = timeless(await router.planSweep())
            try same(world.changes, before, "how often a store was changed")
            try same(try await router.audit().quarantine.count, kept, "what is quarantined after the plan")
            let done = timeless(await router.sweep())
            for (planned, found) in zip(plan, done) {
                if planned.state == .cannotTell { continue }
                try same(planned, found, "the plan of \(planned.key)")
            }
            try same(plan.count, done.count, "the number of rows")
        }
    }

    @Test func `a plan does not run a custom migration, and reports cannotTell if the migration would run`() async throws {
        var contents = [Planted](repeating: .nothing, count: 23)
        contents[9] = .first
        let world = PlannedWorld(contents: contents, policy: 0)
        try await world.plant()
        let router = world.machine.launch()
        try await router.registerCatalog(world.catalog)
        let row = try #require(await router.planSweep().rows.first { $0.key == "own" })
        #expect(row.state == .cannotTell)
        #expect(row.message?.contains("own:Own") == true)
        #expect(await router.sweep().rows.first { $0.key == "own" }?.state == .moved)
    }

    @Test(arguments: PlanStoreTests.Pair.all)
    func `planRegistration predicts the report of registerCatalog with the same migration policy, and changes nothing`(
        pair: PlanStoreTests.Pair
    ) async throws {
        let machine = TestMachine()
        let program = PlanStoreTests.Program(pair: pair)
        try await program.fill(machine.launch())
        let router = machine.launch()
        func changes() -> Int {
            [pair.first, pair.second].flatMap { machine.backends(of: $0) }.flatMap(\.log).count { $0.kind == .apply }
        }
        let before = changes()
        let plan = try await router.planRegistration(of: program.catalog, migrationPolicy: .incremental(program.chain))
        #expect(changes() == before)
        #expect(await router.planSweep().rows.isEmpty, "the catalog was registered by its plan")
        let done = try await router.registerCatalog(program.catalog, migrationPolicy: .incremental(program.chain))
        #expect(timeless(plan.sweep) == timeless(done.sweep))
        #expect(plan.plan.steps == done.plan.steps)
        #expect(done.plan.steps.isEmpty == false)
        try await program.check(router)
    }
}

import Foundation
import Simulation
import TestSupport
import Testing

/// The real router over simulated stores, by the thousand: see CONTRIBUTING, "Simulation".
@Suite(.serialized, .alone) struct CampaignTests {
    // MARK: Moving values

    /// What was found once, before anything new is looked for.
    @Test func `no run that broke a rule once breaks one again`() throws {
        let failures = try PastFailures.all()
        #expect(failures.count >= 8)
        for (name, failure) in failures {
            // The plan is what matters; the order of the steps is another one as soon as the code is.
            for seed in [failure.campaign.seed] + (0..<20) {
                var campaign = failure.campaign
                campaign.seed = seed
                do { _ = try campaign.run() } catch { Issue.record("\(name) (\(failure.note)): \(error)") }
            }
        }
    }

    @Test func `forty thousand runs break no rule, and come to everything`() async throws {
        let answers = [
            "value answered", "set done", "set unavailable unknown", "update done", "remove residueRemains applied", "batch done",
            "sweep answered",
        ]
        try await run(MovingValues.self, seeds: "LOCALDATA_SEEDS", 40_000, answers)
    }

    @Test func `a seed gives the same run again`() throws { try repeats(MovingValues.self, 300) }

    @Test func `a run that breaks a rule is made shorter, and is told in full`() throws {
        try shrinks(MovingValues.self, .noTombstone, to: 4)
    }

    // MARK: Records

    @Test func `runs with records break no rule, and come to everything`() async throws {
        let answers = [
            "value answered", "value incompatibleSchema notApplied", "set done", "set incompatibleSchema notApplied", "update done",
            "carry done", "all answered", "sweep answered",
        ]
        try await run(StoredRecords.self, seeds: "LOCALDATA_RECORD_SEEDS", 2_000, answers)
    }

    @Test func `a seed with records gives the same run again`() throws { try repeats(StoredRecords.self, 60) }

    @Test func `a run with records that breaks a rule is made shorter, and is told in full`() throws {
        try shrinks(StoredRecords.self, .noTombstone, to: 3)
    }

    // MARK: Release windows

    @Test func `runs with windows break no rule, and come to everything`() async throws {
        let answers = [
            "value answered", "value locked notApplied", "set done", "set unavailable unknown", "update done", "remove done", "batch done",
            "sweep done",
        ]
        let coverage = try await run(ReleaseWindows.self, seeds: "LOCALDATA_WINDOW_SEEDS", 600, answers)
        for row in ReleaseWindows.Row.allCases {
            let count = coverage.rows.values.reduce(0) { $0 + $1[row, default: 0] }
            #expect(count >= 3, "row \(row.rawValue) was come to \(count) times")
        }
    }

    @Test func `a seed with windows gives the same run again`() throws { try repeats(ReleaseWindows.self, 60) }

    @Test func `a run with windows that breaks a rule is made shorter, and is told in full`() throws {
        try shrinks(ReleaseWindows.self, .noTombstone, to: 3)
    }

    // MARK: Shapes in place

    @Test func `runs with shapes in place break no rule, and come to everything`() async throws {
        let answers = [
            "value answered", "value incompatibleSchema notApplied", "set done", "set incompatibleSchema notApplied",
            "set encodingFailed notApplied", "set unavailable unknown", "update done", "remove done", "batch done", "sweep done",
        ]
        let coverage = try await run(ShapesInPlace.self, seeds: "LOCALDATA_SHAPE_SEEDS", 600, answers)
        for row in ShapesInPlace.Row.allCases {
            let count = coverage.rows.values.reduce(0) { $0 + $1[row, default: 0] }
            #expect(count >= 3, "row \(row.rawValue) was come to \(count) times")
        }
    }

    @Test func `a seed with shapes in place gives the same run again`() throws { try repeats(ShapesInPlace.self, 60) }

    @Test func `a run with shapes in place that breaks a rule is made shorter, and is told in full`() throws {
        try shrinks(ShapesInPlace.self, .noTombstone, to: 3)
    }

    // MARK: Of all

    /// - Parameter answers: How calls must have ended at least once.
    @discardableResult private func run<S: Subject>(
        _ subject: S.Type, seeds name: String, _ ordinary: UInt64, _ answers: [String]
    ) async throws -> Coverage<S> {
        let count = UInt64(ProcessInfo.processInfo.environment[name] ?? "") ?? ordinary
        let clock = ContinuousClock()
        let begin = clock.now
        let result = await Series<S>(0..<count).runAside()
        for violation in result.violations { Issue.record("\(violation)") }
        print(result.coverage.text)
        print("\(result.runs) seeds, \(result.steps) steps, \(result.violations.count) violations, \(begin.duration(to: clock.now))")
        if count >= 40_000 { #expect(result.coverage.gaps.isEmpty) }
        for answer in answers { #expect(result.counts[answer, default: 0] > 0, "\(answer)") }
        return result.coverage
    }

    private func repeats<S: Subject>(_ subject: S.Type, _ count: UInt64) throws {
        var digests: Set<UInt64> = []
        for seed in 0..<count {
            let (one, other) = (try Campaign<S>(seed: seed).run(), try Campaign<S>(seed: seed).run())
            digests.insert(one.digest)
            guard one.digest != other.digest || one.history != other.history else { continue }
            let traces = try (0..<2).map { _ in try Campaign<S>(seed: seed).run(isTraced: true).trace }
            let difference = zip(traces[0], traces[1]).enumerated().first { $0.element.0 != $0.element.1 }?.offset ?? 0
            let parts = traces.map { $0.dropFirst(max(0, difference - 20)).prefix(24).joined(separator: "\n") }
            Issue.record("seed \(seed) gave two runs:\n\(parts.joined(separator: "\n---\n"))")
        }
        #expect(digests.count == Int(count))
    }

    /// - Parameter size: How many calls and accidents are left at most.
    private func shrinks<S: Subject>(_ subject: S.Type, _ mutant: Mutant, to size: Int) throws {
        let violation = try #require(Series<S>(0..<2_000, mutant: mutant).run().violations.first)
        let shrunk = violation.campaign.shrunk(violation, mutant)
        #expect(shrunk.rule == violation.rule)
        #expect(shrunk.campaign.plan.size < violation.campaign.plan.size)
        #expect(shrunk.campaign.plan.size <= size, "\(shrunk)")
        // It is the same run again, also when it has been written down and read in between.
        let read = try JSONDecoder().decode(Campaign<S>.self, from: try JSONEncoder().encode(shrunk.campaign))
        let again = #expect(throws: Campaign<S>.Violation.self) { try read.run(mutant) }
        #expect(again?.description == shrunk.description)
        for part in ["seed \(shrunk.campaign.seed)", shrunk.rule.rawValue, shrunk.campaign.plan.text] {
            #expect(shrunk.description.contains(part))
        }
        #expect(throws: Never.self) { try read.run() }
    }
}

/// The runs that are kept.
enum PastFailures {
    static func all() throws -> [(name: String, failure: PastFailure<MovingValues>)] {
        let folder = try #require(Bundle.module.url(forResource: "PastFailures", withExtension: nil))
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        return try files.sorted { $0.lastPathComponent < $1.lastPathComponent }.map {
            ($0.lastPathComponent, try JSONDecoder().decode(PastFailure<MovingValues>.self, from: try Data(contentsOf: $0)))
        }
    }
}

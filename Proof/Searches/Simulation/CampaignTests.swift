import Foundation
import Simulation
import TestSupport
import Testing

/// Tests of the code that runs campaigns (Proof/README.md, "Simulation"). A campaign is a simulated run of programs.
/// A seed determines its random calls and its accidents, such as kills and power cuts.
/// In a release window, two versions of a program share a value. `Scripts/prove campaigns` runs thousands of seeds.
@Suite(.serialized, .alone) struct CampaignTests {
    @Test func `no recorded failure of an earlier campaign happens again`() throws {
        let folder = try #require(Bundle.module.url(forResource: "PastFailures", withExtension: nil))
        try replay(MovingValues.self, in: folder.appending(path: "Values"), atLeast: 8)
        try replay(ReleaseWindows.self, in: folder.appending(path: "Windows"), atLeast: 1)
    }

    private func replay<S: Subject>(_ subject: S.Type, in folder: URL, atLeast count: Int) throws {
        let failures = try PastFailure<S>.all(in: folder)
        #expect(failures.count >= count)
        for (name, failure) in failures {
            if let violation = failure.again() { Issue.record("\(name) (\(failure.note)): \(violation)") }
        }
    }

    // MARK: A seed

    @Test func `a campaign of moving values runs the same way each time for one seed`() throws { try repeats(MovingValues.self, 300) }

    @Test func `a campaign of records runs the same way each time for one seed`() throws { try repeats(StoredRecords.self, 60) }

    @Test func `a campaign of release windows runs the same way each time for one seed`() throws { try repeats(ReleaseWindows.self, 120) }

    // MARK: Shrinking

    @Test func `a failing campaign of moving values shrinks to a few calls and can be replayed`() throws {
        try shrinks(MovingValues.self, .noTombstone, to: 4)
    }

    @Test func `a failing campaign of records shrinks to a few calls and can be replayed`() throws {
        try shrinks(StoredRecords.self, .noTombstone, to: 4)
    }

    @Test func `a failing campaign of release windows shrinks to a few calls and can be replayed`() throws {
        try shrinks(ReleaseWindows.self, .noTombstone, to: 4)
    }

    // MARK: Helpers

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

    /// - Parameter size: The maximum number of calls and accidents in the plan, which is what the shrunk campaign runs.
    private func shrinks<S: Subject>(_ subject: S.Type, _ mutant: Mutant, to size: Int) throws {
        let violation = try #require(Series<S>(0..<2_000, mutant: mutant).run().violations.first)
        let shrunk = violation.campaign.shrunk(violation, mutant)
        #expect(shrunk.rule == violation.rule)
        #expect(shrunk.campaign.plan.size < violation.campaign.plan.size)
        #expect(shrunk.campaign.plan.size <= size, "\(shrunk)")
        // The shrunk run gives the same violation again, also after it was encoded and decoded.
        let read = try JSONDecoder().decode(Campaign<S>.self, from: try JSONEncoder().encode(shrunk.campaign))
        let again = #expect(throws: Campaign<S>.Violation.self) { try read.run(mutant) }
        #expect(again?.description == shrunk.description)
        for part in ["seed \(shrunk.campaign.seed)", shrunk.rule.rawValue, shrunk.campaign.plan.text] {
            #expect(shrunk.description.contains(part))
        }
        #expect(throws: Never.self) { try read.run() }
    }
}

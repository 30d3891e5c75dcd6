import Foundation
import Simulation
import TestSupport
import Testing

/// The campaign of one moving value, over many seeds.
@Suite(.inTurn) struct MovingTests {
    private static let environment = ProcessInfo.processInfo.environment
    private let count = Int(Self.environment["LOCALDATA_SEEDS"] ?? "") ?? 2_000
    /// One seed to run alone, with everything that happens in it.
    private let chosen = Self.environment["LOCALDATA_SEED"].flatMap(UInt64.init)

    @Test(arguments: MovingCampaign.Route.allCases)
    func `one order of the calls explains every run, and every run ends in order`(_ route: MovingCampaign.Route) throws {
        if let chosen {
            print(try MovingCampaign(seed: chosen, route: route).run(isTraced: true).trace.joined(separator: "\n"))
            return
        }
        var counts: [String: Int] = [:]
        var steps = 0
        for seed in 0..<UInt64(count) {
            do {
                let outcome = try MovingCampaign(seed: seed, route: route).run()
                counts.merge(outcome.counts, uniquingKeysWith: +)
                steps += outcome.steps
            } catch {
                Issue.record("seed \(seed): \(error)")
                return
            }
        }
        print(
            "moving: \(count) seeds, \(steps) steps; \(counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))"
        )
        for answer in ["read", "read locked", "read unavailable", "read cancelled", "set", "remove", "update"] {
            #expect(counts[answer, default: 0] > 0, "\(answer)")
        }
    }

    @Test func `a seed gives the same run again`() throws {
        for seed in 0..<UInt64(40) {
            let (one, other) = (try MovingCampaign(seed: seed).run(), try MovingCampaign(seed: seed).run())
            guard one.digest != other.digest || one.steps != other.steps || one.counts != other.counts else { continue }
            let first = try MovingCampaign(seed: seed).run(isTraced: true).trace
            var traces = [first, first]
            for _ in 0..<200 where traces[1] == first { traces[1] = try MovingCampaign(seed: seed).run(isTraced: true).trace }
            let difference = zip(traces[0], traces[1]).enumerated().first { $0.element.0 != $0.element.1 }?.offset ?? 0
            let begin = max(0, difference - 20)
            Issue.record(
                "seed \(seed) gave two runs:\n\(traces.map { $0.dropFirst(begin).prefix(24).joined(separator: "\n") }.joined(separator: "\n---\n"))"
            )
        }
        #expect(try MovingCampaign(seed: 1).run().digest != MovingCampaign(seed: 2).run().digest)
    }

    @Test(arguments: ["lies", "forgets conditions", "calls trouble absence"])
    func `a store that does not keep its promises is found out`(_ name: String) throws {
        var faults = SimulatedStore.Faults()
        switch name {
        case "lies": faults.lies = true
        case "forgets conditions": faults.forgetsConditions = true
        default: faults.callsTroubleAbsence = true
        }
        for seed in 0..<UInt64(2_000) {
            do { _ = try MovingCampaign(seed: seed, faults: faults).run() } catch let violation as MovingCampaign.Violation {
                print("\(name): found after \(seed + 1) seeds: \(violation.what)")
                return
            }
        }
        Issue.record("\(name): not found in 2,000 seeds")
    }
}

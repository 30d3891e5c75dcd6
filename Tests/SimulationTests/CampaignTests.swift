import Foundation
import Simulation
import Synchronization
import TestSupport
import Testing

@Suite(.inTurn) struct CampaignTests {
    private static let environment = ProcessInfo.processInfo.environment

    @Test func `seeds`() async throws {
        if let one = Self.environment["LOCALDATA_SEED"].flatMap(UInt64.init) {
            do { print(try Campaign(seed: one).run(isTraced: true).trace.joined(separator: "\n")) } catch { print(error) }
            return
        }
        let count = UInt64(Self.environment["LOCALDATA_SEEDS"] ?? "") ?? 2_000
        let begin = Date()
        var steps = 0
        var counts: [String: Int] = [:]
        var coverage = Coverage()
        var failures = 0
        for seed in 0..<count {
            do {
                let outcome = try Campaign(seed: seed).run()
                steps += outcome.steps
                counts.merge(outcome.counts, uniquingKeysWith: +)
                coverage.merge(outcome.coverage)
            } catch {
                failures += 1
                if failures <= 40 { print(error) }
                if failures > 400 { break }
            }
        }
        print("\(count) seeds, \(steps) steps, \(failures) failures, \(Date().timeIntervalSince(begin)) s")
        print(counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))
        print(coverage.text)
        print(coverage.gaps)
    }
}

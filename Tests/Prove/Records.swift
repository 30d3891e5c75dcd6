import ArgumentParser
import Foundation
import Simulation

extension RecordKind: ExpressibleByArgument {}
extension RecordMutant: ExpressibleByArgument {}

/// Runs seeds with versions, collections and lifetimes, and shows what they covered.
struct Records: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "records", abstract: "Runs seeds with versions, collections and lifetimes; exits with 1 if a rule was broken.")

    @Option(help: "How many seeds.") var seeds: UInt64 = 20_000
    @Option(help: "The first seed.") var first: UInt64 = 0
    @Option(help: "One kind only.") var kind: RecordKind?
    @Option(help: "A part of the protocol that is taken away.") var mutant: RecordMutant?
    @Option(help: "After how many violations to stop.") var limit = 1
    @Option(help: "How many threads.") var threads = 2
    @Flag(help: "Every violation in full, not only its first line.") var full = false

    func run() throws {
        let clock = ContinuousClock()
        let begin = clock.now
        let result = RecordSeries(first..<first + seeds, kind: kind, mutant: mutant, limit: limit).run(threads: threads)
        for violation in result.violations {
            print(full ? "\(violation)\n" : "\("\(violation)".split(separator: "\n").first ?? "")")
        }
        print(result.coverage.text)
        print(result.counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))
        print("not covered: \(result.coverage.gaps.isEmpty ? "nothing" : result.coverage.gaps.joined(separator: ", "))")
        print("\(result.runs) seeds, \(result.steps) steps, \(result.violations.count) violations, \(begin.duration(to: clock.now))")
        if !result.violations.isEmpty { throw ExitCode(1) }
    }
}

/// Runs one seed with records again.
struct ReplayRecords: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay-records", abstract: "Runs one seed of `records` again, and shows its history.")

    @Argument(help: "The seed.") var seed: UInt64
    @Option(help: "The kind, if it was chosen.") var kind: RecordKind?
    @Option(help: "A part of the protocol that is taken away.") var mutant: RecordMutant?
    @Flag(help: "Step by step.") var steps = false
    @Flag(help: "The shortest run that breaks the same rule.") var shrink = false
    @Option(help: "Shows the run as a past failure to be kept, with this note.") var keep: String?

    func run() throws {
        let campaign = RecordCampaign(seed: seed, kind: kind)
        do throws(RecordCampaign.Violation) {
            let outcome = try campaign.run(mutant, isTraced: true)
            print(campaign.plan.text)
            print((steps ? outcome.trace : outcome.history).joined(separator: "\n"))
            print("no violation; \(outcome.steps) steps, digest \(outcome.digest)")
        } catch {
            let shown = shrink ? campaign.shrunk(error, mutant) : error
            print(shown)
            if let keep {
                let encoder = JSONEncoder()
                encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
                let failure = PastRecordFailure(note: keep, rule: shown.rule, campaign: shown.campaign)
                if let json = try? encoder.encode(failure) { print(String(decoding: json, as: UTF8.self)) }
            }
            if steps { print(shown.trace.joined(separator: "\n")) }
            throw ExitCode(1)
        }
    }
}

import ArgumentParser
import Foundation
import Simulation

extension Kind: ExpressibleByArgument {}
extension Mutant: ExpressibleByArgument {}

@main
struct Prove: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Runs the simulation of moving values by the thousand, and shows what it came to.",
        subcommands: [Campaigns.self, Mutants.self, Replay.self, Records.self, ReplayRecords.self])
}

/// Runs seeds, and shows what they covered.
struct Campaigns: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "campaigns", abstract: "Runs seeds; exits with 1 if a rule was broken.")

    @Option(help: "How many seeds.") var seeds: UInt64 = 20_000
    @Option(help: "The first seed.") var first: UInt64 = 0
    @Option(help: "One kind of migration only.") var kind: Kind?
    @Option(help: "A part of the protocol that is taken away.") var mutant: Mutant?
    @Option(help: "After how many violations to stop.") var limit = 1
    @Option(help: "How many threads.") var threads = 2
    @Flag(help: "Every violation in full, not only its first line.") var full = false

    func run() throws {
        let clock = ContinuousClock()
        let begin = clock.now
        let result = Series(first..<first + seeds, kind: kind, mutant: mutant, limit: limit).run(threads: threads)
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

/// Shows that every mutant is caught.
struct Mutants: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mutants", abstract: "Takes one part of the protocol away at a time; exits with 1 if the campaign does not notice.")

    @Option(help: "How many seeds to try for each.") var seeds: UInt64 = 200_000
    @Flag(help: "Each over the kind of migration in which it tells soonest.") var soonest = false

    func run() throws {
        var missed = false
        for mutant in Mutant.allCases {
            let result = Series(0..<seeds, kind: soonest ? mutant.telling : nil, mutant: mutant).run()
            if let first = result.violations.first {
                print("\(mutant): caught after \(first.campaign.seed + 1) seeds: \(first.campaign.plan.kind): \(first.what)")
            } else {
                missed = true
                print("\(mutant): NOT caught in \(result.runs) seeds")
            }
        }
        for mutant in RecordMutant.allCases {
            let result = RecordSeries(0..<seeds, kind: soonest ? mutant.telling : nil, mutant: mutant).run()
            if let first = result.violations.first {
                print("\(mutant): caught after \(first.campaign.seed + 1) seeds: \(first.campaign.plan.kind): \(first.what)")
            } else {
                missed = true
                print("\(mutant): NOT caught in \(result.runs) seeds")
            }
        }
        if missed { throw ExitCode(1) }
    }
}

/// Runs one seed again.
struct Replay: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "replay", abstract: "Runs one seed again, and shows its history.")

    @Argument(help: "The seed.") var seed: UInt64
    @Option(help: "The kind of migration, if it was chosen.") var kind: Kind?
    @Option(help: "A part of the protocol that is taken away.") var mutant: Mutant?
    @Flag(help: "Step by step.") var steps = false
    @Flag(help: "The shortest run that breaks the same rule.") var shrink = false
    @Option(help: "Adds the run to the past failures, with this note.") var keep: String?

    func run() throws {
        let campaign = Campaign(seed: seed, kind: kind)
        do throws(Campaign.Violation) {
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
                do {
                    print(
                        String(
                            decoding: try encoder.encode(PastFailure(note: keep, rule: shown.rule, campaign: shown.campaign)), as: UTF8.self
                        ))
                } catch {}
            }
            if steps { print(error.trace.joined(separator: "\n")) }
            throw ExitCode(1)
        }
    }
}

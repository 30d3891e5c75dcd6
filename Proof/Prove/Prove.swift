import ArgumentParser
import Foundation
import Simulation

extension ValueKind: ExpressibleByArgument {}
extension RecordKind: ExpressibleByArgument {}
extension WindowKind: ExpressibleByArgument {}
extension InPlaceKind: ExpressibleByArgument {}
extension Mutant: ExpressibleByArgument {}

@main
struct Prove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Runs the simulations by the thousand, and shows what they came to.",
        subcommands: [
            Campaigns<MovingValues>.self, Campaigns<StoredRecords>.self, Campaigns<ReleaseWindows>.self, Campaigns<ShapesInPlace>.self,
            Faults.self, Cuts.self, Processes.self, Limits.self,
            Mutants.self, Replay<MovingValues>.self, Replay<StoredRecords>.self, Replay<ReleaseWindows>.self, Replay<ShapesInPlace>.self,
        ])
}

/// What the commands say of a simulation.
protocol CommandSubject: Subject where Plan.Kind: ExpressibleByArgument {
    static var campaigns: CommandConfiguration { get }
    static var replay: CommandConfiguration { get }
}

extension MovingValues: CommandSubject {
    static var campaigns: CommandConfiguration {
        CommandConfiguration(commandName: "campaigns", abstract: "Runs seeds of moving values; exits with 1 if a rule was broken.")
    }
    static var replay: CommandConfiguration {
        CommandConfiguration(commandName: "replay", abstract: "Runs one seed of `campaigns` again, and shows its history.")
    }
}

extension StoredRecords: CommandSubject {
    static var campaigns: CommandConfiguration {
        CommandConfiguration(
            commandName: "records", abstract: "Runs seeds with versions, collections and lifetimes; exits with 1 if a rule was broken.")
    }
    static var replay: CommandConfiguration {
        CommandConfiguration(commandName: "replay-records", abstract: "Runs one seed of `records` again, and shows its history.")
    }
}

extension ReleaseWindows: CommandSubject {
    static var campaigns: CommandConfiguration {
        CommandConfiguration(
            commandName: "windows", abstract: "Runs seeds with several versions in a release window; exits with 1 if a rule was broken.")
    }
    static var replay: CommandConfiguration {
        CommandConfiguration(commandName: "replay-windows", abstract: "Runs one seed of `windows` again, and shows its history.")
    }
}

extension ShapesInPlace: CommandSubject {
    static var campaigns: CommandConfiguration {
        CommandConfiguration(
            commandName: "shapes",
            abstract: "Runs seeds with several versions of a value's shape in one place; exits with 1 if a rule was broken.")
    }
    static var replay: CommandConfiguration {
        CommandConfiguration(commandName: "replay-shapes", abstract: "Runs one seed of `shapes` again, and shows its history.")
    }
}

/// Runs seeds, and shows what they covered.
struct Campaigns<S: CommandSubject>: ParsableCommand {
    static var configuration: CommandConfiguration { S.campaigns }

    @Option(help: "How many seeds.") var seeds: UInt64 = 20_000
    @Option(help: "The first seed.") var first: UInt64 = 0
    @Option(help: "One kind only.") var kind: S.Kind?
    @Option(help: "A part of the protocol that is taken away.") var mutant: Mutant?
    @Option(help: "After how many violations to stop.") var limit = 1
    @Option(help: "How many threads.") var threads = 2
    @Flag(help: "Every violation in full, not only its first line.") var full = false

    func validate() throws { try requireAvailable(mutant) }

    func run() throws {
        let clock = ContinuousClock()
        let begin = clock.now
        let result = Series<S>(first..<first + seeds, kind: kind, mutant: mutant, limit: limit).run(threads: threads)
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

/// Runs one seed again.
struct Replay<S: CommandSubject>: ParsableCommand {
    static var configuration: CommandConfiguration { S.replay }

    @Argument(help: "The seed.") var seed: UInt64
    @Option(help: "The kind, if it was chosen.") var kind: S.Kind?
    @Option(help: "A part of the protocol that is taken away.") var mutant: Mutant?
    @Flag(help: "Step by step.") var steps = false
    @Flag(help: "The shortest run that breaks the same rule.") var shrink = false
    @Option(help: "Shows the run as a past failure to be kept, with this note.") var keep: String?

    func validate() throws { try requireAvailable(mutant) }

    func run() throws {
        let campaign = Campaign<S>(seed: seed, kind: kind)
        do throws(Campaign<S>.Violation) {
            let outcome = try campaign.run(mutant, isTraced: true)
            print(campaign.plan.text)
            print((steps ? outcome.trace : outcome.history).joined(separator: "\n"))
            print("no violation; \(outcome.steps) steps, digest \(outcome.digest)")
        } catch {
            let shown = shrink ? campaign.shrunk(error, mutant) : error
            print(shown)
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
            if let keep, let json = try? encoder.encode(PastFailure(shown, note: keep)) { print(String(decoding: json, as: UTF8.self)) }
            if steps { print(error.trace.joined(separator: "\n")) }
            throw ExitCode(1)
        }
    }
}

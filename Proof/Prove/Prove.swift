import ArgumentParser
import Foundation
import Simulation

extension ValueKind: ExpressibleByArgument {}
extension RecordKind: ExpressibleByArgument {}
extension WindowKind: ExpressibleByArgument {}
extension Mutant: ExpressibleByArgument {}

@main
struct Prove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Runs the simulations by the thousand, and prints their results.",
        subcommands: [
            Campaigns<MovingValues>.self, Campaigns<StoredRecords>.self, Campaigns<ReleaseWindows>.self,
            Faults.self, Cuts.self, Flushes.self, Processes.self, Limits.self, Age.self, Histories.self,
            Journeys.self, Mutants.self, Power.self, Replay<MovingValues>.self, Replay<StoredRecords>.self, Replay<ReleaseWindows>.self,
        ] + server)

    /// The commands that need the trait `PostgreSQL`.
    private static var server: [any ParsableCommand.Type] {
        #if PostgreSQL && os(Linux)
            [
                ServerKills.self, ServerMoves.self, ServerMoveProcess.self, FailoverLoadProcess.self, ServerSweep.self,
                ServerSweepMover.self,
                ServerSweepVisitor.self, ServerSets.self,
            ] + soak
        #else
            []
        #endif
    }

    /// The command that needs all stores.
    private static var soak: [any ParsableCommand.Type] {
        #if PostgreSQL && Keyring && SQLite && os(Linux)
            [SoakProcess.self]
        #else
            []
        #endif
    }
}

/// A simulation, with what the commands of this program need to know about it.
protocol CommandSubject: Subject where Plan.Kind: ExpressibleByArgument {
    static var campaigns: CommandConfiguration { get }
    static var replay: CommandConfiguration { get }
    /// Each text is a call and its result, for example `set done`, as the log of calls counts them. In a long series of
    /// runs, each of these texts must occur at least once.
    static var answers: [String] { get }
    /// The folder with runs that once broke a rule; nil if there is none. The file of a run has its plan: the programs,
    /// their calls, and the faults.
    static var pastFailures: URL? { get }
}

extension CommandSubject {
    static var pastFailures: URL? { nil }
}

extension MovingValues: CommandSubject {
    static var campaigns: CommandConfiguration {
        CommandConfiguration(
            commandName: "campaigns", abstract: "Runs past failures and seeds of moving values; exits with 1 if a rule was broken.")
    }
    static var replay: CommandConfiguration {
        CommandConfiguration(commandName: "replay", abstract: "Runs one seed of `campaigns` again, and shows its history.")
    }
    static var answers: [String] {
        [
            "value answered", "set done", "set unavailable unknown", "update done", "remove residueRemains applied", "batch done",
            "sweep answered",
        ]
    }
    static var pastFailures: URL? { folder(ofPastFailures: "Values") }
}

/// The folder with runs of a subject that once broke a rule.
private func folder(ofPastFailures subject: String) -> URL {
    URL(filePath: #filePath).appending(path: "../../Searches/Simulation/PastFailures/\(subject)").standardizedFileURL
}

extension StoredRecords: CommandSubject {
    static var campaigns: CommandConfiguration {
        CommandConfiguration(
            commandName: "records", abstract: "Runs seeds with versions, collections and lifetimes; exits with 1 if a rule was broken.")
    }
    static var replay: CommandConfiguration {
        CommandConfiguration(commandName: "replay-records", abstract: "Runs one seed of `records` again, and shows its history.")
    }
    static var answers: [String] {
        [
            "value answered", "value incompatibleSchema notApplied", "set done", "set incompatibleSchema notApplied", "update done",
            "carry done", "all answered", "sweep answered",
        ]
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
    static var pastFailures: URL? { folder(ofPastFailures: "Windows") }
    static var answers: [String] {
        [
            "value answered", "value locked notApplied", "set done",
            "set unavailable unknown", "update done", "remove done",
            "batch done", "sweep done",
        ]
    }
}

/// Runs a simulation for each of many seeds, and prints the coverage: which situations and faults occurred.
struct Campaigns<S: CommandSubject>: ParsableCommand {
    static var configuration: CommandConfiguration { S.campaigns }

    @Option(help: "How many seeds.") var seeds: UInt64 = 20_000
    @Option(help: "The first seed.") var first: UInt64 = 0
    @Option(help: "One kind only.") var kind: S.Kind?
    @Option(help: "A part of the protocol that is taken away.") var mutant: Mutant?
    @Option(help: "One schedule only: uniform, weighted, pct2 or pct3.", transform: schedule(named:)) var schedule: Schedule?
    @Option(help: "After how many violations to stop.") var limit = 1
    @Option(help: "How many threads.") var threads = 2
    @Flag(help: "Every violation in full, not only its first line.") var full = false
    @Flag(help: "Exit with 1 if a row, a fault or an answer that is possible did not occur.") var covers = false

    func validate() throws {
        if covers, kind != nil || mutant != nil { throw ValidationError("--covers is for all kinds, without a mutant.") }
        try requireAvailable(mutant)
    }

    func run() throws {
        let clock = ContinuousClock()
        let begin = clock.now
        var isRuleBroken = try mutant == nil && kind == nil && isPastFailureBack()
        var series = Series<S>(first..<first + seeds, kind: kind, mutant: mutant, limit: limit)
        series.schedule = schedule
        let result = series.run(threads: threads)
        for violation in result.violations {
            print(full ? "\(violation)\n" : "\("\(violation)".split(separator: "\n").first ?? "")")
            print("again: \(again(violation.campaign))")
        }
        print(result.coverage.text)
        print(result.counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))
        let missing = missing(result)
        print("not covered: \(missing.isEmpty ? "nothing" : missing.joined(separator: ", "))")
        print("\(result.violations.count) violations, \(begin.duration(to: clock.now))")
        print("tried: \(result.runs) seeds, \(result.steps) steps")
        isRuleBroken = isRuleBroken || !result.violations.isEmpty
        if isRuleBroken || covers && !missing.isEmpty { throw ExitCode(1) }
    }

    /// The command that runs a seed again.
    private func again(_ campaign: Campaign<S>) -> String {
        let name = S.replay.commandName ?? "replay"
        let mutant = mutant.map { " --mutant \($0.rawValue)" } ?? ""
        return "\(CommandLine.arguments[0]) \(name) \(campaign.seed) --kind \(campaign.plan.kind.rawValue)\(mutant)"
    }

    /// The gaps of the coverage: combinations of its tables that never occurred, and answers that never occurred. A
    /// row, which is a state of a value, counts as a gap if it occurred less than three times.
    private func missing(_ result: Series<S>.Result) -> [String] {
        let rare = S.Row.allCases.compactMap { row -> String? in
            let count = result.coverage.rows.values.reduce(0) { $0 + $1[row, default: 0] }
            return count < 3 ? "row \(row.rawValue) (\(count) times)" : nil
        }
        return result.coverage.gaps + rare + S.answers.filter { result.counts[$0] == nil }.map { "answer \($0)" }
    }

    /// Runs each plan that once broke a rule, in several orders of its steps. Returns whether one of them broke a rule
    /// again.
    private func isPastFailureBack() throws -> Bool {
        guard let folder = S.pastFailures else { return false }
        let failures = try PastFailure<S>.all(in: folder)
        var isBack = false
        for (name, failure) in failures {
            guard let violation = failure.again() else { continue }
            isBack = true
            print("past failure \(name) (\(failure.note)): \(full ? "\(violation)" : violation.what)")
        }
        print("\(failures.count) past failures\(isBack ? "" : ", none is back")")
        return isBack
    }
}

/// Runs the simulation of one seed again.
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
            // A shorter run was found without its steps.
            if steps { do { _ = try shown.campaign.run(mutant, isTraced: true) } catch { print(error.trace.joined(separator: "\n")) } }
            throw ExitCode(1)
        }
    }
}

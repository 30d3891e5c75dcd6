import ArgumentParser
import Foundation
import Simulation

/// The command that checks whether simulated runs notice mutants. A mutant switches off one safety measure of the
/// library, or makes a simulated store faulty. A run notices a mutant if it breaks a rule because of it.
struct Mutants: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mutants",
        abstract: "Takes one part of the protocol away at a time; exits with 1 if a campaign does not notice.",
        discussion: "Without the patches of Proof/Mutants, only the mutants of faulty stores are run. Scripts/mutate builds with them.")

    @Flag(help: "Run only the recorded seed of each mutant.") var recorded = false
    @Option(help: "How many seeds to search for each mutant.") var seeds: UInt64 = 20_000
    @Flag(help: "Search all kinds, not only the one that shows the mutant soonest.") var everyKind = false
    @Option(help: "One mutant only.") var mutant: Mutant?
    @Flag(help: "Record the seeds that the search finds.") var record = false
    @Option(help: "The file of the recorded seeds.") var seedsFile = "Proof/Mutants/Seeds.json"

    func validate() throws {
        try requireAvailable(mutant)
        if record, recorded || everyKind { throw ValidationError("--record goes with neither --recorded nor --every-kind.") }
    }

    func run() throws {
        var known = try RecordedSeeds(file: seedsFile)
        // Try all subjects (the parts of the library that are simulated), even if a mutant of the first one is not
        // noticed.
        let all = [
            misses(of: MovingValues.self, &known), misses(of: StoredRecords.self, &known), misses(of: ReleaseWindows.self, &known),
        ]
        let (tried, missed) = (all.reduce(0) { $0 + $1.tried }, all.reduce(0) { $0 + $1.missed })
        if record { try known.write(to: seedsFile) }
        if !Mutant.hasPatches { show("This build contains no patches: only the mutants of faulty stores were run.") }
        show("tried: \(tried) mutants, each in every kind of run that must notice it")
        guard missed == 0 else {
            show("\(missed) mutants failed")
            throw ExitCode(1)
        }
    }

    /// Counts the mutants that were tried, and those that failed. A mutant fails if no run of the subject notices it,
    /// or if the run that notices it also breaks a rule without the mutant.
    private func misses<S: CommandSubject>(of subject: S.Type, _ known: inout RecordedSeeds) -> (tried: Int, missed: Int) {
        var (tried, missed) = (0, 0)
        for mutant in S.mutants where mutant.isAvailable && (self.mutant ?? mutant) == mutant {
            for showing in everyKind ? [Showing(kind: nil)] : S.showings(mutant) {
                let before = known[S.self, mutant, showing]
                tried += 1
                if let found = noticed(S.self, mutant, showing, before) { known[S.self, mutant, showing] = found } else { missed += 1 }
            }
        }
        return (tried, missed)
    }

    /// Returns the seed of a run that breaks a rule with the mutant and keeps all rules without it. Returns nil if no
    /// run breaks a rule, or if the first such run also breaks one without the mutant.
    private func noticed<S: CommandSubject>(
        _ subject: S.Type, _ mutant: Mutant, _ showing: Showing<S.Kind>, _ before: UInt64?
    ) -> UInt64? {
        let (name, kind) = ("\(S.self), \(RecordedSeeds.name(mutant, showing))", showing.kind)
        let seeds = recorded ? before.map { $0..<$0 + 1 } ?? 0..<0 : 0..<self.seeds
        guard let violation = Series<S>(seeds, kind: kind, variant: showing.variant, mutant: mutant).run().violations.first else {
            let tried = recorded ? "the recorded seed, \(before.map { "\($0)" } ?? "none")" : "\(self.seeds) seeds"
            show("\(name): NOT noticed by \(tried)")
            if recorded { show("    search another seed: \(Self.program) mutants --mutant \(mutant) --record") }
            return nil
        }
        let seed = violation.campaign.seed
        let note = seed == before || everyKind ? "" : " (recorded: \(before.map { "\($0)" } ?? "none"))"
        show("\(name): noticed by seed \(seed)\(note) of \(violation.campaign.plan.kind): \(violation.what)")
        let options = "\(kind.map { "--kind \($0.rawValue) " } ?? "")--mutant \(mutant)"
        show("    \(Self.program) \(S.replay.commandName ?? "") \(seed) \(options)")
        do throws(Campaign<S>.Violation) { _ = try violation.campaign.run() } catch {
            show("    The same run breaks a rule without the mutant: \(error.rule.rawValue): \(error.what)")
            return nil
        }
        return seed
    }

    /// Prints a line without a buffer, even if the output goes into a file.
    private func show(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }

    /// The command that runs this program again, from the root of the checkout.
    private static var program: String { Mutant.hasPatches ? "Scripts/mutate" : CommandLine.arguments[0] }
}

/// Throws an error for a mutant that this build does not contain.
func requireAvailable(_ mutant: Mutant?) throws {
    if let mutant, !mutant.isAvailable { throw ValidationError(Mutant.unavailable) }
}

/// For each subject and mutant, the seed of a run that notices the mutant, as a file records it.
private struct RecordedSeeds {
    private var seeds: [String: [String: UInt64]]

    init(file: String) throws {
        seeds = try JSONDecoder().decode([String: [String: UInt64]].self, from: Data(contentsOf: URL(filePath: file)))
    }

    subscript<S: Subject>(subject: S.Type, mutant: Mutant, showing: Showing<S.Kind>) -> UInt64? {
        get { seeds["\(S.self)"]?[Self.name(mutant, showing)] }
        set { seeds["\(S.self)", default: [:]][Self.name(mutant, showing)] = newValue }
    }

    /// Returns the name of a mutant, with the variant of the runs if not every run will do.
    static func name<Kind>(_ mutant: Mutant, _ showing: Showing<Kind>) -> String {
        guard let variant = showing.variant else { return mutant.rawValue }
        return "\(mutant.rawValue), \(showing.kind?.rawValue ?? "any kind"), \(variant)"
    }

    func write(to file: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        try (encoder.encode(seeds) + Data("\n".utf8)).write(to: URL(filePath: file))
    }
}

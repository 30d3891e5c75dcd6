import ArgumentParser
import Foundation
import Simulation
import Synchronization

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

/// Returns the schedule of a name.
func schedule(named name: String) throws -> Schedule {
    guard let schedule = Schedule(name: name) else { throw ValidationError("The schedules are uniform, weighted, pct2 and pct3.") }
    return schedule
}

/// The command that measures how soon the simulation notices each mutant.
struct Power: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Prints the median number of runs until each mutant is noticed (K), over several first seeds.",
        discussion: "A run counts if it has the kind and the variant that show the mutant. Scripts/mutate builds with the patches.")

    @Option(help: "How many first seeds.") var firsts: UInt64 = 20
    @Option(help: "The first of the first seeds.") var first: UInt64 = 0
    @Option(help: "After how many runs a search gives up.") var limit = 2_000
    @Option(help: "One mutant only.") var mutant: Mutant?
    @Option(help: "One schedule only: uniform, weighted, pct2 or pct3.", transform: schedule(named:)) var schedule: Schedule?
    @Option(help: "How many threads.") var threads = 2
    @Option(help: "The file in which to record the numbers.") var record: String?

    /// The numbers of a measurement, as a file records them.
    private struct Numbers: Codable {
        /// The number of runs until a mutant was noticed: the median, the second lowest and the second highest of ten. Nil if none was
        /// enough.
        struct Runs: Codable {
            var median: Int?
            var low: Int?
            var high: Int?
        }
        /// By subject and mutant.
        var mutants: [String: [String: Runs]] = [:]
        /// How often a program read a value after a fault, by subject and fault, in the first runs without a mutant.
        var faults: [String: [String: Int]] = [:]
        var limit: Int
        var firsts: UInt64
    }

    private static let runsWithoutMutant: UInt64 = 2_000

    func validate() throws { try requireAvailable(mutant) }

    func run() throws {
        var numbers = Numbers(limit: limit, firsts: firsts)
        measure(MovingValues.self, &numbers)
        measure(StoredRecords.self, &numbers)
        measure(ReleaseWindows.self, &numbers)
        let medians = numbers.mutants.values.flatMap(\.values).map { $0.median ?? .max }.sorted()
        guard let worst = medians.last else { return }
        if let record {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            try (encoder.encode(numbers) + Data("\n".utf8)).write(to: URL(filePath: record))
        }
        let largest = worst == .max ? "over \(limit)" : "\(worst)"
        print(
            "tried: \(medians.count) mutants; median K \(medians[medians.count / 2]); largest K \(largest); \(medians.count { $0 > 500 }) over 500"
        )
    }

    private func measure<S: CommandSubject>(_ subject: S.Type, _ numbers: inout Numbers) {
        for mutant in S.mutants where mutant.isAvailable && (self.mutant ?? mutant) == mutant {
            for showing in S.showings(mutant) {
                let name = RecordedSeeds.name(mutant, showing)
                let runs = runs(S.self, mutant, showing).map { $0 == .max ? nil : $0 }
                let found = Numbers.Runs(median: runs[runs.count / 2], low: runs[runs.count / 10], high: runs[runs.count * 9 / 10])
                numbers.mutants["\(S.self)", default: [:]][name] = found
                let texts = [found.median, found.low, found.high].map { $0.map(String.init) ?? "over \(limit)" }
                FileHandle.standardOutput.write(Data("\(S.self), \(name): K \(texts[0]), \(texts[1]) to \(texts[2])\n".utf8))
            }
        }
        if record == nil { return }
        let coverage = Series<S>(first..<first + Self.runsWithoutMutant).run(threads: threads).coverage
        for counts in coverage.faults.values {
            for (fault, count) in counts { numbers.faults["\(S.self)", default: [:]][fault.rawValue, default: 0] += count }
        }
    }

    /// Returns the numbers of runs until a mutant was noticed, in ascending order, one for each first seed. A search that gives up counts
    /// as the most runs there are.
    private func runs<S: CommandSubject>(_ subject: S.Type, _ mutant: Mutant, _ showing: Showing<S.Kind>) -> [Int] {
        let next = Mutex<UInt64>(0)
        let all = Mutex<[Int]>([])
        DispatchQueue.concurrentPerform(iterations: threads) { _ in
            while true {
                let number = next.withLock { next in
                    defer { next += 1 }
                    return next
                }
                guard number < firsts else { return }
                let begin = first + number * 1_000_003
                var series = Series<S>(begin..<begin + 1_000_003, kind: showing.kind, variant: showing.variant, mutant: mutant)
                (series.schedule, series.most) = (schedule, limit)
                let result = series.run(threads: 1)
                all.withLock { $0.append(result.violations.isEmpty ? .max : result.runs) }
            }
        }
        return all.withLock { $0.sorted() }
    }
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

import ArgumentParser
import Foundation
import RealFaults

extension Trials.Planted: ExpressibleByArgument {}
extension Trials.Model: ExpressibleByArgument {}

/// The options that choose the operations and how many run at once, and the function that runs them and prints the
/// results.
struct RealFaultOptions: ParsableArguments {
    @Option(help: "Operations whose names contain this text only.") var operation = ""
    @Flag(help: "Only the operation whose name is that text.") var exactly = false
    @Flag(help: "Print the names of the operations, and end.") var list = false
    @Option(help: "How many runs at a time.") var width = 3
    @Option(help: "After how many violations of an operation to leave it.") var limit = 5

    /// Runs the chosen operations, prints a row for each, and exits with 1 if a rule was broken.
    func run(columns: [String], _ row: (Trials) async throws -> Tally) async throws {
        let place = try await Workplace()
        func isChosen(_ name: String) -> Bool { exactly ? name == operation : operation.isEmpty || name.contains(operation) }
        let operations = place.operations.filter { isChosen($0.name) }
        if operations.isEmpty { throw ValidationError("There is no operation \"\(operation)\": --list prints them.") }
        if list { return operations.forEach { show($0.name) } }
        show((["operation"] + columns).joined(separator: " | "))
        var total = Tally(counts: Array(repeating: 0, count: columns.count))
        for one in operations {
            let tally = try await row(try await Trials(one, in: place))
            show(([one.name] + tally.columns).joined(separator: " | "))
            for violation in tally.violations.prefix(limit) { show("  \(violation)") }
            total.add(tally)
        }
        show((["all"] + total.columns).joined(separator: " | "))
        show("tried: " + zip(total.counts, columns).map { "\($0) \($1)" }.joined(separator: ", ") + ", \(operations.count) operations")
        if !total.violations.isEmpty { throw ExitCode(1) }
    }

    /// Prints a line without a buffer, even if the output goes into a file.
    private func show(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }

    /// Tries each element, which is a fault or a power cut, several at a time. Adds the outcomes to the tally.
    func each<Element: Sendable>(
        _ elements: [Element], _ tally: inout Tally, _ work: @escaping @Sendable (Element) async throws -> Trials.Outcome
    ) async throws {
        for outcome in try await Trials.outcomes(of: elements, width: width, limit: limit, work) { tally.note(outcome) }
    }
}

/// The results of the runs of an operation.
struct Tally {
    /// How many runs there were of each kind, in the order of the printed columns.
    var counts: [Int]
    var notReached = 0
    /// How many disks were checked after the runs.
    var disks = 0
    var violations: [Trials.Violation] = []
    var slowest = (seconds: 0.0, what: "")

    init(counts: [Int]) { self.counts = counts }

    mutating func note(_ outcome: Trials.Outcome) {
        if !outcome.hasFired { notReached += 1 }
        violations += outcome.violations
        disks += outcome.disks
        if outcome.seconds > slowest.seconds { slowest = (outcome.seconds, outcome.what) }
    }

    mutating func add(_ other: Tally) {
        for index in counts.indices { counts[index] += other.counts[index] }
        notReached += other.notReached
        violations += other.violations
        if other.slowest.seconds > slowest.seconds { slowest = other.slowest }
    }

    var columns: [String] {
        counts.map { "\($0)" } + [
            "\(notReached) not reached", "\(violations.count) violations",
            String(format: "slowest %.1f s", slowest.seconds) + (slowest.seconds > 2 ? ": \(slowest.what)" : ""),
        ]
    }
}

/// The command for kills, torn writes and failing calls.
struct Faults: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Kills, tears or fails every call of real operations on real files; exits with 1 if anything is lost or reported wrongly."
    )

    @OptionGroup var options: RealFaultOptions
    @Flag(help: "Kills and torn writes only.") var crashesOnly = false
    @Flag(help: "Failing calls only.") var failuresOnly = false
    @Option(help: "Every so many failing calls only.") var every = 1

    func run() async throws {
        try await options.run(columns: ["kills", "torn writes", "failing calls"]) { trials in
            let (kills, tears) = failuresOnly ? ([], []) : (trials.kills, trials.tears)
            let failures = crashesOnly ? [] : trials.failures.enumerated().filter { $0.offset % every == 0 }.map(\.element)
            var tally = Tally(counts: [kills.count, tears.count, failures.count])
            try await options.each(kills + tears + failures, &tally) { try await trials.run($0) }
            return tally
        }
    }
}

/// The command for power cuts.
struct Cuts: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Gives every disk that a power cut during real operations can leave to a fresh process; exits with 1 if anything is lost."
    )

    @OptionGroup var options: RealFaultOptions
    @Option(help: "Leaves out flushes of `directories` or `logs`, to see that this is noticed.") var planted: Trials.Planted?
    @Option(help: "Which disks: `own`, `alice` or `dividedNames`, which only a file system without a journal leaves.")
    var model = Trials.Model.own
    @Option(help: "Every so many disks only.") var every = 1
    @Flag(help: "On a real ext4 in the image of a disk, which is copied while it is mounted. Needs root.") var ext4 = false
    @Option(help: "How many copies of each operation's image.") var copies = 16

    func run() async throws {
        if ext4 { return try await runOnExt4() }
        try await options.run(columns: ["disks after a cut", "after a kill and a cut"]) { trials in
            // Skips operations on the keyring. Another process writes the keyring's files, so the recording would not
            // contain these writes.
            guard !trials.operation.usesKeyring else { return Tally(counts: [0, 0]) }
            let cuts = try await trials.cuts(model, ignoring: planted).enumerated().filter { $0.offset % every == 0 }.map(\.element)
            var tally = Tally(counts: [cuts.count, 0])
            try await options.each(cuts, &tally) { try await trials.run($0) }
            guard planted == nil, model == .own else { return tally }
            tally.counts[1] = trials.changes
            try await options.each(Array(1...max(trials.changes, 1)), &tally) { change in
                var all = Trials.Outcome()
                for cut in try await trials.cut(afterKillBefore: change) { all.violations += try await trials.run(cut).violations }
                return all
            }
            return tally
        }
    }

    private func runOnExt4() async throws {
        try await options.run(columns: ["copies", "of them after the acknowledgement", "as before", "as afterwards"]) { trials in
            // Skips operations on the keyring, because its files are not on this disk.
            guard !trials.operation.usesKeyring else { return Tally(counts: [0, 0, 0, 0]) }
            let found = try await trials.ext4(copies: copies)
            var tally = Tally(counts: [found.count, found.afterwards, found.before, found.after])
            tally.violations = found.violations
            return tally
        }
    }
}

/// The command for flushes that fail and drop pages.
struct Flushes: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lets each flush of real operations fail and drop its pages, then cuts the power; exits with 1 if anything is lost."
    )

    @OptionGroup var options: RealFaultOptions
    @Option(help: "With `retries`, failed flushes report success, to see that this is noticed.") var planted: Trials.Planted?
    @Option(help: "Every so many failing flushes only.") var every = 1
    @Option(help: "How many disks of each failing flush and loss at most.") var disks = 100_000

    func run() async throws {
        try await options.run(columns: ["failing flushes", "disks after them"]) { trials in
            // Skips operations on the keyring, as the command for power cuts does.
            guard !trials.operation.usesKeyring else { return Tally(counts: [0, 0]) }
            let flushes = trials.failedFlushes.enumerated().filter { $0.offset % every == 0 }.map(\.element)
            var tally = Tally(counts: [flushes.count, 0])
            try await options.each(flushes, &tally) { try await trials.run($0, disks: disks, planted: planted) }
            tally.counts[1] = tally.disks
            return tally
        }
    }
}

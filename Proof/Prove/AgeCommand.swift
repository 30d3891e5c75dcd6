import ArgumentParser
import Foundation
import RealFaults

/// The command that compares a machine that has lived long with one that has lived for a day.
struct Age: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lives on a machine for many days; exits with 1 if a value is lost, or a file or a call has grown.")

    @Option(help: "How many days, each with another release, rotation and removals.") var days = 160
    @Option(help: "How many records the first day moves.") var records = 1_000
    @Option(help: "How many values each day sets.") var sets = 100
    @Option(help: "The number of days after which a day is killed and repeated.") var killsEvery = 10
    @Option(help: "The seed of the kills.") var seed: UInt64 = 1
    @Option(help: "The largest ratio of instructions.") var limit = 1.2
    @Option(parsing: .upToNextOption, help: "The calls whose instructions are counted.") var calls = LivedMachine.calls
    @Flag(help: "Each day leaves something in the ledger, to see that it is noticed.") var planted = false

    func run() async throws {
        let old = try await LivedMachine(
            LivedMachine.Life(days: days, records: records, sets: sets, killsEvery: killsEvery, seed: seed, isPlanted: planted))
        let young = try await LivedMachine(LivedMachine.Life(days: 1, records: records, sets: sets, killsEvery: 0, seed: seed))
        var findings = 0
        do { try await old.check() } catch {
            findings += 1
            show("lost: \(error)")
        }
        let sizes = try (young: young.sizes(), old: old.sizes())
        show("file | bytes after a day | after \(days) days")
        for (path, size) in sizes.old.sorted(by: { $0.key < $1.key }) {
            let isWithin = size - (sizes.young[path] ?? 0) <= old.allowed(path)
            findings += isWithin ? 0 : 1
            show("\(path) | \(sizes.young[path] ?? 0) | \(size)\(isWithin ? "" : " exceeds its bound")")
        }
        show("call | instructions after a day | after \(days) days | ratio")
        let counts = try await (young: young.instructions(of: calls), old: old.instructions(of: calls))
        for (call, count) in counts.old.sorted(by: { $0.key < $1.key }) {
            let ratio = Double(count) / Double(max(1, counts.young[call] ?? 1))
            findings += ratio > limit ? 1 : 0
            show(
                "\(call) | \(counts.young[call] ?? 0) | \(count) | \(String(format: "%.2f", ratio))\(ratio > limit ? " exceeds \(limit)" : "")"
            )
        }
        show(
            "tried: \(days) days, \(days * sets) sets, \(records) moved records, \(days) rotations, \(days / 5) backups, \(old.kills) kills"
        )
        if findings > 0 { throw ExitCode(1) }
    }

    private func show(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }
}

import ArgumentParser
import Foundation
import RealFaults
import TestSupport

extension ProcessRound.Planted: ExpressibleByArgument {}

/// The command that runs several processes on the same stores.
struct Processes: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Kills and stops processes that use the same stores; exits with 1 if the calls have no order, or a counter is wrong.")

    @Option(help: "How long each round takes, in seconds.") var seconds = 60
    @Option(help: "How many rounds.") var rounds = 4
    @Option(help: "The seed of the first round's kills and stops.") var seed: UInt64 = 1
    @Option(help: "A mistake of one worker's, `forgetful` or `twice`, to see that it is noticed.") var planted: ProcessRound.Planted?

    func run() async throws {
        let place = try await Workplace()
        var (violations, calls, kills) = (0, 0, 0)
        show("round | seconds | kills | stops | calls | unanswered | errors | violations")
        for round in 0..<rounds {
            let result = try await ProcessRound(place, seconds: seconds, seed: seed + UInt64(round), planted: planted)
            let errors = result.history.errors.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
            show(
                "\(round + 1) | \(seconds) | \(result.kills) | \(result.stops) | \(result.history.count) | \(result.history.unanswered) | "
                    + "\(errors.isEmpty ? "none" : errors) | \(result.violations.count)")
            for (key, count) in result.history.counters.sorted(by: { $0.key < $1.key }) where !key.hasPrefix("moving") {
                show("  \(key): \(count.acknowledged) acknowledged, \(count.open) open, \(count.last) in the end")
            }
            for violation in result.violations.prefix(5) { show("  \(violation)") }
            violations += result.violations.count
            calls += result.history.count
            kills += result.kills
        }
        if planted == nil { violations += try await stopHolders(place) + besideFoundation(place) }
        show("tried: \(rounds) rounds, \(calls) calls, \(kills) kills")
        if violations > 0 { throw ExitCode(1) }
    }

    private func stopHolders(_ place: Workplace) async throws -> Int {
        var violations = 0
        show((["lock of a stopped process"] + StoppedHolder.columns + ["violations"]).joined(separator: " | "))
        for lock in StoppedHolder.locks {
            let holder = try await holder(of: lock, place)
            show((["\(lock)", "\(holder.tries)"] + holder.seen + ["\(holder.violations.count)"]).joined(separator: " | "))
            for violation in holder.violations { show("  \(violation)") }
            violations += holder.violations.count
        }
        return violations
    }

    /// Stops a worker at random moments until such a moment falls into the time when it holds the lock. If this never
    /// happens, tries again with another worker, at most five times in all.
    private func holder(of lock: String, _ place: Workplace) async throws -> StoppedHolder {
        for _ in 0..<4 {
            do { return try await StoppedHolder(lock, place) } catch let failure as ProgramFailure { show("  \(failure)") }
        }
        return try await StoppedHolder(lock, place)
    }

    /// Runs workers and a program that uses Foundation on the same property list. Counts the acknowledged values that
    /// were lost, and those that Foundation's values replaced. Foundation takes no lock, so both can happen. Returns 1
    /// if values were lost and no log reports this.
    private func besideFoundation(_ place: Workplace) async throws -> Int {
        let foreign = try await ProcessRound.besideFoundation(place, seconds: seconds)
        show("beside Foundation | seconds | Foundation's writes | acknowledged | lost | replaced by Foundation's | errors")
        let errors = foreign.errors.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
        let fates = foreign.fates
        show(
            "one list | \(seconds) | \(foreign.writes) | \(fates.acknowledged) | \(fates.lost) | \(fates.replaced) | "
                + "\(errors.isEmpty ? "none" : errors)")
        let isSilent = fates.lost > 0 && foreign.reports == 0
        if isSilent { show("  \(fates.lost) values were lost, and no log says so") }
        return isSilent ? 1 : 0
    }

    private func show(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }
}

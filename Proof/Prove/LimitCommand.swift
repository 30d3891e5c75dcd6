import ArgumentParser
import Foundation
import RealFaults

/// The command that tries the limits of the machine, such as a full disk.
struct Limits: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Runs into limits of the machine, and shows what a caller sees; exits with 1 if it is not what was expected. Needs root.")

    @Option(help: "Limits whose names contain this text only.") var only = ""

    func run() async throws {
        let place = try await Workplace()
        var (violations, count) = (0, 0)
        show("limit | what a caller sees | violations")
        for kind in Limit.Kind.allCases where only.isEmpty || kind.rawValue.contains(only) {
            count += 1
            let limit: Limit
            do { limit = try await Limit(kind, place) } catch {
                show("\(kind.rawValue) | not tried to the end: \(error) | 1")
                violations += 1
                continue
            }
            show("\(kind.rawValue) | \(limit.seen.joined(separator: "; ")) | \(limit.violations.count)")
            for violation in limit.violations { show("  \(violation)") }
            violations += limit.violations.count
        }
        show("tried: \(count) limits")
        if violations > 0 { throw ExitCode(1) }
    }

    private func show(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }
}

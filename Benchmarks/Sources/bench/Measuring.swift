import Foundation

/// Returns the seconds that some work takes.
func seconds(_ work: () async throws -> Void) async rethrows -> Double {
    let start = ContinuousClock.now
    try await work()
    return (ContinuousClock.now - start).seconds
}

/// Runs some work several times. The closure returns the duration of one run in seconds, and the function returns the
/// median.
func median(of rounds: Int, _ work: () async throws -> Double) async rethrows -> Double {
    var times: [Double] = []
    for _ in 0..<rounds { times.append(try await work()) }
    return times.middle
}

/// Measures several pieces of work. Each round runs every piece once, so that other work of the machine affects all of
/// them alike.
struct Contest {
    private let rounds: Int
    private var entries: [(name: String, prepare: () async throws -> Void, work: () async throws -> Void)] = []

    init(rounds: Int) { self.rounds = rounds }

    /// Adds a piece of work.
    /// - Parameter prepare: Runs before the work in each round and is not measured.
    mutating func add(
        _ name: String, prepare: @escaping () async throws -> Void = {}, _ work: @escaping () async throws -> Void
    ) {
        entries.append((name, prepare, work))
    }

    /// Returns the median of the seconds for each piece of work. The first round only warms up and is not counted.
    func run() async throws -> [String: Double] {
        var times: [String: [Double]] = [:]
        for round in 0...rounds {
            for entry in entries {
                try await entry.prepare()
                let time = try await seconds(entry.work)
                if round > 0 { times[entry.name, default: []].append(time) }
            }
        }
        return times.mapValues(\.middle)
    }
}

extension Duration {
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}

extension [Double] {
    var middle: Double { sorted()[count / 2] }

    /// Returns the value that a share of the values does not exceed.
    /// - Parameter part: The share, such as 0.99 for the 99th percentile.
    func percentile(_ part: Double) -> Double { sorted()[Swift.min(count - 1, Int(Double(count) * part))] }
}

/// Returns the largest resident set of the process so far, in KiB.
func peakMemory() -> Int {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
    return Int(line.split(separator: " ").dropFirst().first ?? "") ?? 0
}

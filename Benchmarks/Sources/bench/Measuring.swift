import Foundation

/// The seconds that some work takes.
func seconds(_ work: () async throws -> Void) async rethrows -> Double {
    let start = ContinuousClock.now
    try await work()
    return (ContinuousClock.now - start).seconds
}

/// The median of the seconds that some work takes.
func median(of rounds: Int, _ work: () async throws -> Double) async rethrows -> Double {
    var times: [Double] = []
    for _ in 0..<rounds { times.append(try await work()) }
    return times.middle
}

/// Several pieces of work that are measured in turn, so that what else the machine does is shared by all of them.
struct Contest {
    private let rounds: Int
    private var entries: [(name: String, prepare: () async throws -> Void, work: () async throws -> Void)] = []

    init(rounds: Int) { self.rounds = rounds }

    /// - Parameter prepare: What comes before the work in each round and is not measured.
    mutating func add(
        _ name: String, prepare: @escaping () async throws -> Void = {}, _ work: @escaping () async throws -> Void
    ) {
        entries.append((name, prepare, work))
    }

    /// The median of the seconds that each took; the first round is not counted.
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
    /// The median.
    var middle: Double { sorted()[count / 2] }

    /// What a part of the values does not exceed.
    /// - Parameter part: 0.99 for the 99th percentile.
    func percentile(_ part: Double) -> Double { sorted()[Swift.min(count - 1, Int(Double(count) * part))] }
}

/// The process's largest resident set so far, in KiB.
func peakMemory() -> Int {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
    return Int(line.split(separator: " ").dropFirst().first ?? "") ?? 0
}

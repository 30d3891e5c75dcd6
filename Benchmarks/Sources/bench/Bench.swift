import Foundation
import LocalData

/// What the claims of the documentation rest on: ratios between things that were measured in one run, on one machine, with the same durability.
///
/// Every figure is the median of several rounds. A row that is durable says so; rows of different durability are never compared.
@main
struct Bench {
    static func main() async throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("localdata-bench-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: root) }
        let parts = Set(CommandLine.arguments.dropFirst())
        if parts.isEmpty || parts.contains("database") {
            try await Databases(root: root.appendingPathComponent("database")).run()
            try await DatabaseSweeping(root: root.appendingPathComponent("database-sweep")).run()
        }
        if parts.contains("figures") { try await Figures(root: root.appendingPathComponent("figures")).run() }
        if parts.contains("records") {
            let counts = parts.compactMap { Int($0) }.sorted()
            try await Records(root: root.appendingPathComponent("records"), counts: counts.isEmpty ? [1_000, 100_000] : counts).run()
        }
        if parts.contains("sessions") {
            let counts = parts.compactMap { Int($0) }
            try await Sessions(root: root.appendingPathComponent("sessions"), count: counts.max() ?? 100_000).run()
        }
        if parts.isEmpty || parts.contains("get") { try await Reading(root: root.appendingPathComponent("get")).run() }
        guard parts.isEmpty || parts.contains("property-list") else { return }
        try await Sweeping(root: root.appendingPathComponent("sweep")).run()
        try await Writing(root: root.appendingPathComponent("set")).run()
    }
}

/// The median of the seconds that some work takes.
func median(of rounds: Int, _ work: () async throws -> Double) async rethrows -> Double {
    var times: [Double] = []
    for _ in 0..<rounds { times.append(try await work()) }
    return times.sorted()[rounds / 2]
}

/// Several pieces of work that are measured in turn, so that what else the machine does is shared by all of them.
struct Contest {
    private let rounds: Int
    private var entries: [(name: String, work: () async throws -> Void)] = []

    init(rounds: Int) { self.rounds = rounds }

    mutating func add(_ name: String, _ work: @escaping () async throws -> Void) { entries.append((name, work)) }

    /// The median of the seconds that each took; the first round is not counted.
    func run() async throws -> [String: Double] {
        var times: [String: [Double]] = [:]
        for round in 0...rounds {
            for entry in entries {
                let time = try await seconds(entry.work)
                if round > 0 { times[entry.name, default: []].append(time) }
            }
        }
        return times.mapValues { $0.sorted()[$0.count / 2] }
    }
}

/// The seconds that some work takes.
func seconds(_ work: () async throws -> Void) async rethrows -> Double {
    let start = ContinuousClock.now
    try await work()
    let (seconds, attoseconds) = (ContinuousClock.now - start).components
    return Double(seconds) + Double(attoseconds) / 1e18
}

func row(_ name: String, _ value: String, _ note: String = "") {
    print(name.padding(toLength: 58, withPad: " ", startingAt: 0) + value.padding(toLength: 16, withPad: " ", startingAt: 0) + note)
}

func configuration(_ root: URL) -> StorageConfiguration {
    var configuration = StorageConfiguration(root: root, applicationID: "bench")
    configuration.userDefaultsName = "bench"
    return configuration
}

import Foundation
import Synchronization

/// The results of a run. They are printed when they are added, and can be written to a JSON file, from which
/// `Scripts/bench results` makes `Benchmarks/RESULTS.md`.
final class Results: Sendable {
    /// The limit for a result. The result should be at least `value` if `isLeast` is true, and otherwise at most
    /// `value`.
    struct Goal: Codable {
        var value: Double
        var isLeast: Bool

        static func atMost(_ value: Double) -> Self { Goal(value: value, isLeast: false) }
        static func atLeast(_ value: Double) -> Self { Goal(value: value, isLeast: true) }
    }

    /// A figure divided by the same figure of a competing implementation, the peer. The two figures were measured
    /// alternately.
    struct Ratio: Codable {
        var peer: String
        var value: Double
        var goal: Goal?

        init(_ peer: String, _ value: Double, _ goal: Goal? = nil) { (self.peer, self.value, self.goal) = (peer, value, goal) }
    }

    private struct Row: Codable {
        var group = ""
        var name: String
        var value: Double
        var unit: String
        var size: Int?
        var goal: Goal?
        var ratios: [Ratio]
    }

    private struct Document: Encodable {
        var rows: [Row] = []
        var histograms: [String: [Double]] = [:]
    }

    private let state = Mutex((group: "", document: Document()))

    /// Begins a group of results about one subject. If the measured operations are durable, the name of the group or of
    /// the result says so.
    func begin(_ group: String) {
        state.withLock { $0.group = group }
        print(group)
    }

    /// Adds the duration of one operation.
    /// - Parameters:
    ///   - seconds: The time of all operations.
    ///   - count: The number of operations that took this time.
    ///   - size: The number of keys or records in the store, for a plot of time against size.
    ///   - goal: The limit in microseconds.
    func time(_ name: String, _ seconds: Double, each count: Int = 1, size: Int? = nil, goal: Goal? = nil, _ ratios: Ratio...) {
        let micros = seconds / Double(count) * 1e6
        let (unit, scale) = micros < 1e3 ? ("µs", 1.0) : micros < 1e6 ? ("ms", 1e3) : ("s", 1e6)
        let scaled = goal.map { Goal(value: $0.value / scale, isLeast: $0.isLeast) }
        add(Row(name: name, value: micros / scale, unit: unit, size: size, goal: scaled, ratios: ratios))
    }

    /// Adds the number of operations in a second.
    func rate(_ name: String, _ count: Int, in seconds: Double, size: Int? = nil, goal: Goal? = nil, _ ratios: Ratio...) {
        add(Row(name: name, value: Double(count) / seconds, unit: "/s", size: size, goal: goal, ratios: ratios))
    }

    /// Adds a number with a unit.
    func number(_ name: String, _ value: Double, _ unit: String, goal: Goal? = nil) {
        add(Row(name: name, value: value, unit: unit, goal: goal, ratios: []))
    }

    /// Adds the durations of single operations, in seconds, for a histogram.
    func histogram(_ name: String, _ times: [Double]) {
        state.withLock { $0.document.histograms[name] = times.map { $0 * 1e6 } }
    }

    private func add(_ row: Row) {
        state.withLock { state in
            var row = row
            row.group = state.group
            state.document.rows.append(row)
        }
        let digits = row.value < 10 ? "%.2f" : row.value < 100 ? "%.1f" : "%.0f"
        let value = String(format: digits, row.value) + " " + row.unit + Self.words(row.goal)
        let ratios = row.ratios.map { String(format: "%.2fx of ", $0.value) + $0.peer + Self.words($0.goal) }
        print(
            "  " + row.name.padding(toLength: max(row.name.count + 1, 56), withPad: " ", startingAt: 0)
                + value.padding(toLength: max(value.count + 1, 16), withPad: " ", startingAt: 0) + ratios.joined(separator: ", "))
    }

    private static func words(_ goal: Goal?) -> String {
        guard let goal else { return "" }
        return String(format: goal.isLeast ? " (goal: at least %g)" : " (goal: at most %g)", goal.value)
    }

    /// Writes all results as JSON.
    func write(to path: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
        try encoder.encode(state.withLock(\.document)).write(to: URL(fileURLWithPath: path))
    }
}

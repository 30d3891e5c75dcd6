import Foundation
package import Testing

/// The reason why a property does not hold for a value.
package struct Broken: Error, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }
}

/// Fails a property unless a condition holds. `#expect` would report every value that is tried while shrinking.
package func hold(_ isTrue: Bool, _ otherwise: @autoclosure () -> String) throws {
    if !isTrue { throw Broken(otherwise()) }
}

/// Fails a property unless two values are equal.
package func same<Part: Equatable>(_ found: Part, _ expected: Part, _ what: @autoclosure () -> String) throws {
    if found != expected { throw Broken("\(what()): found \(found), expected \(expected)") }
}

/// The smallest value that was found for which a property does not hold.
package struct Counterexample<Value: Sendable>: Sendable {
    package let value: Value
    /// The seed of the value from which it was shrunk. The environment variable `LOCALDATA_SEED` replays it.
    package let seed: UInt64
    /// The number of shrinking steps.
    package let shrinks: Int
    /// The number of checks while shrinking.
    package let trials: Int
    package let reason: String
}

/// The number of values for each property, and their seeds, from the environment.
package struct LawSettings: Sendable {
    /// `LOCALDATA_LAWS`: the factor for the number of values.
    package var factor = 1.0
    /// Whether the factor is so large that tests check every case instead of a sample.
    package var isLong: Bool { factor >= 100 }
    /// `LOCALDATA_SEED`: the only seed to try.
    package var seed: UInt64?

    package init(_ environment: [String: String] = ProcessInfo.processInfo.environment) {
        factor = environment["LOCALDATA_LAWS"].flatMap(Double.init) ?? 1
        seed = environment["LOCALDATA_SEED"].flatMap { UInt64($0) }
    }

    /// Returns the seeds of the values for a property.
    package func seeds(count: Int, from first: UInt64) -> [UInt64] {
        if let seed { return [seed] }
        return (0..<UInt64(max(1, Double(count) * factor))).map { first &+ $0 }
    }
}

/// Returns some cases, evenly spread. `LOCALDATA_LAWS` raises their number up to all cases.
package func sample<Cases: RandomAccessCollection>(_ cases: Cases, _ count: Int) -> [Cases.Element] {
    let wanted = min(cases.count, Int(Double(count) * max(1, LawSettings().factor)))
    return (0..<wanted).map { cases[cases.index(cases.startIndex, offsetBy: $0 * cases.count / wanted)] }
}

/// Searches for a value that breaks a property, and then for the smallest such value.
/// - Parameter limit: The maximum number of checks while shrinking.
package func counterexample<Value>(
    _ values: Arbitrary<Value>, seeds: some Sequence<UInt64>, limit: Int = 5_000, _ law: (Value) async throws -> Void
) async -> Counterexample<Value>? {
    func reason(_ value: Value) async -> String? {
        do { try await law(value) } catch { return "\(error)" }
        return nil
    }
    for seed in seeds {
        var tree = values.tree(seed: seed)
        guard var why = await reason(tree.value) else { continue }
        var shrinks = 0
        var trials = 0
        search: while true {
            for smaller in tree.smaller {
                if trials == limit { break search }
                trials += 1
                if let next = await reason(smaller.value) {
                    (tree, why) = (smaller, next)
                    shrinks += 1
                    continue search
                }
            }
            break
        }
        return Counterexample(value: tree.value, seed: seed, shrinks: shrinks, trials: trials, reason: why)
    }
    return nil
}

/// Checks a property for random values. The closure throws if the property does not hold.
///
/// A violation is reported once, with the smallest value that was found and the seed that replays it.
/// - Parameters:
///   - count: The number of values. `LOCALDATA_LAWS` multiplies it.
///   - seed: The first seed. Each further value has the next seed.
///   - spelling: Describes the smallest value in the report.
package func forAll<Value>(
    _ values: Arbitrary<Value>, count: Int, seed: UInt64 = 0, location: SourceLocation = #_sourceLocation,
    spelling: (Value) -> String = { String(reflecting: $0) }, _ law: (Value) async throws -> Void
) async {
    guard let found = await counterexample(values, seeds: LawSettings().seeds(count: count, from: seed), law) else { return }
    Issue.record(
        """
        The law does not hold: \(found.reason)
        for \(String(spelling(found.value).prefix(4_000)))
        (seed \(found.seed), \(found.shrinks) shrinks in \(found.trials) trials; LOCALDATA_SEED=\(found.seed) replays it)
        """, sourceLocation: location)
}

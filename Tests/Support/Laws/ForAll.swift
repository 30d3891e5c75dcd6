import Foundation
package import Testing

/// Why a law does not hold for a value.
package struct Broken: Error, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }
}

/// Fails a law unless something holds. (`#expect` would report every value on the way to the smallest.)
package func hold(_ isTrue: Bool, _ otherwise: @autoclosure () -> String) throws {
    if !isTrue { throw Broken(otherwise()) }
}

/// Fails a law unless two things are the same.
package func same<Part: Equatable>(_ found: Part, _ expected: Part, _ what: @autoclosure () -> String) throws {
    if found != expected { throw Broken("\(what()): found \(found), expected \(expected)") }
}

/// The smallest value that was found for which a law does not hold.
package struct Counterexample<Value: Sendable>: Sendable {
    package let value: Value
    /// The seed of the value that it was shrunk from: ``LOCALDATA_SEED`` replays it.
    package let seed: UInt64
    /// How many steps down the tree led to it.
    package let shrinks: Int
    /// How often the law was asked on the way.
    package let trials: Int
    package let reason: String
}

/// How many values a law is tried with, and which: from the environment.
package struct LawSettings: Sendable {
    /// `LOCALDATA_LAWS`: the factor by which the counts are multiplied.
    package var factor = 1.0
    /// Whether a long search asks for every case.
    package var isLong: Bool { factor >= 100 }
    /// `LOCALDATA_SEED`: the only seed to try.
    package var seed: UInt64?

    package init(_ environment: [String: String] = ProcessInfo.processInfo.environment) {
        factor = environment["LOCALDATA_LAWS"].flatMap(Double.init) ?? 1
        seed = environment["LOCALDATA_SEED"].flatMap { UInt64($0) }
    }

    /// The seeds of a law.
    package func seeds(count: Int, from first: UInt64) -> [UInt64] {
        if let seed { return [seed] }
        return (0..<UInt64(max(1, Double(count) * factor))).map { first &+ $0 }
    }
}

/// Some of many cases, evenly spread: so many in a test, more with `LOCALDATA_LAWS`, and all in a long search.
package func sample<Cases: RandomAccessCollection>(_ cases: Cases, _ count: Int) -> [Cases.Element] {
    let wanted = min(cases.count, Int(Double(count) * max(1, LawSettings().factor)))
    return (0..<wanted).map { cases[cases.index(cases.startIndex, offsetBy: $0 * cases.count / wanted)] }
}

/// Looks for a value that breaks a law, and then for the smallest one below it.
/// - Parameter limit: How often the law is asked at most while shrinking.
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

/// States a law of all values of a kind: the closure throws where it does not hold. A violation is reported once, with the smallest value that was found and the seed
/// that replays it.
/// - Parameters:
///   - count: How many values are tried; `LOCALDATA_LAWS` multiplies it.
///   - seed: The first seed; each value has the next one.
///   - spelling: How the smallest value is shown.
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

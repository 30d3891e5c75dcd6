import Foundation

/// The states before and after an operation, from runs without a fault, and the rules for the result of a run with a
/// fault.
struct Expectation: Sendable {
    let operation: Workplace.Operation
    let before: [String]
    let after: [String]
    /// The names of all files after the runs without a fault.
    let files: Set<String>

    /// Compares the state that a new process found with the rules.
    /// - Parameters:
    ///   - told: The first word of the answer to the operation; nil if the program was killed before it got one.
    ///   - then: The state that the same program read after the operation; nil if it read none.
    ///   - found: The output of the new process.
    /// - Returns: The broken rules, as texts.
    func violations(told: String?, then: [String]?, found: Telling) -> [String] {
        var wrong: [String] = []
        if found.status != 0 { wrong.append("the next program ended with \(found.status)") }
        if let first = found.state("first") {
            if let problem = mismatch(first, told) { wrong.append("the next program reads \(problem)") }
            if let then, then != first { wrong.append("the program itself had read \(then), the next one reads \(first)") }
        } else if operation.manner != .refusing {
            wrong.append("the next program cannot read: \(found["first"] ?? "no answer")")
        }
        if operation.manner != .refusing {
            if let settled = found.state("settled") {
                if let first = found.state("first"), settled != first { wrong.append("a sweep changed \(first) to \(settled)") }
            } else {
                wrong.append("after a sweep nothing can be read: \(found["settled"] ?? "no answer")")
            }
            for word in ["unsettled", "restless"] { if let text = found[word] { wrong.append("the next sweep: \(text)") } }
            for line in found.lines where line.word == "left" { wrong.append("\(line.text) is still in its older place") }
        }
        if !found.isDone("again") { wrong.append("the operation cannot be done again: \(found["again"] ?? "no answer")") }
        if found.state("last") != after { wrong.append("in the end there is \(found["last"] ?? "no answer")") }
        return wrong
    }

    /// Counts the files that a run without a fault would not leave, by their names.
    func leftovers(in root: String) -> [String: Int] {
        Dictionary(grouping: Self.names(in: root)) { $0 }.mapValues(\.count).filter { !files.contains($0.key) }
    }

    /// The part of a state that breaks a rule; nil if there is none.
    private func mismatch(_ state: [String], _ told: String?) -> String? {
        if let told, ["acknowledged", "applied"].contains(told) { return state == after ? nil : "\(state) after `\(told)`" }
        if told == "notApplied", operation.manner == .atomic { return state == before ? nil : "\(state) after `notApplied`" }
        if operation.manner == .atomic { return state == before || state == after ? nil : "\(state): neither before nor after" }
        guard state.count == before.count || state.count == after.count else { return "\(state)" }
        let allowed = Set(before + after)
        let strange = state.filter { !allowed.contains($0) }
        return strange.isEmpty ? nil : "\(strange)"
    }

    /// The names of all files below a folder. Random parts, such as UUIDs, are replaced by a number sign.
    static func names(in root: String) -> [String] {
        let paths = (try? FileManager.default.subpathsOfDirectory(atPath: root)) ?? []
        return paths.map { $0.replacing(/[0-9A-Fa-f]{8,}(-[0-9A-Fa-f]{4,})*/, with: "#") }
    }
}

import Foundation

/// How an operation ends when nothing fails, and what may be found after something did.
struct Expectation: Sendable {
    let operation: Workplace.Operation
    let before: [String]
    let after: [String]
    /// The names of all files in the end.
    let files: Set<String>

    /// What is wrong in what a fresh process found.
    /// - Parameters:
    ///   - told: What the program was told of the operation: the first word of its answer; nil if it was killed before there was one.
    ///   - then: What the program read after it.
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

    /// How often files are there that an undisturbed run does not leave, by their names.
    func leftovers(in root: String) -> [String: Int] {
        Dictionary(grouping: Self.names(in: root)) { $0 }.mapValues(\.count).filter { !files.contains($0.key) }
    }

    /// What a state shows that it must not; nil if it is as it may be.
    private func mismatch(_ state: [String], _ told: String?) -> String? {
        if let told, ["acknowledged", "applied"].contains(told) { return state == after ? nil : "\(state) after `\(told)`" }
        if told == "notApplied", operation.manner == .atomic { return state == before ? nil : "\(state) after `notApplied`" }
        if operation.manner == .atomic { return state == before || state == after ? nil : "\(state): neither before nor after" }
        guard state.count == before.count || state.count == after.count else { return "\(state)" }
        let allowed = Set(before + after)
        let strange = state.filter { !allowed.contains($0) }
        return strange.isEmpty ? nil : "\(strange)"
    }

    /// The names of all files below a folder, with a number sign for what is made up anew each time.
    static func names(in root: String) -> [String] {
        let paths = (try? FileManager.default.subpathsOfDirectory(atPath: root)) ?? []
        return paths.map { $0.replacing(/[0-9A-Fa-f]{8,}(-[0-9A-Fa-f]{4,})*/, with: "#") }
    }
}

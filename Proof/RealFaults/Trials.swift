import Foundation
import TestSupport

/// Runs of one operation: once without a fault, then with a fault at each of its calls.
package struct Trials: Sendable {
    let place: Workplace
    package let operation: Workplace.Operation
    /// The folder with the stores in their state before the operation.
    let base: TemporaryDirectory
    let expectation: Expectation
    /// The calls of the run without a fault: the kind of each, and its path.
    let calls: [String]
    /// The folders after the run without a fault, as paths below the root that begin with a slash.
    let folders: Set<String>

    /// A fault after which a rule was broken.
    package struct Violation: Sendable, CustomStringConvertible {
        package let description: String
    }

    /// The result of a run with a fault.
    package struct Outcome: Sendable {
        /// Whether the run reached the call at which the fault was planned.
        package var hasFired = true
        package var violations: [Violation] = []
        /// How many disks were checked.
        package var disks = 0
        /// How long the program with the fault ran, in seconds.
        package var seconds = 0.0
        /// The fault, and the call at which it occurred.
        package var what = ""
        /// The first word of the answer that the program got.
        package var told: String?

        package init(hasFired: Bool = true, seconds: Double = 0, told: String? = nil) {
            (self.hasFired, self.seconds, self.told) = (hasFired, seconds, told)
        }
    }

    /// Prepares the stores, and does the operation without a fault.
    package init(_ operation: Workplace.Operation, in place: Workplace) async throws {
        (self.place, self.operation) = (place, operation)
        base = try place.makeRoot()
        try await Self.prepare(operation, base.file("root"), place)

        func look(_ root: String) async throws -> Telling {
            let found = try await place.work("check", operation, in: root)
            guard found.isDone("again"), found["unsettled"] == nil, let last = found.state("last"), !last.isEmpty else {
                throw ProgramFailure("\(operation.name), undisturbed: \(found.text)")
            }
            return found
        }
        // A check changes the stores that it reads, so each state has separate stores.
        let (first, second) = (try place.makeRoot(), try place.makeRoot())
        let (untouched, done) = (first.file("root"), second.file("root"))
        try await Self.begin(operation, base, at: untouched, place)
        let before = try await look(untouched)
        try await Self.begin(operation, base, at: done, place)
        let log = base.file("calls")
        let acted = try await place.work("act", operation, in: done, plan: "count", log: log)
        guard acted["told"] == "acknowledged" else { throw ProgramFailure("\(operation.name), undisturbed: \(acted.text)") }
        folders = Self.folders(in: done)
        let after = try await look(done)
        calls = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").map(String.init)
        expectation = Expectation(
            operation: operation, before: before.state("first") ?? [], after: after.state("last") ?? [],
            files: Set(Expectation.names(in: done) + Expectation.names(in: untouched)))
        if let wrong = expectation.violations(told: "acknowledged", then: nil, found: after).first {
            throw ProgramFailure("\(operation.name), undisturbed: \(wrong)")
        }
    }

    private static func folders(in root: String) -> Set<String> {
        let paths = (try? FileManager.default.subpathsOfDirectory(atPath: root)) ?? []
        var isFolder: ObjCBool = false
        return Set(
            paths.filter { FileManager.default.fileExists(atPath: "\(root)/\($0)", isDirectory: &isFolder) && isFolder.boolValue }
                .map { "/\($0)" })
    }

    private static func prepare(_ operation: Workplace.Operation, _ root: String, _ place: Workplace) async throws {
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        let prepared = try await place.work("prepare", operation, in: root)
        guard prepared["prepared"] != nil else { throw ProgramFailure("\(operation.name) cannot be prepared: \(prepared.text)") }
    }

    /// Creates the stores in their state before the operation.
    private static func begin(
        _ operation: Workplace.Operation, _ base: TemporaryDirectory, at root: String, _ place: Workplace
    ) async throws {
        if operation.usesKeyring { try await prepare(operation, root, place) } else { try copyFolder(base.file("root"), to: root) }
    }

    /// Creates the stores in their state before the operation.
    func begin(at root: String) async throws { try await Self.begin(operation, base, at: root, place) }

    /// How many of the calls can change what is on the disk.
    package var changes: Int { changeKinds.count }

    private var changeKinds: [String] { kinds.filter(["create", "write", "sync", "name", "resize", "mode", "send"].contains) }

    private var kinds: [String] { calls.map { call in String(call.prefix { $0 != " " }) } }

    /// A kill before each change and after the last.
    package var kills: [Fault] { (1...changes + 1).map { .kill($0) } }

    /// A kill in the middle of each write.
    package var tears: [Fault] { changeKinds.enumerated().compactMap { $1 == "write" ? .tear($0 + 1) : nil } }

    /// A failure of every call, in each way in which the call can fail.
    package var failures: [Fault] {
        var faults: [Fault] = []
        for (index, kind) in kinds.enumerated() {
            for error in CallError.all where error.kinds.contains(kind) {
                faults += error.spans.map { .failure(index + 1, error, $0) }
            }
            if kind == "read" || kind == "write" { faults.append(.short(index + 1)) }
        }
        return faults
    }

    /// Does a piece of work for every element, several at a time, until there are too many violations.
    package static func outcomes<Element: Sendable>(
        of elements: [Element], width: Int = 3, limit: Int = .max, _ work: @escaping @Sendable (Element) async throws -> Outcome
    ) async throws -> [Outcome] {
        try await withThrowingTaskGroup(of: Outcome.self) { group in
            var rest = elements[...]
            var outcomes: [Outcome] = []
            for element in rest.prefix(width) { group.addTask { try await work(element) } }
            rest = rest.dropFirst(width)
            for try await outcome in group {
                outcomes.append(outcome)
                if outcomes.count(where: { !$0.violations.isEmpty }) >= limit { continue }
                if let element = rest.popFirst() { group.addTask { try await work(element) } }
            }
            return outcomes
        }
    }

    /// Checks whether a fault leaves more files each time it occurs. The next write or start should remove such files.
    /// - Returns: The name of a file that is left three times after three such faults; nil if there is none.
    private func growing(_ fault: Fault) async throws -> String? {
        let folder = try place.makeRoot()
        let root = folder.file("root")
        try await begin(at: root)
        for _ in 0..<3 {
            _ = try await place.work("act", operation, in: root, ending: fault.ending, plan: fault.plan, log: folder.file("log"))
        }
        _ = try await place.work("check", operation, in: root)
        return expectation.leftovers(in: root).first { $0.value >= 3 }?.key
    }

    /// Does the operation with a fault, and checks the result with a new process.
    package func run(_ fault: Fault) async throws -> Outcome {
        let folder = try place.makeRoot()
        let (root, log) = (folder.file("root"), folder.file("log"))
        try await begin(at: root)
        let acted = try await place.work("act", operation, in: root, ending: fault.ending, plan: fault.plan, log: log)
        let fired = (try? String(contentsOfFile: log, encoding: .utf8))?.split(separator: "\n").first.map(String.init)
        var outcome = Outcome(hasFired: fired != nil, seconds: acted.seconds)
        // If the fault was lifted, the program repeated the operation. Then the second answer counts, unless nothing
        // was left to do.
        let answer = acted["again"] == "nothing" ? acted["told"] : acted["again"] ?? acted["told"]
        outcome.what = "\(fault) (\(fired ?? "not reached"))"
        outcome.told = answer.map { String($0.prefix { $0 != " " }) }
        var wrong: [String] = []
        if let answer, answer.hasPrefix("untyped") { wrong.append("an error without a type: \(answer)") }
        if acted["again"] != nil, !acted.isDone("again") {
            wrong.append("the same program cannot go on: \(acted["again"] ?? "")")
        }
        // If the fault was a kill and the run reached it, SIGKILL ended the program. Otherwise the program must have
        // ended normally.
        let end = outcome.hasFired && fault.kills ? SIGKILL : 0
        if acted.status != end { wrong.append("the program ended with \(acted.status)") }
        let found = try await place.work("check", operation, in: root)
        wrong += expectation.violations(told: outcome.told, then: acted.state("then"), found: found)
        if !expectation.leftovers(in: root).isEmpty, let growing = try await growing(fault) {
            wrong.append("each such end leaves \(growing)")
        }
        if !wrong.isEmpty {
            let text = """
                \(operation.name): \(outcome.what): \(wrong.joined(separator: "; "))
                      \(acted.text)
                      -- the next program:
                      \(found.text)
                """
            outcome.violations.append(Violation(description: text))
        }
        return outcome
    }
}

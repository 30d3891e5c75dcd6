import TestSupport

/// The calls of several processes on shared values, from their logs. The history checks whether one order of the calls
/// explains all answers.
///
/// A worker writes `begin TIME NUMBER VERB KEY ARGUMENT` before a call, and `end TIME NUMBER ANSWER` after it. A call
/// without an end was in progress when the worker was killed. An answer is `ok` and a value, or the outcome and the
/// code of an error; `-` means that there is no value.
package struct ProcessHistory: Sendable {
    /// The model of one shared value.
    struct Cell: SequentialModel {
        enum Action: Hashable, Sendable {
            case read(String?)
            case write(String?)
            /// Adds one; an absent value counts as zero. The sum is nil if the call got no answer.
            case add(sum: Int?)
        }

        var value: String?

        func after(_ action: Action) -> [Cell] {
            switch action {
            case .read(let seen): return seen == value ? [self] : []
            case .write(let written): return [Cell(value: written)]
            case .add(let told):
                guard let number = value == nil ? 0 : value.flatMap({ Int($0) }), told == nil || told == number + 1 else { return [] }
                return [Cell(value: "\(number + 1)")]
            }
        }
    }

    struct Call: Sendable {
        let verb: String
        let key: String
        let argument: String
        let begin: Int
        var end = Int.max
        /// The answer; nil if the worker was killed before it.
        var answer: [String]?

        /// Whether the call certainly took effect: it succeeded, or its error says that the change was made.
        var isDone: Bool { ["ok", "applied"].contains(answer?.first) }
        /// Whether it is unknown if the call took effect. Its change may even be made later.
        var isOpen: Bool { answer == nil || answer?.first == "unknown" }
        /// The value that the call returned.
        var value: String? {
            guard let answer, answer.first == "ok", answer.count > 1, answer[1] != "-" else { return nil }
            return answer[1]
        }
    }

    private(set) var calls: [Call] = []

    package init() {}

    /// Adds the calls of a worker's log.
    package mutating func add(_ log: String) {
        var positions: [Substring: Int] = [:]
        // The last line is torn if no line break follows it.
        for line in log.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
            let words = line.split(separator: " ")
            guard words.count > 3, let time = Int(words[1]) else { continue }
            if words[0] == "begin", words.count > 4 {
                positions[words[2]] = calls.count
                calls.append(Call(verb: "\(words[3])", key: "\(words[4])", argument: words.count > 5 ? "\(words[5])" : "", begin: time))
            } else if words[0] == "end", let position = positions[words[2]] {
                calls[position].end = time
                calls[position].answer = words[3...].map(String.init)
            }
        }
    }

    // MARK: Figures

    package var count: Int { calls.count }
    /// How many calls were in progress when their worker was killed.
    package var unanswered: Int { calls.count { $0.answer == nil } }
    /// How often calls ended in an error, by outcome and code.
    package var errors: [String: Int] {
        Dictionary(grouping: calls.compactMap(\.answer).filter { $0.first != "ok" }) { $0.prefix(2).joined(separator: " ") }.mapValues(
            \.count)
    }

    // MARK: What is wrong

    /// The answers that no order of the calls explains, and unexpected errors.
    /// - Parameter expected: The codes of errors that callers may get.
    package func violations(expected: Set<String> = ["timedOut"]) -> [String] {
        var wrong = errors.keys.filter { error in !expected.contains { error.hasSuffix(" \($0)") } }.sorted().map { "an answer was: \($0)" }
        for (key, calls) in Dictionary(grouping: calls.filter { $0.key != "-" }, by: \.key).sorted(by: { $0.key < $1.key })
        where !Self.isRolling(key) {
            if let problem = unexplained(key, calls) { wrong.append(problem) }
            if let problem = miscounted(key, calls) { wrong.append(problem) }
        }
        return wrong + rolling()
    }

    /// Describes the first call of a key whose answer no order of the calls explains; nil if there is none.
    private func unexplained(_ key: String, _ calls: [Call]) -> String? {
        let seen = Set(calls.compactMap(\.value))
        var history = CallHistory<Cell>()
        for call in calls {
            guard call.isDone || call.isOpen else { continue }
            let end = call.isOpen ? Int.max : call.end
            switch call.verb {
            case "get": if call.isDone { history.add(.read(call.value), call.begin, end) }
            // A write without an answer, whose value no call read, is left out, because it cannot explain any answer.
            case "set": if call.isDone || seen.contains(call.argument) { history.add(.write(call.argument), call.begin, end) }
            case "remove": history.add(.write(nil), call.begin, end)
            default: history.add(.add(sum: call.value.flatMap { Int($0) }), call.begin, end)
            }
        }
        JudgedHistories.add(history, from: Cell(value: nil))
        guard let call = history.firstUnexplained(from: Cell(value: nil)) else { return nil }
        let near = calls.filter {
            $0.begin <= call.end && ($0.isOpen || $0.end >= call.begin - 50_000_000) && $0.begin > call.begin - 2_000_000_000
        }
        let context = near.suffix(12).map {
            "\($0.begin)-\($0.isOpen ? "?" : "\($0.end)") \($0.verb) \($0.argument) \($0.answer ?? ["killed"])"
        }
        return "\(key): no order explains \(call.action) at \(call.begin)-\(call.end):\n      " + context.joined(separator: "\n      ")
    }

    /// Checks a counter. It must include every acknowledged increment, and may include increments with an unknown
    /// outcome.
    private func miscounted(_ key: String, _ calls: [Call]) -> String? {
        guard let count = counters[key] else { return nil }
        let isExact = (count.acknowledged...count.acknowledged + count.open).contains(count.last)
        return isExact ? nil : "\(key) is \(count.last) after \(count.acknowledged) acknowledged and \(count.open) open increments"
    }

    /// For each counter: how many increments were acknowledged, how many have an unknown outcome, and the last value
    /// that was read.
    package var counters: [String: (acknowledged: Int, open: Int, last: Int)] {
        var counters: [String: (acknowledged: Int, open: Int, last: Int)] = [:]
        for (key, calls) in Dictionary(grouping: calls, by: \.key) {
            let additions = calls.filter { $0.verb == "add" }
            guard !additions.isEmpty, let last = calls.filter({ $0.verb == "get" && $0.isDone }).max(by: { $0.begin < $1.begin }) else {
                continue
            }
            counters[key] = (additions.count(where: \.isDone), additions.count(where: \.isOpen), last.value.flatMap { Int($0) } ?? 0)
        }
        return counters
    }

    // MARK: Two releases

    private static func isRolling(_ key: String) -> Bool { key.hasSuffix("rolling") }

    /// Checks the value that two releases of a program share in a release window. The newer release writes the
    /// destination, and later updates the copy (the mirror) in the legacy location, which the older release uses. So
    /// the releases need not read the same value at each moment. The rules are:
    /// - No read returns a value that was not written.
    /// - At the end, both releases read the same value, the final value.
    /// - After the write of the final value, the release that made it got no acknowledgement for a later write.
    private func rolling() -> [String] {
        let calls = calls.filter { Self.isRolling($0.key) }
        let writes = calls.filter { $0.verb == "set" && ($0.isDone || $0.isOpen) }
        var wrong: [String] = []
        for read in calls where read.verb == "get" {
            if let value = read.value, !writes.contains(where: { $0.argument == value && $0.begin <= read.end }) {
                wrong.append("\(read.key): \(value) was read, and nobody had written it")
            }
        }
        let ends = Dictionary(grouping: calls.filter { $0.verb == "get" && $0.isDone }, by: \.key).compactMapValues {
            $0.max { $0.begin < $1.begin }
        }
        if Set(ends.values.map(\.value)).count > 1 { wrong.append("the releases read \(ends.mapValues(\.value)) in the end") }
        for end in ends.values {
            if let write = writes.first(where: { $0.argument == end.value }) {
                if let later = writes.first(where: { $0.isDone && $0.key == write.key && write.isDone && $0.begin > write.end }) {
                    wrong.append("\(end.key): \(write.argument) is there in the end, and \(later.argument) was acknowledged after it")
                }
            } else if !writes.isEmpty {
                wrong.append("\(end.key) has \(end.value ?? "nothing") in the end")
            }
        }
        return wrong
    }

    // MARK: A foreign writer

    /// Counts the acknowledged sets of values that only one worker uses. Also counts how many of these sets were lost,
    /// and how many another program replaced.
    package func fates(foreignPrefix: String) -> (acknowledged: Int, lost: Int, replaced: Int) {
        var fates = (acknowledged: 0, lost: 0, replaced: 0)
        for calls in Dictionary(grouping: calls.filter { $0.key.hasPrefix("own-") }, by: \.key).values {
            var last: Call?
            for call in calls.sorted(by: { $0.begin < $1.begin }) {
                if call.verb == "set" {
                    last = call.isDone ? call : nil
                    if call.isDone { fates.acknowledged += 1 }
                } else if call.isDone, let written = last, call.value != written.argument {
                    if call.value?.hasPrefix(foreignPrefix) == true { fates.replaced += 1 } else { fates.lost += 1 }
                    last = nil
                }
            }
        }
        return fates
    }
}

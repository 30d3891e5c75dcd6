extension Plan {
    /// The plan in words.
    package var text: String {
        let begins = zip(beginnings.indices, beginnings).map {
            "\($0): \($1.rawValue), older \(older[2 * $0].rawValue)/\(older[2 * $0 + 1].rawValue)"
        }
        let head =
            "\(kind), \(policy), \(count) of it\(isWary ? ", wary" : "")\(tears ? ", tears" : "")\(haste > 0 ? ", haste \(haste)" : ""); \(begins.joined(separator: "; "))"
        let parts = rounds.enumerated().map { number, round in
            let programs = round.programs.enumerated().map { index, program in
                let calls = program.callers.map { $0.map { "\($0.verb) \($0.key)" }.joined(separator: ", ") }.joined(separator: " | ")
                return
                    "  p\(number).\(index)\(program.isOlder ? " (older)" : "")\(program.isHeldBack ? " (held back)" : "")\(program.isWatched ? " (watched)" : ""): \(calls)"
            }
            return (programs + round.events.map { "  after \($0.step) steps: \($0.accident)" }).joined(separator: "\n")
        }
        return ([head] + parts).joined(separator: "\n")
    }
}

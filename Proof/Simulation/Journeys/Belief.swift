/// The values that the newest release may find in a slot: that of its last change, and those that others have written since.
struct Belief: Sendable {
    /// A change of a slot. The text of a removal is nil.
    struct Writing: Sendable {
        var text: String?
        /// By the wall clock; nil if the value never expires.
        var expiry: Double?
        /// Whether the value may also expire at a time that is not known.
        var mayExpire = false
        /// Whether the change was certainly made.
        var isSure = true

        /// The texts from which a conflict policy made the text.
        var parts: [String] { text.map(Belief.parts) ?? [] }
    }

    /// The last change that the newest release has made; nil if it has not made any.
    private(set) var certain: Writing?
    /// Changes that the newest release has tried since, with an unknown outcome.
    private(set) var possible: [Writing] = []
    /// Changes by earlier releases and other programs since.
    private(set) var others: [Writing] = []
    /// Whether anything may be stored, until the next change by the newest release.
    private(set) var isVague = false
    /// Whether anything may be stored from now on, because of a known limit.
    private(set) var isLimited = false

    static func parts(of text: String) -> [String] { text.split(separator: "|").map(String.init).filter { $0 != nothing } }
    static let nothing = "none"

    /// Combines the value of the destination with that of a legacy location.
    static func merged(_ mine: String?, _ other: String) -> String { "\(mine ?? nothing)|\(other)" }

    mutating func make(_ writing: Writing) { (certain, possible, others, isVague) = (writing, [], [], false) }

    mutating func perhaps(_ writing: Writing) { possible.append(writing) }
    mutating func other(_ writing: Writing) { others.append(writing) }
    mutating func blur() { isVague = true }
    mutating func limit() { isLimited = true }

    /// Says why an answer is wrong; nil if it is right.
    /// - Parameters:
    ///   - begin: The time at which the call began, by the wall clock.
    ///   - end: The time at which it ended.
    func objection(to answer: String?, from begin: Double, to end: Double) -> String? {
        if isVague || isLimited { return nil }
        let all = (certain.map { [$0] } ?? []) + possible + others
        guard let answer else {
            if (possible + others).contains(where: { $0.text == nil }) { return nil }
            if certain?.text == nil, certain != nil || !others.contains(where: \.isSure) { return nil }
            if all.contains(where: { $0.mayExpire || ($0.expiry ?? .infinity) <= end }) { return nil }
            return "a value is lost: \(shown)"
        }
        let parts = Self.parts(of: answer)
        if Set(parts).count < parts.count { return "\(answer) contains a value twice: \(shown)" }
        let alive = all.filter { ($0.expiry ?? .infinity) > begin }
        let known = Set(alive.flatMap(\.parts))
        if let wrong = parts.first(where: { !known.contains($0) }) {
            return "\(answer) contains \(wrong), which was replaced, removed or has expired: \(shown)"
        }
        if possible.isEmpty, others.isEmpty, answer != certain?.text { return "\(answer) is wrong: \(shown)" }
        return nil
    }

    /// Notes a right answer. A value that a conflict policy took replaces the one before.
    /// - Parameter isInWindow: Whether the value may also be a change by an earlier release, whose time of expiry it keeps.
    mutating func saw(_ answer: String?, at end: Double, isInWindow: Bool) {
        guard !isVague, !isLimited, let answer, possible.isEmpty, let certain, answer != certain.text else { return }
        let parts = Set(Self.parts(of: answer))
        let taken = others.filter { !parts.isDisjoint(with: $0.parts) }
        guard !taken.isEmpty else { return }
        let sources = taken.compactMap(\.expiry).min()
        var expiry = sources
        // "A conflict does not extend a lifetime" in Docs/Decisions/Expiry.md.
        if certain.text != nil, !parts.isDisjoint(with: certain.parts) { expiry = [sources, certain.expiry].compactMap(\.self).min() }
        let isAlive = certain.expiry.map { $0 > end } ?? true
        // Without a conflict, because no release had moved the value before, the time of expiry is that of the new value.
        let mayExpire = isInWindow || sources == nil && certain.expiry != nil
        self.certain = Writing(
            text: answer, expiry: isAlive && !isInWindow ? expiry : sources,
            mayExpire: mayExpire || ([certain] + taken).contains(where: \.mayExpire))
        others.removeAll { !$0.parts.isEmpty && Set($0.parts).isSubset(of: parts) }
    }

    var shown: String {
        func shown(_ writing: Writing) -> String { "\(writing.text ?? "nothing")\(writing.expiry.map { " until \(Int($0))" } ?? "")" }
        let certain = certain.map(shown) ?? "nothing yet"
        return "expected \(certain), perhaps \(possible.map(shown)), or from others \(others.map(shown))"
    }
}

/// The steps of the library that the history does not record: migrations, sweeps (migrations of all keys), and writes
/// of mirrors. A mirror is the copy of the value that the library writes to the legacy location for version 1.
extension WindowModel {
    /// The states that can be reached without a recorded call.
    /// - Parameters:
    ///   - decides: Whether a sweep is running. Only a sweep decides conflicts.
    ///   - ends: Whether a program is running for which the release window is over.
    func reachable(decides: Bool, ends: Bool) -> [WindowModel] {
        var states: Set<WindowModel> = [self]
        var ordered = [self]
        var open = [self]
        while let state = open.popLast() {
            for next in state.moves(decides: decides, ends: ends) where states.insert(next).inserted {
                ordered.append(next)
                open.append(next)
            }
        }
        return ordered
    }

    private func moves(decides: Bool, ends: Bool) -> [WindowModel] {
        guard isActive else { return [] }
        guard isSettled else { return older == nil ? [] : [folded()] + (ends ? [folded().takenOver()] : []) }
        if isReleased { return (decides ? decided() : []) + cleared() + lateMirrors() }
        var moves: [WindowModel] = []
        // A program for which the window is over may remove the legacy value, as in any migration. It may do so if no
        // program with an open window has written the destination.
        if ends, !isKept, standing == .behind { moves += cleared() }
        switch standing {
        case .inStep: if ends { moves.append(released()) }
        case .unmarked:
            moves.append(with(.inStep))
            if ends { moves.append(released()) }
        case .behind:
            moves += mirrored() + lateMirrors()
            if ends { moves += [released()] + (value == nil ? cleared() : []) }
        case .ahead: moves.append(folded())
        case .conflict: if decides { moves += decided() }
        }
        return moves
    }

    private func with(_ standing: Standing) -> WindowModel {
        var next = self
        next.standing = standing
        return next
    }

    // MARK: The key's place

    /// Remembers the state of the destination, which the next power cut may bring back.
    private mutating func rememberValue() {
        guard cutsLeft > 0 else { return }
        undo.insert(Past(value: value, isSettled: isSettled, isReleased: isReleased, isKept: isKept, standing: standing))
    }

    /// The state after the library has written a change of version 1 to the destination. It had made this change
    /// durable before.
    private func folded() -> WindowModel {
        var next = self
        next.isUnnamed = false
        next.rememberValue()
        next.value = older.map { rules.up($0, over: value) }
        // If version 1 replaced a value, it had read this value, so the value need not be kept. If version 1 removed
        // it, the value must be in quarantine.
        if older == nil, let value { next.owed.formUnion(Marks.numbers(in: Array(value.utf8))) }
        next.isSettled = true
        next.isKept = true
        next.standing = .inStep
        next.olderUndo = []
        return next
    }

    /// The state after a program for which the window is over moved the value. No program with an open window has
    /// written the destination, so this is an ordinary migration.
    private func takenOver() -> WindowModel {
        var next = with(.behind)
        next.isKept = false
        return next
    }

    /// The states after a sweep decided a conflict.
    private func decided() -> [WindowModel] {
        guard standing == .conflict else { return [] }
        if older == value.map(rules.down) { return [with(.behind)] }
        var kept = self
        if let older { kept.owed.formUnion(Marks.numbers(in: Array(older.utf8))) }
        kept.standing = .behind
        guard let older else {
            // The removal of the legacy value wins over the value of the destination only with the policy `sourceWins`,
            // and only while the window is open.
            return rules.policy == .sourceWins && !isReleased ? [replaced(by: nil)] : [kept]
        }
        let replaced: [WindowModel] =
            switch rules.policy {
            case .destinationWins: []
            case .sourceWins: [replaced(by: rules.up(older, over: value))]
            case .merge: [replaced(by: ValueModel.resolved(value, rules.up(older, over: value)))]
            }
        // A removal in the destination may win with any policy. It always wins over a value that a program without
        // LocalData wrote.
        return rules.policy == .destinationWins || value == nil ? [kept] + replaced : replaced
    }

    /// The state after a sweep read the legacy location, to decide a conflict; none if it has nothing to decide.
    func taken() -> [WindowModel] {
        guard rules.policy != .destinationWins, isSettled, standing == .conflict, let older else { return [] }
        var next = self
        next.inHand.insert(older)
        return [next]
    }

    /// The states after a sweep decided about a content of the legacy location that version 1 replaced during the sweep.
    /// Two stores have no common transaction, so the conflict with the later content remains. A content that version 1
    /// removed never returns.
    func decidedLate() -> [WindowModel] {
        guard isActive, isSettled, standing == .conflict, older != nil else { return [] }
        return inHand.filter { $0 != older }.sorted().map { content in
            let new = rules.up(content, over: value)
            return replaced(by: rules.policy == .merge ? ValueModel.resolved(value, new) : new).with(.conflict)
        }
    }

    /// The state after a read found the value in the legacy location; none if the destination has a record.
    func carrying() -> [WindowModel] {
        guard isActive, !isSettled, let older else { return [] }
        var next = self
        next.carried.insert(rules.up(older, over: nil))
        return [next]
    }

    /// The state after a read wrote a value to the destination that version 1 has changed since; none if no read carries it.
    func arrived(_ new: String) -> [WindowModel] {
        guard carried.contains(new), older.map({ rules.up($0, over: nil) }) != new else { return [] }
        var next = self
        next.carried.remove(new)
        next.rememberValue()
        (next.value, next.isSettled, next.isKept, next.standing) = (new, true, true, .ahead)
        return [next]
    }

    private func replaced(by new: String?) -> WindowModel {
        var next = self
        next.isUnnamed = false
        next.rememberValue()
        if rules.policy == .sourceWins, let value { next.owed.formUnion(Marks.numbers(in: Array(value.utf8))) }
        next.value = new
        next.standing = .behind
        next.olderUndo = []
        return next
    }

    /// The state after the record in the destination was marked as released, which ends the window for all programs.
    private func released() -> WindowModel {
        var next = self
        next.rememberValue()
        if standing == .behind { next.late.insert(value) }
        next.isReleased = true
        next.standing = .behind
        return next
    }

    /// The states after a program of version 2 or later changed the destination.
    /// - Parameter isBlind: Whether the program did not see the content of the legacy location.
    func written(_ new: String?, isBlind: Bool, isAcknowledged: Bool, ends: Bool) -> [WindowModel] {
        var next = self
        if isAcknowledged { next.undo = [] } else { next.rememberValue() }
        if isSettled, !isReleased, standing != .inStep { next.late.insert(value) }
        next.value = new
        next.isSettled = true
        if !ends { next.isKept = true }
        let isNews = isSettled ? standing == .ahead || standing == .conflict : older != nil || isEmptied
        next.isEmptied = false
        next.isUnnamed = isUnnamed || isBlind && rules.policy != .destinationWins
        next.standing = isBlind && isNews ? .conflict : .behind
        if !isBlind, isNews {
            next.olderUndo = []
        } else {
            next.olderUndo = Set(
                olderUndo.map { past in
                    let isNews = past.standing == .ahead || past.standing == .conflict
                    return OlderPast(older: past.older, standing: isBlind && isNews ? .conflict : .behind)
                })
        }
        // The record in the destination may already say that the legacy location is empty. Then an empty location is no
        // conflict.
        guard next.standing == .conflict, older == nil else { return [next] }
        return [next, next.with(.behind)]
    }

    // MARK: The older place

    private mutating func rememberOlder() {
        guard cutsLeft > 0 else { return }
        olderUndo.insert(OlderPast(older: older, standing: standing))
    }

    /// The states after the mirror was written: the legacy location has the value of the destination. The record in the
    /// destination was durable before.
    private func mirrored() -> [WindowModel] {
        var next = self
        next.isUnnamed = false
        next.rememberOlder()
        next.undo = []
        next.older = value.map(rules.down)
        next.standing = .inStep
        next.isKept = true
        next.late = []
        return rules.isApart ? [next, next.with(.unmarked)] : [next]
    }

    /// The states after the mirror of an earlier value was written with a delay. No program may have changed the legacy
    /// location since that earlier value was replaced.
    private func lateMirrors() -> [WindowModel] {
        guard standing == .behind else { return [] }
        return late.sorted { ($0 ?? "") < ($1 ?? "") }.map { value in
            var next = self
            next.rememberOlder()
            next.late.remove(value)
            next.older = value.map(rules.down)
            return next
        }
    }

    /// The state after the library removed the value in the legacy location, which the destination has replaced.
    private func cleared() -> [WindowModel] {
        guard standing == .behind, older != nil else { return [] }
        var next = self
        next.rememberOlder()
        next.undo = []
        next.older = nil
        return [next]
    }

    /// The states after version 1, or a program without LocalData, changed the legacy location.
    func writtenOlder(_ new: String?, isAcknowledged: Bool, isBare: Bool, isRepeated: Bool) -> [WindowModel] {
        var next = self
        if isAcknowledged { next.olderUndo = [] } else { next.rememberOlder() }
        next.older = new
        next.isEmptied = !isSettled && new == nil && (older != nil || isEmptied)
        if isSettled { next.standing = Self.overwritten(standing, isReleased: isReleased) }
        next.undo = Set(
            undo.map { past in
                var past = past
                if past.isSettled { past.standing = Self.overwritten(past.standing, isReleased: past.isReleased) }
                return past
            })
        var states = [next]
        // Removing an absent value may change nothing.
        if new == nil, older == nil { states.append(self) }
        guard isSettled else { return states }
        // A location that was emptied again cannot be distinguished from one that stayed empty.
        if new == nil, isReleased || standing == .behind || standing == .conflict { states.append(next.with(.behind)) }
        if isUnnamed, let new { states.append(next.seen(new)) }
        if isBare, let new {
            // The library identifies a value without a revision by its content. If the content equals the mirror or an
            // earlier content, the library may take it for one that it has already seen.
            if new == value.map(rules.down) { states.append(next.with(.behind)) }
            if isRepeated, standing != .inStep { states.append(next.seen(new)) }
        }
        return states
    }

    /// The state in which the library takes the content of the legacy location for one that the destination has replaced.
    /// The content must be in quarantine.
    private func seen(_ content: String) -> WindowModel {
        var known = with(.behind)
        known.owed.formUnion(Marks.numbers(in: Array(content.utf8)))
        return known
    }

    private static func overwritten(_ standing: Standing, isReleased: Bool) -> Standing {
        !isReleased && (standing == .inStep || standing == .ahead) ? .ahead : .conflict
    }

    // MARK: Power cuts

    /// The states after a power cut. Each change that was not durable may be kept or lost, in both locations.
    func cut() -> [WindowModel] {
        var kept = self
        (kept.undo, kept.olderUndo, kept.late, kept.isActive) = ([], [], [], false)
        (kept.inHand, kept.carried) = ([], [])
        kept.cutsLeft -= 1
        var states = [kept]
        // The mark is a tombstone that names the mirrored record. If it is committed after the mirror, a power cut may
        // lose only the mark.
        if rules.isApart, standing == .inStep { states.append(kept.with(.unmarked)) }
        if rules.isApart, standing == .ahead { states.append(kept.with(.conflict)) }
        func back(_ past: Past) -> WindowModel {
            var next = kept
            (next.value, next.isSettled, next.isReleased, next.isKept) = (past.value, past.isSettled, past.isReleased, past.isKept)
            return next.with(past.standing)
        }
        states += undo.map(back)
        for past in olderUndo {
            var next = kept
            next.older = past.older
            states.append(next.with(past.standing))
            // If both locations fall back to an earlier state, every relation between them is possible.
            for place in undo {
                var both = back(place)
                both.older = past.older
                states += [.inStep, .behind, .ahead, .conflict].map { both.with($0) }
            }
        }
        return states
    }
}

extension WindowModel.Rules {
    /// The second part of a value that version 1 wrote. Version 1 knows only the first part.
    static let nothingMore = "-"

    /// A value of two parts, as a text.
    static func text(_ text: String, _ more: String) -> String { "\(text)/\(more)" }
    static func parts(of text: String) -> (text: String, more: String) {
        let parts = text.split(separator: "/", maxSplits: 1).map(String.init)
        return (parts.first ?? "", parts.count > 1 ? parts[1] : nothingMore)
    }

    /// The part of a value that version 1 reads.
    func down(_ value: String) -> String { isEnriched ? Self.parts(of: value).text : value }

    /// The new value for a value that version 1 wrote.
    func up(_ older: String, over value: String?) -> String {
        guard isEnriched else { return older }
        return Self.text(older, value.map { Self.parts(of: $0).more } ?? Self.nothingMore)
    }
}

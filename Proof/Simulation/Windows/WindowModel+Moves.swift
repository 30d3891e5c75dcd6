/// What becomes of a value by itself: programs bring the two places together at moments of which nothing is written down.
extension WindowModel {
    /// The states that can have come about.
    /// - Parameters:
    ///   - decides: Whether a sweep is at work, which decides conflicts.
    ///   - ends: Whether a program is at work for which the window is over.
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
        // Where the window never was, its end is an ordinary migration.
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

    /// What the key's place holds may come back with the next power cut.
    private mutating func rememberValue() {
        guard cutsLeft > 0 else { return }
        undo.insert(Past(value: value, isSettled: isSettled, isReleased: isReleased, isKept: isKept, standing: standing))
    }

    /// What version 1 wrote is in the key's place. It was made durable before.
    private func folded() -> WindowModel {
        var next = self
        next.rememberValue()
        next.value = older.map { rules.up($0, over: value) }
        // What version 1 wrote over, it knew; what it removed is kept.
        if older == nil, let value { next.owed.formUnion(Marks.numbers(in: Array(value.utf8))) }
        next.isSettled = true
        next.isKept = true
        next.standing = .inStep
        next.olderUndo = []
        return next
    }

    /// The same by a program for which the window is over: an ordinary migration, as long as the window never was.
    private func takenOver() -> WindowModel {
        var next = with(.behind)
        next.isKept = false
        return next
    }

    /// A sweep decided a conflict.
    private func decided() -> [WindowModel] {
        guard standing == .conflict else { return [] }
        if older == value.map(rules.down) { return [with(.behind)] }
        var kept = self
        if let older { kept.owed.formUnion(Marks.numbers(in: Array(older.utf8))) }
        kept.standing = .behind
        guard let older else {
            // Nothing wins only where the older place does, and while the window is open.
            return rules.policy == .sourceWins && !isReleased ? [replaced(by: nil)] : [kept]
        }
        let replaced: [WindowModel] =
            switch rules.policy {
            case .destinationWins: []
            case .sourceWins: [replaced(by: rules.up(older, over: value))]
            case .merge: [replaced(by: ValueModel.resolved(value, rules.up(older, over: value)))]
            }
        // Over a removal, what another program wrote never wins.
        return rules.policy == .destinationWins || value == nil ? [kept] + replaced : replaced
    }

    private func replaced(by new: String?) -> WindowModel {
        var next = self
        next.rememberValue()
        if rules.policy == .sourceWins, let value { next.owed.formUnion(Marks.numbers(in: Array(value.utf8))) }
        next.value = new
        next.standing = .behind
        next.olderUndo = []
        return next
    }

    /// The key's place says that the window is over.
    private func released() -> WindowModel {
        var next = self
        next.rememberValue()
        if standing == .behind { next.late.insert(value) }
        next.isReleased = true
        next.standing = .behind
        return next
    }

    /// The states after a change by a program that knows the key's place.
    /// - Parameter isBlind: Whether it did not see what stands in the older place.
    func written(_ new: String?, isBlind: Bool, isAcknowledged: Bool, ends: Bool) -> [WindowModel] {
        var next = self
        if isAcknowledged { next.undo = [] } else { next.rememberValue() }
        if isSettled, !isReleased, standing != .inStep { next.late.insert(value) }
        next.value = new
        next.isSettled = true
        if !ends { next.isKept = true }
        let isNews = isSettled ? standing == .ahead || standing == .conflict : older != nil
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
        // That the older place is empty may be known from before.
        guard next.standing == .conflict, older == nil else { return [next] }
        return [next, next.with(.behind)]
    }

    // MARK: The older place

    private mutating func rememberOlder() {
        guard cutsLeft > 0 else { return }
        olderUndo.insert(OlderPast(older: older, standing: standing))
    }

    /// The older place holds what the key's place does, whose record is durable.
    private func mirrored() -> [WindowModel] {
        var next = self
        next.rememberOlder()
        next.undo = []
        next.older = value.map(rules.down)
        next.standing = .inStep
        next.isKept = true
        next.late = []
        return rules.isApart ? [next, next.with(.unmarked)] : [next]
    }

    /// A mirror of an earlier value comes: nobody has written the older place since that value was.
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

    /// What the older place holds is superseded, and goes.
    private func cleared() -> [WindowModel] {
        guard standing == .behind, older != nil else { return [] }
        var next = self
        next.rememberOlder()
        next.undo = []
        next.older = nil
        return [next]
    }

    /// The states after version 1, or a program that knows nothing of LocalData, has changed the older place.
    func writtenOlder(_ new: String?, isAcknowledged: Bool, isBare: Bool, isRepeated: Bool) -> [WindowModel] {
        var next = self
        if isAcknowledged { next.olderUndo = [] } else { next.rememberOlder() }
        next.older = new
        if isSettled { next.standing = Self.overwritten(standing, isReleased: isReleased) }
        next.undo = Set(
            undo.map { past in
                var past = past
                if past.isSettled { past.standing = Self.overwritten(past.standing, isReleased: past.isReleased) }
                return past
            })
        var states = [next]
        // Nothing was there, and nothing is: nothing was changed.
        if new == nil, older == nil { states.append(self) }
        guard isSettled else { return states }
        // Nobody can tell apart that the older place is empty again, and that it is still.
        if new == nil, isReleased || standing == .behind || standing == .conflict { states.append(next.with(.behind)) }
        if isBare, let new {
            // The same content again, or the mirror's: it may be known by that.
            if new == value.map(rules.down) { states.append(next.with(.behind)) }
            if isRepeated, standing != .inStep {
                var known = next.with(.behind)
                known.owed.formUnion(Marks.numbers(in: Array(new.utf8)))
                states.append(known)
            }
        }
        return states
    }

    private static func overwritten(_ standing: Standing, isReleased: Bool) -> Standing {
        !isReleased && (standing == .inStep || standing == .ahead) ? .ahead : .conflict
    }

    // MARK: Power cuts

    /// Of what was not durable in either place, anything may be left.
    func cut() -> [WindowModel] {
        var kept = self
        (kept.undo, kept.olderUndo, kept.late, kept.isActive) = ([], [], [], false)
        kept.cutsLeft -= 1
        var states = [kept]
        // A mark that is committed by itself may be lost by itself.
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
            // Both came back: how they were to each other is not told.
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
    /// What stands for the part that version 1 does not know, in a value that it wrote.
    static let nothingMore = "-"

    /// A value of two parts, as a text.
    static func text(_ text: String, _ more: String) -> String { "\(text)/\(more)" }
    static func parts(of text: String) -> (text: String, more: String) {
        let parts = text.split(separator: "/", maxSplits: 1).map(String.init)
        return (parts.first ?? "", parts.count > 1 ? parts[1] : nothingMore)
    }

    /// What version 1 reads of a value.
    func down(_ value: String) -> String { isEnriched ? Self.parts(of: value).text : value }

    /// The value that is made of what version 1 wrote.
    func up(_ older: String, over value: String?) -> String {
        guard isEnriched else { return older }
        return Self.text(older, value.map { Self.parts(of: $0).more } ?? Self.nothingMore)
    }
}

import TestSupport

/// The sequential model of one value in a release window, from the specification
/// ("Release windows" in `Docs/Design.md`).
///
/// In a release window, the library writes a copy of the destination's value, the mirror, to the legacy location, so
/// that version 1 can still read the value. A change is acknowledged when it is in the destination. ``Standing``
/// describes the relation between the two locations.
package struct WindowModel: SequentialModel {
    /// The properties of a key on which the model depends.
    package struct Rules: Hashable, Sendable {
        var policy = Policy.destinationWins
        /// Whether the store of the legacy location commits a mirror and its mark one after the other. The mark is a
        /// tombstone beside the mirror that names the mirrored record.
        var isApart = false
        /// Whether the value has a part that version 1 does not know.
        var isEnriched = false

        package init(policy: Policy = .destinationWins, isApart: Bool = false, isEnriched: Bool = false) {
            (self.policy, self.isApart, self.isEnriched) = (policy, isApart, isEnriched)
        }
    }

    /// The relation of the legacy location's content to the destination.
    package enum Standing: Hashable, Sendable {
        /// The content is the mirror of the destination's record, or the value from which that record was made.
        case inStep
        /// The content is the mirror, but the mark of the mirror was not written.
        case unmarked
        /// The content is an earlier mirror, or a content that the writer of the destination's record had seen. The
        /// next mirror replaces it.
        case behind
        /// Version 1 wrote the content over the mirror, so the content replaces the value of the destination.
        case ahead
        /// Version 1 wrote the content over another state, so a sweep applies the conflict policy.
        case conflict
    }

    /// An earlier state of the destination.
    struct Past: Hashable, Sendable {
        let value: String?
        let isSettled: Bool
        let isReleased: Bool
        let isKept: Bool
        /// The relation of the legacy location's current content to this state.
        var standing: Standing
    }

    /// An earlier content of the legacy location.
    struct OlderPast: Hashable, Sendable {
        let older: String?
        /// The relation of this content to the destination's current state.
        var standing: Standing
    }

    let rules: Rules
    /// The value in the destination.
    var value: String?
    /// Whether the destination holds a value or a tombstone.
    var isSettled = false
    /// Whether the record in the destination is marked as released, which ends the window for all programs.
    var isReleased = false
    /// Whether a program for which the window was open wrote the destination. Only then must the record be marked as
    /// released when the window ends.
    var isKept = false
    /// The content of the legacy location, which version 1 reads.
    var older: String?
    /// Whether version 1 removed the content of the legacy location while the destination had no record.
    var isEmptied = false
    /// Whether the destination's record says that its writer replaced the content of the legacy location without
    /// identifying it, because it could not read it. A later content cannot be distinguished from the replaced one.
    var isUnnamed = false
    var standing = Standing.inStep
    /// Whether a program is running that knows the destination.
    var isActive: Bool
    /// Earlier values whose mirrors may still be written.
    var late: Set<String?> = []
    /// The states of the destination and of the legacy location that a power cut may bring back.
    var undo: Set<Past> = []
    var olderUndo: Set<OlderPast> = []
    /// The numbers of texts that were displaced by a call that had not seen them. They must be in quarantine.
    var owed: Set<Int> = []
    /// The contents of the legacy location that a running sweep has read, and may decide about after they were replaced.
    var inHand: Set<String> = []
    /// The contents of the legacy location that a read has found, and may write to the destination after version 1 changed them.
    var carried: Set<String> = []
    /// How many power cuts will still happen. If there is none, no earlier state can come back.
    package var cutsLeft = 0

    package init(
        _ rules: Rules, isActive: Bool, value: String? = nil, isSettled: Bool = false, older: String?, standing: Standing = .inStep
    ) {
        self.rules = rules
        self.isActive = isActive
        self.value = value
        self.isSettled = isSettled
        self.older = older
        self.standing = standing
    }

    package enum Action: Hashable, Sendable {
        /// - `ends`: Whether the window is over for the program. It means the same in the cases below.
        case read(String?, ends: Bool)
        case exists(Bool)
        /// - `isBlind`: Whether it is possible that the call did not see the content of the legacy location.
        case write(String?, isBlind: Bool, isAcknowledged: Bool, ends: Bool)
        case swap(String?, String?, isBlind: Bool, ends: Bool)
        case olderRead(String?)
        /// - `isBare`: Whether the change wrote a value without a revision, as a program without LocalData does.
        /// - `isRepeated`: Whether the legacy location had this content at an earlier time.
        case older(String?, isAcknowledged: Bool, isBare: Bool, isRepeated: Bool)
        case olderSwap(String?, String?)
        /// A sweep, or the end of the window.
        case settle(ends: Bool)
        /// A sweep reads the legacy location. It decides later, when the location may have another content.
        case take
        /// A read finds the value in the legacy location. It writes the destination and answers later.
        case carry
        /// A check after a call that nothing disturbed. If the window is open, version 1 must read the current value.
        /// If a sweep has ended the window, the legacy location must be empty.
        case inStep(ends: Bool, sweeps: Bool)
        /// A new round of programs begins. The earlier programs make no further changes.
        case round(isActive: Bool)
        case powerCut
        /// The numbers of the texts that the stores and the quarantine contain at the end.
        case end(Set<Int>)
    }

    package func after(_ action: Action) -> [WindowModel] {
        let (decides, ends) =
            switch action {
            case .settle(let ends): (true, ends)
            case .read(_, let ends), .write(_, _, _, let ends), .swap(_, _, _, let ends): (false, ends)
            default: (false, false)
            }
        return reachable(decides: decides, ends: ends).flatMap { $0.directly(after: action) }
    }

    private func directly(after action: Action) -> [WindowModel] {
        switch action {
        case .read(let seen, let ends):
            // A program for which the window is over reads only the destination. Other programs first write a newer
            // value of version 1 to the destination.
            guard isSettled else { return seen == nil && older == nil ? [self] : seen.map(arrived) ?? [] }
            return seen == value && (standing != .ahead || isReleased || ends) ? [self] : []
        case .exists(let seen): return seen == (isSettled && value != nil) || seen == (effective != nil) ? [self] : []
        case .write(let new, let isBlind, let isAcknowledged, let ends):
            let states = (isBlind ? [true, false] : [false]).flatMap {
                written(new, isBlind: $0, isAcknowledged: isAcknowledged, ends: ends)
            }
            // If the window is over for the program, its record may end the window for all programs.
            return ends ? states + states.map(\.withoutWindow) : states
        case .swap(let seen, let left, let isBlind, let ends):
            let states = directly(after: .read(seen, ends: ends)).flatMap {
                $0.directly(after: .write(left, isBlind: isBlind, isAcknowledged: true, ends: ends))
            }
            // Version 1 or another program may write the legacy location between the read and the write. The write checks
            // only the destination.
            guard isBlind, seen == (isSettled ? value : nil) else { return states }
            return states + directly(after: .write(left, isBlind: true, isAcknowledged: true, ends: ends))
        case .olderRead(let seen): return seen == older ? [self] : []
        case .older(let new, let isAcknowledged, let isBare, let isRepeated):
            return writtenOlder(new, isAcknowledged: isAcknowledged, isBare: isBare, isRepeated: isRepeated)
        case .olderSwap(let seen, let left):
            return seen == older ? writtenOlder(left, isAcknowledged: true, isBare: false, isRepeated: false) : []
        case .settle: return [self] + decidedLate()
        case .take: return taken()
        case .carry: return carrying()
        case .inStep(let ends, let sweeps): return isInStep(ends: ends, sweeps: sweeps) ? [durableOlder] : []
        case .round(let isActive):
            var next = self
            next.isActive = isActive
            (next.late, next.inHand, next.carried) = ([], [], [])
            return [next]
        case .powerCut: return cut()
        case .end(let found): return owed.isSubset(of: found) ? [self] : []
        }
    }

    /// The result of a read that sees both locations.
    private var effective: String? {
        if isSettled, standing != .ahead || isReleased { return value }
        return older.map { rules.up($0, over: value) }
    }

    private func isInStep(ends: Bool, sweeps: Bool) -> Bool {
        if isReleased || ends { return !sweeps || older == nil && (isReleased || !isSettled || !isKept) }
        return isSettled ? standing == .inStep && older == value.map(rules.down) : older == nil
    }

    private var withoutWindow: WindowModel {
        var next = self
        next.isReleased = true
        return next
    }

    private var durableOlder: WindowModel {
        var next = self
        next.olderUndo = []
        return next
    }
}

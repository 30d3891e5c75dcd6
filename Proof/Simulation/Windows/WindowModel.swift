import TestSupport

/// What programs of two versions can see of one value whose older place is kept up to date, from the specification (`Docs/Windows.md`).
///
/// The key's place decides what was acknowledged. What stands in the older place is told apart by who wrote it there last, and over what.
package struct WindowModel: SequentialModel {
    /// What the rules of a key are, as far as the model needs them.
    package struct Rules: Hashable, Sendable {
        var policy = Policy.destinationWins
        /// Whether the older place's store commits a mirror and its mark one after the other.
        var isApart = false
        /// Whether the value has a part that version 1 does not know.
        var isEnriched = false

        package init(policy: Policy = .destinationWins, isApart: Bool = false, isEnriched: Bool = false) {
            (self.policy, self.isApart, self.isEnriched) = (policy, isApart, isEnriched)
        }
    }

    /// What the older place is to the key's place.
    package enum Standing: Hashable, Sendable {
        /// The mirror of the record in the key's place, or what that record was made of.
        case inStep
        /// The mirror, whose mark was not written.
        case unmarked
        /// An earlier mirror, or what the record's writer saw: it is to become the mirror.
        case behind
        /// What version 1 wrote over the mirror: it wins.
        case ahead
        /// What version 1 wrote over something else: the policy decides, in a sweep.
        case conflict
    }

    /// What the key's place held.
    struct Past: Hashable, Sendable {
        let value: String?
        let isSettled: Bool
        let isReleased: Bool
        let isKept: Bool
        /// What the older place, as it is now, is to it.
        var standing: Standing
    }

    /// What the older place held.
    struct OlderPast: Hashable, Sendable {
        let older: String?
        /// What it is to the key's place, as that is now.
        var standing: Standing
    }

    let rules: Rules
    /// What stands in the key's place.
    var value: String?
    /// Whether a value or a removal stands there.
    var isSettled = false
    /// Whether the key's place says that the window is over.
    var isReleased = false
    /// Whether the key's place was written by a program that keeps the window: only then does it say when that is over.
    var isKept = false
    /// What version 1 reads.
    var older: String?
    var standing = Standing.inStep
    /// Whether a program runs that knows the key's place.
    var isActive: Bool
    /// Earlier values whose mirrors may still come.
    var late: Set<String?> = []
    /// What a power cut may bring back, in the key's place and in the older one.
    var undo: Set<Past> = []
    var olderUndo: Set<OlderPast> = []
    /// The numbers of texts that were displaced without a call that knew of them: they have to be in quarantine.
    var owed: Set<Int> = []
    /// How many power cuts are to come: without one, nothing is brought back.
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

    package enum Action: Sendable {
        /// - `ends`: by a program that no longer keeps the window; here and below.
        case read(String?, ends: Bool)
        case exists(Bool)
        /// - `isBlind`: whether it may not have seen what stood in the older place.
        case write(String?, isBlind: Bool, isAcknowledged: Bool, ends: Bool)
        case swap(String?, String?, isBlind: Bool, ends: Bool)
        case olderRead(String?)
        /// - `isBare`: by a program that knows nothing of LocalData; `isRepeated`: a content that stood there before.
        case older(String?, isAcknowledged: Bool, isBare: Bool, isRepeated: Bool)
        case olderSwap(String?, String?)
        /// A sweep, or the end of the window.
        case settle(ends: Bool)
        /// At this moment, version 1 reads the truth; or the window is over, and the older place is empty.
        case inStep(ends: Bool, sweeps: Bool)
        /// Other programs run from here on: what was begun goes on no more.
        case round(isActive: Bool)
        case powerCut
        /// What is found in the end, in the places and in quarantine.
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
            // Who no longer keeps the window looks at the key's place only; who does has seen what version 1 wrote.
            guard isSettled else { return seen == nil && older == nil ? [self] : [] }
            return seen == value && (standing != .ahead || isReleased || ends) ? [self] : []
        case .exists(let seen): return seen == (isSettled && value != nil) || seen == (effective != nil) ? [self] : []
        case .write(let new, let isBlind, let isAcknowledged, let ends):
            let states = (isBlind ? [true, false] : [false]).flatMap {
                written(new, isBlind: $0, isAcknowledged: isAcknowledged, ends: ends)
            }
            // A record of a program for which the window is over may say so.
            return ends ? states + states.map(\.withoutWindow) : states
        case .swap(let seen, let left, let isBlind, let ends):
            return directly(after: .read(seen, ends: ends)).flatMap {
                $0.directly(after: .write(left, isBlind: isBlind, isAcknowledged: true, ends: ends))
            }
        case .olderRead(let seen): return seen == older ? [self] : []
        case .older(let new, let isAcknowledged, let isBare, let isRepeated):
            return writtenOlder(new, isAcknowledged: isAcknowledged, isBare: isBare, isRepeated: isRepeated)
        case .olderSwap(let seen, let left):
            return seen == older ? writtenOlder(left, isAcknowledged: true, isBare: false, isRepeated: false) : []
        case .settle: return [self]
        case .inStep(let ends, let sweeps): return isInStep(ends: ends, sweeps: sweeps) ? [durableOlder] : []
        case .round(let isActive):
            var next = self
            next.isActive = isActive
            next.late = []
            return [next]
        case .powerCut: return cut()
        case .end(let found): return owed.isSubset(of: found) ? [self] : []
        }
    }

    /// What a read gives that sees everything.
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

import TestSupport

/// The sequential model of one moving value. The value is in its destination, or still in a legacy location.
struct ValueModel: SequentialModel {
    /// The properties of a key on which the model depends.
    struct Rules: Hashable, Sendable {
        var policy = Policy.destinationWins
        /// Whether the value is merged from all legacy locations, instead of taken from the first that holds one.
        var isMerged = false
        /// Whether each legacy location is the destination of the next one, so that a value moves from the last one to the first.
        var isChain = false
        /// Whether a value in an older shape is stored in the destination itself.
        var isInPlace = false
        /// Whether a power cut may lose an acknowledged change.
        var isWary = false
        /// Whether a read may return a value that it could not move, because the disk is full.
        var answersUnmoved = false
    }

    struct Snapshot: Hashable, Sendable {
        let value: String?
        let isSettled: Bool
    }

    let rules: Rules
    /// The value in the destination.
    var value: String?
    /// Whether the destination holds a value or a tombstone.
    var isSettled = false
    /// The contents of legacy locations that a migration may still move.
    var older: [String?]
    /// The legacy locations with a tombstone.
    var olderRemovals: Set<Int> = []
    /// The latest contents that other programs left in the legacy locations, whether or not they were moved since. A
    /// power cut may bring them back, because each copy stays until the record that replaces it is durable.
    var left: [String?]
    /// If it is unknown whether an older program's change of a legacy location was made: the content before this
    /// change. A power cut that undoes acknowledged changes may undo this change, too.
    var unacknowledged: [Int: String?] = [:]
    /// Earlier contents of legacy locations, or the value that was merged from them. A migration that read them before
    /// another program replaced one may still move it.
    var inFlight: Set<String> = []
    /// The states that a power cut may bring back.
    var undo: Set<Snapshot> = []
    /// How many power cuts will still happen. If there is none, no earlier state can come back.
    var cutsLeft = 0

    enum Action: Hashable, Sendable {
        case read(String?)
        /// A read by a program in which the migration does not apply, so that it moves nothing.
        case readHeldBack(String?)
        case exists(Bool)
        /// - `clears`: The legacy locations whose content the call had certainly seen. No migration moves this content
        ///   later.
        case write(String?, clears: Set<Int>, isAcknowledged: Bool)
        case swap(String?, String?, clears: Set<Int>, isAcknowledged: Bool, isHeldBack: Bool)
        /// Another program changes a legacy location.
        case older(Int, String?, isAcknowledged: Bool)
        /// An older version of the program removes the value of a legacy location and leaves a tombstone. From then on,
        /// the locations after it in the list of legacy locations yield no value.
        case olderRemoved(Int, isAcknowledged: Bool)
        /// A round, a group of programs that run at the same time, ends. Its calls make no further changes.
        case endOfRound
        case powerCut
    }

    init(_ rules: Rules, value: String? = nil, isSettled: Bool = false, older: [String?]) {
        self.rules = rules
        self.value = value
        self.isSettled = isSettled
        self.older = older
        left = older
    }

    /// The value that the legacy locations yield.
    private var derived: String? {
        guard rules.isMerged else {
            let first = older.indices.first { older[$0] != nil || olderRemovals.contains($0) }
            return first.flatMap { older[$0] }
        }
        let parts = older.compactMap(\.self)
        return parts.count == older.count ? Self.merged(parts) : nil
    }

    static func merged(_ parts: [String]) -> String { parts.joined(separator: "+") }

    /// The value that the policy `merge` makes from the two values of a conflict.
    static func resolved(_ destination: String?, _ source: String) -> String { "\(destination ?? "-")|\(source)" }

    private var effective: String? { isSettled ? value : derived }

    private var snapshot: Snapshot { Snapshot(value: value, isSettled: isSettled) }

    private mutating func remember(_ past: Snapshot) { if cutsLeft > 0 { undo.insert(past) } }

    private func settled() -> ValueModel {
        guard !isSettled, let derived else { return self }
        var next = self
        next.remember(snapshot)
        next.value = derived
        next.isSettled = true
        for index in older.indices where older[index] != nil {
            next.older[index] = nil
            if !rules.isMerged { break }
        }
        return next
    }

    /// The states after a value moved from a legacy location to the one before it, or lost the conflict with the content there.
    private func shortened() -> [ValueModel] {
        older.indices.dropFirst().filter { older[$0] != nil }.map { index in
            var next = self
            if older[index - 1] == nil, !olderRemovals.contains(index - 1) { next.older[index - 1] = older[index] }
            next.older[index] = nil
            return next
        }
    }

    private func written(_ value: String?, _ clears: Set<Int>, isAcknowledged: Bool) -> ValueModel {
        var next = self
        if !isAcknowledged || rules.isWary { next.remember(snapshot) } else { next.undo = [] }
        next.value = value
        next.isSettled = true
        for index in clears { next.older[index] = nil }
        return next
    }

    /// All states that can be reached by migrations and resolved conflicts. The log of calls does not contain these
    /// steps.
    private var reachable: [ValueModel] {
        var states: [ValueModel] = []
        var open = [self]
        while let state = open.popLast() {
            guard !states.contains(state) else { continue }
            states.append(state)
            if !state.isSettled, state.derived != nil { open.append(state.settled()) }
            if !state.isSettled, rules.isChain { open += state.shortened() }
            guard !state.isSettled || rules.policy != .destinationWins else { continue }
            for found in state.inFlight { open.append(state.taking(found, from: nil)) }
            guard state.isSettled else { continue }
            for (index, found) in state.older.enumerated() { if let found { open.append(state.taking(found, from: index)) } }
        }
        return states
    }

    /// The state after the content of a legacy location was moved, or won a conflict.
    private func taking(_ found: String, from index: Int?) -> ValueModel {
        var next = self
        next.remember(snapshot)
        next.value = isSettled && rules.policy == .merge ? Self.resolved(value, found) : found
        next.isSettled = true
        if let index { next.older[index] = nil } else { next.inFlight.remove(found) }
        return next
    }

    func after(_ action: Action) -> [ValueModel] { reachable.flatMap { $0.directly(after: action) } }

    private func directly(after action: Action) -> [ValueModel] {
        switch action {
        case .read(let seen): return seen == effective && (isSettled || seen == nil || rules.answersUnmoved) ? [self] : []
        case .readHeldBack(let seen): return seen == (isSettled ? value : nil) ? [self] : []
        case .exists(let seen): return seen == (rules.isInPlace ? effective != nil : isSettled && value != nil) ? [self] : []
        case .write(let value, let clears, let isAcknowledged): return [written(value, clears, isAcknowledged: isAcknowledged)]
        case .swap(let seen, let left, let clears, let isAcknowledged, let isHeldBack):
            guard isHeldBack || isSettled || effective == nil else { return [] }
            return seen == (isSettled ? value : nil) ? [written(left, clears, isAcknowledged: isAcknowledged)] : []
        case .older(let index, let value, let isAcknowledged):
            var next = self
            if isAcknowledged { next.unacknowledged[index] = nil } else if rules.isWary { next.unacknowledged[index] = older[index] }
            if let before = rules.isMerged ? derived : older[index] { next.inFlight.insert(before) }
            next.older[index] = value
            next.olderRemovals.remove(index)
            next.left[index] = value
            return [next]
        case .olderRemoved(let index, let isAcknowledged):
            return directly(after: .older(index, nil, isAcknowledged: isAcknowledged)).map { state in
                var next = state
                next.olderRemovals.insert(index)
                return next
            }
        case .endOfRound:
            var next = self
            next.inFlight = []
            return [next]
        case .powerCut:
            var kept = self
            kept.undo = []
            kept.inFlight = []
            kept.cutsLeft -= 1
            kept.unacknowledged = [:]
            return [kept]
                + undo.flatMap { past -> [ValueModel] in
                    var next = kept
                    next.value = past.value
                    next.isSettled = past.isSettled
                    // Changes of legacy locations by other programs were durable at once, so they are not lost. A
                    // content that was moved may now be moved again.
                    next.older = zip(older, left).map { $0 ?? $1 }
                    if unacknowledged.isEmpty { return [next] }
                    var before = next
                    for (index, value) in unacknowledged { (before.older[index], before.left[index]) = (value, value) }
                    return [next, before]
                }
        }
    }
}

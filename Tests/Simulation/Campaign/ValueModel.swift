import TestSupport

/// What a value that moves is, as far as anybody can tell: in its place, or still where it was.
struct ValueModel: SequentialModel {
    /// What the rules of a key are, as far as the model needs them.
    struct Rules: Hashable, Sendable {
        var policy = Policy.destinationWins
        /// Whether the value is made of all older places, or of the first that holds one.
        var isMerged = false
        /// Whether what has an older shape stands in the place itself.
        var isInPlace = false
        /// Whether an acknowledged change may be lost with the power.
        var isWary = false
    }

    struct Snapshot: Hashable, Sendable {
        let value: String?
        let isSettled: Bool
    }

    let rules: Rules
    /// What stands in its place.
    var value: String?
    /// Whether a value or a removal stands in its place.
    var isSettled = false
    /// What older places hold that nobody has taken into account.
    var older: [String?]
    /// The older places in which a removal stands.
    var olderRemovals: Set<Int> = []
    /// What others have left in the older places, whether it was taken into account or not: there it is until its successor is certain to last.
    var left: [String?]
    /// What a power cut may bring back.
    var undo: [Snapshot] = []

    enum Action: Sendable {
        case read(String?)
        /// A read by a program whose migration does not apply yet.
        case readHeldBack(String?)
        case exists(Bool)
        /// - `clears`: the older places whose content the change is certain to have known.
        case write(String?, clears: Set<Int>, isAcknowledged: Bool)
        case swap(String?, String?, clears: Set<Int>, isAcknowledged: Bool, isHeldBack: Bool)
        /// Another program changes an older place.
        case older(Int, String?)
        /// An older version of the program removes the value of an older place: what the places behind it hold does not count.
        case olderRemoved(Int)
        /// A migration that had read an older place before somebody emptied it brings what it read.
        case late(String)
        /// A conflict with an older place ends.
        case resolve(Int, String)
        case powerCut
    }

    init(_ rules: Rules, value: String? = nil, isSettled: Bool = false, older: [String?]) {
        self.rules = rules
        self.value = value
        self.isSettled = isSettled
        self.older = older
        left = older
    }

    /// What the older places make.
    private var derived: String? {
        guard rules.isMerged else {
            let first = older.indices.first { older[$0] != nil || olderRemovals.contains($0) }
            return first.flatMap { older[$0] }
        }
        let parts = older.compactMap(\.self)
        return parts.count == older.count ? Self.merged(parts) : nil
    }

    static func merged(_ parts: [String]) -> String { parts.joined(separator: "+") }

    /// What a merge of a conflict makes.
    static func resolved(_ destination: String?, _ source: String) -> String { "\(destination ?? "-")|\(source)" }

    private var effective: String? { isSettled ? value : derived }

    private var snapshot: Snapshot { Snapshot(value: value, isSettled: isSettled) }

    private func settled() -> ValueModel {
        guard !isSettled, let derived else { return self }
        var next = self
        next.undo.append(snapshot)
        next.value = derived
        next.isSettled = true
        for index in older.indices where older[index] != nil {
            next.older[index] = nil
            if !rules.isMerged { break }
        }
        return next
    }

    private func written(_ value: String?, _ clears: Set<Int>, isAcknowledged: Bool) -> ValueModel {
        var next = self
        if !isAcknowledged || rules.isWary { next.undo.append(snapshot) } else { next.undo = [] }
        next.value = value
        next.isSettled = true
        for index in clears { next.older[index] = nil }
        return next
    }

    func after(_ action: Action) -> [ValueModel] {
        switch action {
        case .read(let seen): return seen == effective ? [settled()] : []
        case .readHeldBack(let seen): return [self, settled()].filter { seen == ($0.isSettled ? $0.value : nil) }
        case .exists(let seen):
            if rules.isInPlace { return seen == (effective != nil) ? [self] : [] }
            // A value may have been moved by somebody of whom nothing is written down: a sweep, a call that failed.
            return [self, settled()].filter { seen == ($0.isSettled && $0.value != nil) }
        case .write(let value, let clears, let isAcknowledged):
            // Whether it had been moved before tells only once the power is cut.
            let before = isSettled || derived == nil ? [self] : [self, settled()]
            return before.map { $0.written(value, clears, isAcknowledged: isAcknowledged) }
        case .swap(let seen, let left, let clears, let isAcknowledged, let isHeldBack):
            return (isHeldBack ? [self, settled()] : [settled()]).filter { seen == ($0.isSettled ? $0.value : nil) }
                .map { $0.written(left, clears, isAcknowledged: isAcknowledged) }
        case .older(let index, let value):
            return [self, settled()].map { state in
                var next = state
                next.older[index] = value
                next.olderRemovals.remove(index)
                next.left[index] = value
                return next
            }
        case .late(let read):
            guard !isSettled else { return [] }
            var next = self
            next.undo.append(snapshot)
            next.value = read
            next.isSettled = true
            return [next]
        case .olderRemoved(let index):
            return after(.older(index, nil)).map { state in
                var next = state
                next.olderRemovals.insert(index)
                return next
            }
        case .resolve(let index, let found):
            return [settled()].filter { $0.isSettled && $0.older[index] == found }.map { state in
                var next = state
                next.undo.append(state.snapshot)
                next.older[index] = nil
                next.value = rules.policy == .merge ? Self.resolved(state.value, found) : found
                return next
            }
        case .powerCut:
            var kept = self
            kept.undo = []
            return [kept]
                + undo.map { past in
                    var next = kept
                    next.value = past.value
                    next.isSettled = past.isSettled
                    // Other programs' changes of older places were durable at once.
                    next.older = zip(older, left).map { $0 ?? $1 }
                    return next
                }
        }
    }
}

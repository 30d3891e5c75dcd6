import TestSupport

/// The interval in which a value expires. The exact moment is not known to callers.
struct Life: Hashable, Sendable {
    /// The value is valid before this time.
    var low = Double.infinity
    /// The value has expired from this time on.
    var high = Double.infinity

    static let endless = Life()
}

/// The interval of the wall clock in which a call took place.
struct Span: Hashable, Sendable {
    let begin: Double
    let end: Double
}

/// The sequential model of one value with versions, a lifetime and a legacy location.
struct RecordModel: SequentialModel {
    struct Rules: Hashable, Sendable {
        /// Whether there is a legacy location.
        var hasOlder = false
        /// Whether values move to their destination, or get their new type tag, only when a program requests this for
        /// all of them.
        var isExplicit = false
        /// Whether each version has another type of records, so that programs neither read nor change records of other
        /// versions.
        var isTagged = false
        /// Whether the legacy location is one list of all records. If a record is not in this list, a migration may
        /// count it as removed.
        var isList = false
        /// Whether the tombstone of a removed or expired record may be dropped once the legacy location is empty.
        var dropsTombstones = false
        /// Whether a read may return a value that it could not move, because the disk is full.
        var answersUnmoved = false
        /// The policy for a value in the destination and another value in the legacy location.
        var policy = Policy.destinationWins
        /// The earliest time at which a moved value can expire that had no lifetime in its legacy location. It is nil
        /// if values do not expire.
        var lifetime: Double?
    }

    /// The state of the record in its destination.
    struct Stand: Hashable, Sendable {
        var value: String?
        /// Whether the destination holds a value or a tombstone.
        var isSettled = false
        var version = 1
        var life = Life.endless
        /// Whether the metadata of the record names its legacy location. If so, removing the record leaves a tombstone.
        var isNamed = false
        /// If a value had to expire before this state, the earliest time at which it can have expired. No read sees
        /// this state earlier.
        var since = -Double.infinity
    }

    /// The content of the legacy location.
    struct Old: Hashable, Sendable {
        var value: String?
        var life = Life.endless
    }

    let rules: Rules
    var now: Stand
    /// The content of the legacy location that a migration may still move.
    var older: Old
    /// The content that programs of the older version left in the legacy location.
    var left: Old
    /// Earlier contents of the legacy location. A migration that read one of them before it was changed may still move
    /// it.
    var inFlight: Set<Old> = []
    /// The states that a power cut may bring back.
    var undo: Set<Stand> = []
    var cutsLeft = 0
    /// The version of the newest program that is running.
    var ceiling = 1
    /// Whether a program has begun to migrate all records on request.
    var mayMove = false

    init(_ rules: Rules, value: String?, version: Int, life: Life) {
        self.rules = rules
        now = Stand()
        older = Old()
        if rules.hasOlder {
            older = Old(value: value, life: life)
        } else {
            now = Stand(value: value, isSettled: true, version: version, life: life)
        }
        left = older
    }

    enum Action: Hashable, Sendable {
        case read(String?, by: Int, Span)
        /// The text of this record in a list of all records; nil if the list did not contain the record.
        case listed(String?, by: Int, Span)
        case exists(Bool, Span)
        /// A program got the error that the stored value does not fit its version.
        case refused(by: Int)
        /// - `clears`: Whether the call had certainly seen the content of the legacy location. No migration moves this content
        ///   later.
        case write(String?, by: Int, Life, clears: Bool, isAcknowledged: Bool)
        case swap(String?, String?, by: Int, Life, Span, clears: Bool)
        /// A program of the older version changes the legacy location.
        case older(String?, Life)
        /// A program of the older version writes the legacy location again, with the same content: it changes another record
        /// of the list.
        case rewritten
        case launch(Int)
        /// A program begins to migrate all records.
        case mayMove
        /// A program has migrated all records.
        case carried
        case endOfRound
        case powerCut
    }

    // MARK: What may become of it by itself

    private mutating func remember() { if cutsLeft > 0 { undo.insert(now) } }

    private var movesByItself: Bool { !rules.isExplicit || mayMove }

    private var reachable: [RecordModel] {
        var states: [RecordModel] = []
        var open = [self]
        while let state = open.popLast() {
            guard !states.contains(state) else { continue }
            states.append(state)
            open += state.nextByItself
        }
        return states
    }

    private var nextByItself: [RecordModel] {
        var next: [RecordModel] = []
        if rules.hasOlder, !now.isSettled, movesByItself, ceiling > 1 {
            if older.value != nil { next += settled(older, takesOlder: true) }
            for old in inFlight where old.value != nil { next += settled(old, takesOlder: false) }
            if rules.isList, older.value == nil || inFlight.contains(Old()) { next += settled(Old(), takesOlder: false) }
        }
        if rules.policy != .destinationWins, now.isSettled, ceiling > 1 {
            if older.value != nil { next += winning(older, takesOlder: true) }
            for old in inFlight where old.value != nil { next += winning(old, takesOlder: false) }
        }
        if now.value != nil, now.isSettled, now.version < ceiling, !rules.isTagged || mayMove {
            for version in (now.version + 1)...ceiling {
                var state = self
                state.remember()
                state.now.version = version
                next.append(state)
            }
        }
        // When the legacy location is empty, the library drops a tombstone or an expired value. From then on, no
        // migration moves an earlier content of that location.
        if rules.dropsTombstones, now.isSettled, ceiling > 1, now.value == nil || now.life != .endless {
            var state = self
            state.remember()
            state.now = Stand()
            state.now.since = now.value == nil ? now.since : max(now.since, now.life.low)
            state.older = Old()
            state.inFlight = []
            next.append(state)
        }
        // A migration of all records also meets legacy copies whose records are already in their destination. It may
        // count such a copy as replaced. Without this step, the model could move the copy after a removal that leaves
        // no tombstone.
        if rules.isExplicit, rules.hasOlder, now.isSettled, older.value != nil, mayMove {
            var state = self
            state.older = Old()
            next.append(state)
        }
        return next
    }

    /// The states after a content of the legacy location was moved, one for each version that the record can have then.
    private func settled(_ old: Old, takesOlder: Bool) -> [RecordModel] {
        let versions = old.value == nil || ceiling == 1 ? [ceiling] : Array(2...ceiling)
        return versions.map { version in
            var state = self
            state.remember()
            var life = old.life
            if life == .endless, let lifetime = rules.lifetime { life = Life(low: lifetime, high: .infinity) }
            state.now = Stand(value: old.value, isSettled: true, version: version, life: life, isNamed: true, since: now.since)
            if takesOlder { state.older = Old() } else { state.inFlight.remove(old) }
            return state
        }
    }

    /// The states after a content of the legacy location has won a conflict with a later value or a removal, or was merged
    /// with the value.
    private func winning(_ old: Old, takesOlder: Bool) -> [RecordModel] {
        let taken = settled(old, takesOlder: takesOlder)
        guard rules.policy == .merge else { return taken }
        return taken.flatMap { state in
            var (alone, merged) = (state, state)
            alone.now.value = ValueModel.resolved(nil, old.value ?? "")
            guard let value = now.value else { return [alone] }
            merged.now.value = ValueModel.resolved(value, old.value ?? "")
            guard now.life != .endless || old.life != .endless else {
                merged.now.life = .endless
                return [merged]
            }
            // The merged value expires when the first of both would have expired. A value that has expired is not merged.
            merged.now.life = Life(low: min(now.life.low, old.life.low), high: min(now.life.high, old.life.high))
            return now.life == .endless ? [merged] : [merged, alone]
        }
    }

    // MARK: What callers see

    func after(_ action: Action) -> [RecordModel] { reachable.flatMap { $0.directly(after: action) } }

    private func canRead(_ program: Int) -> Bool { rules.isTagged ? now.version == program : now.version <= program }

    /// The states after a read that returned this value, or nil. They are none if the read cannot return it.
    private func seeing(_ seen: String?, _ program: Int, _ span: Span, tagged: Bool = false) -> [RecordModel] {
        var state = self
        guard span.end >= now.since else { return [] }
        guard now.isSettled || !rules.hasOlder else {
            if let seen, rules.answersUnmoved, program > 1, !rules.isExplicit {
                guard seen == older.value, span.begin < older.life.high else { return [] }
                if older.life != .endless { state.older.life.low = max(older.life.low, span.begin) }
                return [state]
            }
            guard seen == nil else { return [] }
            if older.value == nil || rules.isExplicit { return [self] }
            guard older.life.low <= span.end else { return [] }
            state.older.life.high = min(older.life.high, span.end)
            return [state]
        }
        if let value = now.value {
            guard let seen else {
                if tagged, !canRead(program) { return [self] }
                guard now.life.low <= span.end else { return [] }
                state.now.life.high = min(now.life.high, span.end)
                return [state]
            }
            guard seen == value, span.begin < now.life.high, canRead(program) else { return [] }
            if now.life != .endless { state.now.life.low = max(now.life.low, span.begin) }
            return [state]
        }
        return seen == nil ? [self] : []
    }

    private func written(_ value: String?, _ program: Int, _ life: Life, clears: Bool, isAcknowledged: Bool) -> RecordModel {
        var state = self
        if clears { state.older = Old() }
        if isAcknowledged { state.undo = [] } else { state.remember() }
        state.now.value = value
        state.now.version = program
        state.now.life = life
        if value != nil || !rules.isExplicit || !rules.hasOlder {
            state.now.isSettled = true
        } else {
            state.now.isSettled = now.isSettled && now.isNamed
        }
        return state
    }

    private func directly(after action: Action) -> [RecordModel] {
        switch action {
        case .read(let seen, let program, let span): return seeing(seen, program, span)
        case .listed(let seen, let program, let span): return seeing(seen, program, span, tagged: rules.isTagged)
        case .exists(let answer, let span):
            if !now.isSettled || now.value == nil { return answer ? [] : [self] }
            var state = self
            if answer {
                guard span.begin < now.life.high else { return [] }
                if now.life != .endless { state.now.life.low = max(now.life.low, span.begin) }
            } else {
                guard now.life.low <= span.end else { return [] }
                state.now.life.high = min(now.life.high, span.end)
            }
            return [state]
        case .refused(let program): return now.value != nil && now.isSettled && !canRead(program) ? [self] : []
        case .write(let value, let program, let life, let clears, let isAcknowledged):
            if rules.isTagged, now.value != nil, !canRead(program) { return [] }
            // A value of a later version is not replaced, unless it may have expired.
            if value != nil, now.value != nil, now.isSettled, now.version > program, now.life == .endless { return [] }
            return [written(value, program, life, clears: clears, isAcknowledged: isAcknowledged)]
        case .swap(let seen, let new, let program, let life, let span, let clears):
            return seeing(seen, program, span).map { state in
                // An update keeps the remaining lifetime of the previous value.
                state.written(new, program, seen == nil || new == nil ? life : state.now.life, clears: clears, isAcknowledged: true)
            }
        case .older(let value, let life):
            var state = self
            state.inFlight.insert(older)
            state.older = Old(value: value, life: life)
            state.left = state.older
            return [state]
        case .rewritten:
            var state = self
            state.inFlight.insert(older)
            state.older = left
            return [state]
        case .launch(let version):
            var state = self
            state.ceiling = max(ceiling, version)
            return [state]
        case .mayMove:
            var state = self
            state.mayMove = true
            return [state]
        case .carried:
            if rules.isTagged {
                guard now.value != nil, now.version < 2 else { return [self] }
                return []
            }
            return now.isSettled || older.value == nil || older.life != .endless ? [self] : []
        case .endOfRound:
            var state = self
            state.inFlight = []
            state.mayMove = false
            state.ceiling = 1
            return [state]
        case .powerCut:
            var kept = self
            kept.undo = []
            kept.inFlight = []
            kept.cutsLeft -= 1
            return [kept]
                + undo.map { past in
                    var state = kept
                    state.now = past
                    if state.older.value == nil { state.older = left }
                    return state
                }
        }
    }
}

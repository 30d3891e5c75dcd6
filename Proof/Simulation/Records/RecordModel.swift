import TestSupport

/// When a value's time is over, as far as callers can tell.
struct Life: Hashable, Sendable {
    /// It is valid before this moment.
    var low = Double.infinity
    /// It is over from this moment on.
    var high = Double.infinity

    static let endless = Life()
}

/// The time by the wall clock that a call took.
struct Span: Hashable, Sendable {
    let begin: Double
    let end: Double
}

/// What a value with versions, a lifetime and an older place is, as far as anybody can tell.
struct RecordModel: SequentialModel {
    struct Rules: Hashable, Sendable {
        /// Whether there is an older place.
        var hasOlder = false
        /// Whether values come to their place, or tag, only when a program asks for all of them.
        var isExplicit = false
        /// Whether records of another version are another type's: nobody else reads or changes them.
        var isTagged = false
        /// Whether the older place is a list of all records: to have been in it or not is the same thing.
        var isList = false
        /// Whether the tombstone of a removed or expired record may go, once the older place is empty.
        var dropsTombstones = false
        /// Whether a read may answer what it could not move: on a full disk.
        var answersUnmoved = false
        /// The lifetime of what had none in its older place.
        var lifetime: Double?
    }

    /// What stands in its place.
    struct Stand: Hashable, Sendable {
        var value: String?
        /// Whether a value or a removal stands there.
        var isSettled = false
        var version = 1
        var life = Life.endless
        /// Whether it is known where it came from: its removal stays.
        var isNamed = false
        /// It cannot be seen before this moment: what stood there before had to expire first.
        var since = -Double.infinity
    }

    /// What stands in the older place.
    struct Old: Hashable, Sendable {
        var value: String?
        var life = Life.endless
    }

    let rules: Rules
    var now: Stand
    /// What the older place holds that nobody has taken into account.
    var older: Old
    /// What the older version's programs have left there.
    var left: Old
    /// What it held when somebody changed it: a migration may have read that before.
    var inFlight: Set<Old> = []
    /// What a power cut may bring back.
    var undo: Set<Stand> = []
    var cutsLeft = 0
    /// The version of the newest program that runs.
    var ceiling = 1
    /// Whether somebody has asked for all records to be brought over.
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

    enum Action: Sendable {
        case read(String?, by: Int, Span)
        /// A record that was met, or not, among all that there are.
        case listed(String?, by: Int, Span)
        case exists(Bool, Span)
        /// A program was told that what is stored is not for its version.
        case refused(by: Int)
        case write(String?, by: Int, Life, isAcknowledged: Bool)
        case swap(String?, String?, by: Int, Life, Span)
        /// The older version's program changes the older place.
        case older(String?, Life)
        case launch(Int)
        /// Somebody begins to bring everything over.
        case mayMove
        /// Somebody has brought everything over.
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
        if now.value != nil, now.isSettled, now.version < ceiling, !rules.isTagged || mayMove {
            for version in (now.version + 1)...ceiling {
                var state = self
                state.remember()
                state.now.version = version
                next.append(state)
            }
        }
        // A tombstone goes when the older place is empty; what a migration read there before does not count any more.
        if rules.dropsTombstones, now.isSettled, ceiling > 1, now.value == nil || now.life != .endless {
            var state = self
            state.remember()
            state.now = Stand()
            state.now.since = now.value == nil ? now.since : max(now.since, now.life.low)
            state.older = Old()
            state.inFlight = []
            next.append(state)
        }
        // With a removal of which nothing is left, what stands in the older place counts again, unless it was taken into account.
        if rules.isExplicit, rules.hasOlder, now.isSettled, older.value != nil, mayMove {
            var state = self
            state.older = Old()
            next.append(state)
        }
        return next
    }

    /// What it is once something that the older place held has come to its place.
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

    // MARK: What callers see

    func after(_ action: Action) -> [RecordModel] { reachable.flatMap { $0.directly(after: action) } }

    private func canRead(_ program: Int) -> Bool { rules.isTagged ? now.version == program : now.version <= program }

    /// The states in which somebody sees a value, or that there is none.
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

    private func written(_ value: String?, _ program: Int, _ life: Life, isAcknowledged: Bool) -> RecordModel {
        var state = self
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
        case .write(let value, let program, let life, let isAcknowledged):
            if rules.isTagged, now.value != nil, !canRead(program) { return [] }
            // A value of a later version is not replaced, unless it may have expired.
            if value != nil, now.value != nil, now.isSettled, now.version > program, now.life == .endless { return [] }
            return [written(value, program, life, isAcknowledged: isAcknowledged)]
        case .swap(let seen, let new, let program, let life, let span):
            return seeing(seen, program, span).map { state in
                // What was there keeps the time that it has left.
                state.written(new, program, seen == nil || new == nil ? life : state.now.life, isAcknowledged: true)
            }
        case .older(let value, let life):
            var state = self
            state.inFlight.insert(older)
            state.older = Old(value: value, life: life)
            state.left = state.older
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

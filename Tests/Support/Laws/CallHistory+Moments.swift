extension CallHistory where Model.Action: Hashable {
    /// One way in which the calls up to a moment can have taken effect.
    private struct Way: Hashable {
        var state: Model
        /// Calls that have begun, have an end, and have not taken effect yet.
        var open: Set<Int> = []
        /// The calls without an end that may still take effect: how many there are of each action.
        var loose: [Action: Int] = [:]
    }

    /// Returns the first call that no order of the calls explains, or nil if one order explains all calls.
    ///
    /// The result agrees with ``isLinearizable(from:)``, but the number of calls is not limited.
    /// The search goes from moment to moment, and keeps every way in which the calls can have taken effect so far.
    /// In the search, calls take effect as late as possible.
    /// When a call ends, it takes effect together with any open calls that are ordered before it.
    /// Source: Lowe, Testing for linearizability.
    package func firstUnexplained(from start: Model) -> Call? {
        var moments: [(time: Int, isEnd: Bool, call: Int)] = []
        for (index, call) in calls.enumerated() {
            moments.append((call.begin, false, index))
            if call.end != .max { moments.append((call.end, true, index)) }
        }
        // Calls overlap if one ends at the moment at which the other begins.
        moments.sort { ($0.time, $0.isEnd ? 1 : 0, $0.call) < ($1.time, $1.isEnd ? 1 : 0, $1.call) }
        var ways: Set<Way> = [Way(state: start)]
        for moment in moments {
            if moment.isEnd {
                ways = after(moment.call, ways)
                if ways.isEmpty { return calls[moment.call] }
            } else {
                ways = Set(ways.map { begun(moment.call, $0) })
            }
        }
        return nil
    }

    private func begun(_ call: Int, _ way: Way) -> Way {
        var way = way
        if calls[call].end == .max { way.loose[calls[call].action, default: 0] += 1 } else { way.open.insert(call) }
        return way
    }

    /// Returns the ways in which a call has taken effect. An optional call may also never take effect.
    private func after(_ call: Int, _ ways: Set<Way>) -> Set<Way> {
        var results: Set<Way> = []
        var seen = ways
        var waiting = Array(ways)
        func add(_ way: Way) { if seen.insert(way).inserted { waiting.append(way) } }
        while let way = waiting.popLast() {
            guard way.open.contains(call) else {
                results.insert(way)
                continue
            }
            if calls[call].isOptional { add(without(call, way, way.state)) }
            for open in way.open {
                for state in way.state.after(calls[open].action) { add(without(open, way, state)) }
            }
            // A call without an end is tried here only if it changes the state.
            // Otherwise it can just as well take effect later.
            for (action, count) in way.loose {
                for state in way.state.after(action) where state != way.state {
                    var next = way
                    next.state = state
                    next.loose[action] = count > 1 ? count - 1 : nil
                    add(next)
                }
            }
        }
        return results
    }

    private func without(_ call: Int, _ way: Way, _ state: Model) -> Way {
        var next = way
        next.open.remove(call)
        next.state = state
        return next
    }
}

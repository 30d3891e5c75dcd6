extension CallHistory where Model.Action: Hashable {
    /// One way in which the calls so far can have taken effect.
    private struct Way: Hashable {
        var state: Model
        /// Calls that have begun, have an end, and have not taken effect yet.
        var open: Set<Int> = []
        /// What calls without an end may still do, and how many of them there are.
        var loose: [Action: Int] = [:]
    }

    /// The first call that no order of the calls explains; nil where one order explains all.
    ///
    /// The answer is that of ``isLinearizable(from:)``, for any number of calls: it goes from moment to moment, and keeps every way in which the calls can have taken effect
    /// by then (Lowe: Testing for linearizability). A call takes effect no earlier than needed, which is when a call that comes after it ends.
    package func firstUnexplained(from start: Model) -> Call? {
        var moments: [(time: Int, isEnd: Bool, call: Int)] = []
        for (index, call) in calls.enumerated() {
            moments.append((call.begin, false, index))
            if call.end != .max { moments.append((call.end, true, index)) }
        }
        // Where one call ends as another begins, they overlap.
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

    /// The ways in which a call has taken effect, or may leave it at that.
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
            // What changes nothing can as well come later.
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

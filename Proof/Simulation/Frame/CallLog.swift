import LocalData
import Synchronization

/// The log of a run: what callers and other programs did to each key or record, the answers that they got, and the
/// times.
package final class CallLog<Deed: CampaignDeed>: Sendable {
    struct Entry: Sendable {
        /// The number of the key or record; -1 for a change of all of them.
        let key: Int
        var deed: Deed
        /// The version of the program that made the call.
        let program: Int
        let begin: Int
        /// The earliest time that the wall clock may have shown during the call; `wallEnd` is the latest.
        var wallBegin: Double
        /// The time at which the call ended. It is nil if the outcome is unknown: the change may have been made, may
        /// still be made, or may never be made.
        var end: Int?
        var wallEnd: Double?
        fileprivate var latest: Double
    }

    /// How a call ended.
    enum Ending {
        case happened([Deed])
        case didNotHappen
        case unknown
    }

    private struct State {
        var clock = 0
        /// The time at which each round ended. A round is a group of programs that run at the same time.
        var roundEnds: [Int] = []
        var entries: [Int: Entry] = [:]
        var ever = 0
        var lines: [String] = []
        var counts: [String: Int] = [:]
        var leak: String?

        mutating func enter(_ key: Int, _ deed: Deed, _ program: Int, _ wall: Double) -> Int {
            ever += 1
            entries[ever] = Entry(key: key, deed: deed, program: program, begin: clock, wallBegin: wall, latest: wall)
            return ever
        }

        mutating func see(_ wall: Double, _ number: Int) {
            guard let entry = entries[number] else { return }
            entries[number]?.wallBegin = min(entry.wallBegin, wall)
            entries[number]?.latest = max(entry.latest, wall)
        }

        mutating func finish(_ number: Int, _ deed: Deed, _ wall: Double) {
            entries[number]?.deed = deed
            entries[number]?.end = clock
            see(wall, number)
            let latest = entries[number]?.latest
            entries[number]?.wallEnd = latest
        }
    }

    private let state = Mutex(State())
    private let world: Simulation

    /// Sets the wall clock. A call that is in progress may see the old time or the new one.
    func setClock(wrongBy error: Int) {
        let before = world.wallSeconds
        world.setClock(wrongBy: error)
        let after = world.wallSeconds
        state.withLock { state in
            for (number, entry) in state.entries where entry.end == nil {
                state.see(before, number)
                state.see(after, number)
            }
        }
        note("the clock is wrong by \(error) s")
    }

    init(_ world: Simulation) { self.world = world }

    var entries: [Entry] { state.withLock { $0.entries.sorted { $0.key < $1.key }.map(\.value) } }
    var lines: [String] { state.withLock(\.lines) }
    /// How often calls of each kind ended in each way.
    var counts: [String: Int] { state.withLock(\.counts) }
    /// The first message, of an error or of a logger, that contained a stored value. No message may contain one. It is
    /// nil if there was no such message.
    var leak: String? { state.withLock(\.leak) }
    var roundEnds: [Int] { state.withLock(\.roundEnds) }
    /// How many power cuts there were.
    var powerCuts: Int { entries.count { $0.deed.isPowerCut && $0.end != nil } }

    /// Adds a line to the printed history about something other than a call.
    func note(_ text: String) {
        state.withLock { $0.lines.append("\($0.clock): \(text)") }
        world.note(text.utf8.count, text)
    }

    /// Ends a round: no call that began before this moment continues after it.
    func endRound() {
        state.withLock { state in
            state.clock += 1
            state.roundEnds.append(state.clock)
        }
    }

    /// Checks a message for values. Messages of errors and logs must not contain any.
    func check(message: String) {
        guard message.contains(Marks.value) else { return }
        state.withLock { $0.leak = $0.leak ?? message }
    }

    /// Adds an event that happened at one moment.
    func add(_ key: Int, _ deed: Deed, by program: Int = 0, _ text: String) {
        let wall = world.wallSeconds
        state.withLock { state in
            state.clock += 1
            let number = state.enter(key, deed, program, wall)
            state.clock += 1
            state.finish(number, deed, wall)
            state.lines.append("\(state.clock): \(text)")
        }
        world.note(key, text)
    }

    /// Notes that a call on one or several keys begins.
    /// - Parameter deeds: The operation of the call on each key. If the call never ends, these operations may have
    ///   happened.
    func begin(_ deeds: [(key: Int, deed: Deed)], by program: Int = 0, _ text: String) -> [Int] {
        let wall = world.wallSeconds
        return state.withLock { state in
            state.clock += 1
            state.lines.append("\(state.clock): \(text) begins")
            return deeds.map { state.enter($0.key, $0.deed, program, wall) }
        }
    }

    func end(_ numbers: [Int], _ ending: Ending, _ kind: String, _ answer: String) {
        let wall = world.wallSeconds
        state.withLock { state in
            state.clock += 1
            switch ending {
            case .happened(let deeds): for (number, deed) in zip(numbers, deeds) { state.finish(number, deed, wall) }
            case .didNotHappen: for number in numbers { state.entries[number] = nil }
            case .unknown: break
            }
            state.lines.append("\(state.clock): \(kind) ends: \(answer)")
            state.counts[kind.prefix { $0 != " " } + " " + answer.prefix { $0 != ":" }, default: 0] += 1
        }
        world.note(answer.utf8.count, "\(kind) ends: \(answer)")
    }
}

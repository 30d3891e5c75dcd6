import LocalData
import Synchronization
import TestSupport

/// What callers and other programs did to each value, and what they were told.
final class Diary: Sendable {
    enum Deed: Sendable {
        case read(String?)
        case readHeldBack(String?)
        case exists(Bool)
        case write(String?)
        case swap(String?, String?, isHeldBack: Bool)
        case older(Int, String?)
        case olderRemoved(Int)
        case powerCut

        /// The older place that it changes, if it does.
        var olderPlace: Int? {
            switch self {
            case .older(let place, _), .olderRemoved(let place): place
            default: nil
            }
        }
    }

    struct Entry: Sendable {
        let key: Int
        var deed: Deed
        let begin: Int
        /// Nil while it may still happen, or have happened, or not.
        var end: Int?
    }

    private struct State {
        var clock = 0
        /// When everything that ran in a round was over.
        var roundEnds: [Int] = []
        var entries: [Int: Entry] = [:]
        var ever = 0
        var lines: [String] = []
        var counts: [String: Int] = [:]
        var leak: String?
    }

    private let state = Mutex(State())
    private let world: Simulation

    init(_ world: Simulation) { self.world = world }

    var entries: [Entry] { state.withLock { $0.entries.sorted { $0.key < $1.key }.map(\.value) } }
    var lines: [String] { state.withLock(\.lines) }
    /// How often calls ended how.
    var counts: [String: Int] { state.withLock(\.counts) }
    /// The first message that told a value.
    var leak: String? { state.withLock(\.leak) }

    /// Writes something down that is no call.
    func note(_ text: String) {
        state.withLock { $0.lines.append("\($0.clock): \(text)") }
        world.note(text.utf8.count, text)
    }

    /// From here on, nothing goes on that was begun before.
    func endRound() {
        state.withLock { state in
            state.clock += 1
            state.roundEnds.append(state.clock)
        }
    }

    /// Looks for values in what people will read.
    func check(message: String) {
        guard message.contains(Marks.value) else { return }
        state.withLock { $0.leak = $0.leak ?? message }
    }

    /// Something that happened at one moment.
    func add(_ key: Int, _ deed: Deed, _ text: String) {
        state.withLock { state in
            state.clock += 2
            state.ever += 1
            state.entries[state.ever] = Entry(key: key, deed: deed, begin: state.clock - 1, end: state.clock)
            state.lines.append("\(state.clock): \(text)")
        }
        world.note(key, text)
    }

    /// A call of one or several keys begins.
    /// - Parameter deeds: What may have happened if it never ends.
    func begin(_ deeds: [(key: Int, deed: Deed)], _ text: String) -> [Int] {
        state.withLock { state in
            state.clock += 1
            state.lines.append("\(state.clock): \(text) begins")
            return deeds.map { key, deed in
                state.ever += 1
                state.entries[state.ever] = Entry(key: key, deed: deed, begin: state.clock)
                return state.ever
            }
        }
    }

    /// How a call ended.
    enum Ending {
        case happened([Deed])
        case didNotHappen
        case unknown
    }

    func end(_ numbers: [Int], _ ending: Ending, _ kind: String, _ answer: String) {
        state.withLock { state in
            state.clock += 1
            switch ending {
            case .happened(let deeds):
                for (number, deed) in zip(numbers, deeds) {
                    state.entries[number]?.deed = deed
                    state.entries[number]?.end = state.clock
                }
            case .didNotHappen: for number in numbers { state.entries[number] = nil }
            case .unknown: break
            }
            state.lines.append("\(state.clock): \(kind) ends: \(answer)")
            state.counts[kind.prefix { $0 != " " } + " " + answer.prefix { $0 != ":" }, default: 0] += 1
        }
        world.note(answer.utf8.count, "\(kind) ends: \(answer)")
    }

    /// A call that looks, and counts only if it is answered.
    func look<R: Sendable>(_ key: Int, _ kind: String, _ body: () async throws -> R, _ deed: (R) -> Deed?) async {
        let numbers = begin([(key, .powerCut)], kind)
        do {
            let result = try await body()
            if let deed = deed(result) {
                end(numbers, .happened([deed]), kind, "answered: \(result)")
            } else {
                end(numbers, .didNotHappen, kind, "answered")
            }
        } catch let error as StorageError {
            check(message: "\(error)")
            end(numbers, .didNotHappen, kind, "\(error.code)")
        } catch { end(numbers, .didNotHappen, kind, "cancelled") }
    }

    /// A call that changes something.
    /// - Parameter deeds: What happened, from what it saw.
    func change(
        _ deeds: [(key: Int, deed: Deed)], _ kind: String, _ body: () async throws -> String?, _ made: ((String?) -> [Deed])? = nil
    ) async {
        let numbers = begin(deeds, kind)
        do {
            let seen = try await body()
            end(numbers, .happened(made?(seen) ?? deeds.map(\.deed)), kind, "done")
        } catch let error as StorageError {
            check(message: "\(error)")
            let answer = "\(error.code) \(error.outcome)"
            switch error.outcome {
            case .applied: end(numbers, .happened(deeds.map(\.deed)), kind, answer)
            case .notApplied: end(numbers, .didNotHappen, kind, answer)
            case .unknown: end(numbers, .unknown, kind, answer)
            }
        } catch { end(numbers, .unknown, kind, "cancelled") }
    }

    /// The calls of one key, as the model reads them.
    func history(of key: Int, _ moving: Moving, _ begin: ValueModel) -> CallHistory<ValueModel> {
        let mine = entries.filter { $0.key == key || $0.key < 0 }
        let changesOfOlder = mine.compactMap { entry -> (place: Int, begin: Int, end: Int)? in
            entry.deed.olderPlace.map { ($0, entry.begin, entry.end ?? .max) }
        }
        func clears(_ entry: Entry) -> Set<Int> {
            guard moving.rules.policy == .sourceWins else { return [] }
            return Set(
                moving.older.indices.filter { place in
                    !changesOfOlder.contains { $0.place == place && $0.begin < entry.end ?? .max && entry.begin < $0.end }
                })
        }
        var history = CallHistory<ValueModel>()
        for entry in mine {
            let isAcknowledged = entry.end != nil
            let action: ValueModel.Action? =
                switch entry.deed {
                case .read(let value): .read(value)
                case .readHeldBack(let value): .readHeldBack(value)
                case .exists(let answer): .exists(answer)
                case .write(let value): .write(value, clears: clears(entry), isAcknowledged: isAcknowledged)
                case .swap(let seen, let left, let isHeldBack) where isAcknowledged:
                    .swap(seen, left, clears: clears(entry), isAcknowledged: true, isHeldBack: isHeldBack)
                case .swap(_, let left, _): .write(left, clears: clears(entry), isAcknowledged: false)
                case .older(let place, let value): .older(place, value)
                case .olderRemoved(let place): .olderRemoved(place)
                case .powerCut: isAcknowledged ? .powerCut : nil
                }
            var end = entry.end ?? .max
            if moving.isChain, entry.deed.olderPlace != nil { end = .max }
            if let action { history.add(action, entry.begin, end) }
        }
        if mine.contains(where: { $0.deed.olderPlace != nil }) {
            for moment in state.withLock(\.roundEnds) { history.add(.endOfRound, moment, moment) }
        }
        return history
    }
}

import LocalData
import Synchronization
import TestSupport

/// What callers did to each record, what they were told, and when, by the wall clock too.
final class RecordDiary: Sendable {
    enum Deed: Sendable {
        case read(String?)
        case listed(String?)
        case exists(Bool)
        case refused
        case write(String?, lifetime: Double?)
        case swap(String?, String?, lifetime: Double?)
        case older(String?, lifetime: Double?)
        case mayMove
        case carried
        case launch(Int)
        case powerCut

        /// The text that it leaves.
        var text: String? {
            switch self {
            case .write(let text, _), .swap(_, let text, _), .older(let text, _): text
            default: nil
            }
        }

        /// What it is where nobody was told what it saw.
        var unseen: Deed { if case .swap(_, let text, let lifetime) = self { .write(text, lifetime: lifetime) } else { self } }

        var isChange: Bool {
            switch self {
            case .write, .swap, .older: true
            default: false
            }
        }
    }

    struct Entry: Sendable {
        /// Which record; -1 for all.
        let record: Int
        var deed: Deed
        let program: Int
        let begin: Int
        let wallBegin: Double
        /// Nil while it may still happen, or have happened, or not.
        var end: Int?
        var wallEnd: Double?

        /// When a value that it leaves is over.
        func life(_ lifetime: Double?) -> Life {
            guard let lifetime else { return .endless }
            return Life(low: wallBegin + lifetime, high: wallEnd.map { $0 + lifetime } ?? .infinity)
        }
    }

    private struct State {
        var clock = 0
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
    var counts: [String: Int] { state.withLock(\.counts) }
    var leak: String? { state.withLock(\.leak) }

    func note(_ text: String) {
        state.withLock { $0.lines.append("\($0.clock): \(text)") }
        world.note(text.utf8.count, text)
    }

    func check(message: String) {
        guard message.contains(Marks.value) else { return }
        state.withLock { $0.leak = $0.leak ?? message }
    }

    /// Something that happened at one moment.
    func add(_ record: Int, _ deed: Deed, by program: Int = 0, _ text: String) {
        let wall = world.wallSeconds
        state.withLock { state in
            state.clock += 2
            state.ever += 1
            state.entries[state.ever] = Entry(
                record: record, deed: deed, program: program, begin: state.clock - 1, wallBegin: wall, end: state.clock, wallEnd: wall)
            state.lines.append("\(state.clock): \(text)")
        }
        world.note(record, text)
    }

    func endRound() {
        state.withLock { state in
            state.clock += 1
            state.roundEnds.append(state.clock)
        }
    }

    func begin(_ deeds: [(record: Int, deed: Deed)], by program: Int, _ text: String) -> [Int] {
        let wall = world.wallSeconds
        return state.withLock { state in
            state.clock += 1
            state.lines.append("\(state.clock): \(text) begins")
            return deeds.map { record, deed in
                state.ever += 1
                state.entries[state.ever] = Entry(record: record, deed: deed, program: program, begin: state.clock, wallBegin: wall)
                return state.ever
            }
        }
    }

    enum Ending {
        case happened([Deed])
        case didNotHappen
        case unknown
    }

    func end(_ numbers: [Int], _ ending: Ending, _ kind: String, _ answer: String) {
        let wall = world.wallSeconds
        state.withLock { state in
            state.clock += 1
            switch ending {
            case .happened(let deeds):
                for (number, deed) in zip(numbers, deeds) {
                    state.entries[number]?.deed = deed
                    state.entries[number]?.end = state.clock
                    state.entries[number]?.wallEnd = wall
                }
            case .didNotHappen: for number in numbers { state.entries[number] = nil }
            case .unknown: break
            }
            state.lines.append("\(state.clock): \(kind) ends: \(answer)")
            state.counts[kind.prefix { $0 != " " } + " " + answer.prefix { $0 != ":" }, default: 0] += 1
        }
        world.note(answer.utf8.count, "\(kind) ends: \(answer)")
    }

    /// A call: what it may have done if it never ends, and what it did, from what it saw.
    /// - Parameter isLook: Whether it changes nothing: then it counts only if it was answered.
    func call<R: Sendable>(
        _ deeds: [(record: Int, deed: Deed)], by program: Int, isLook: Bool = false, _ kind: String, _ body: () async throws -> R,
        _ made: (R) -> [Deed]?
    ) async {
        let numbers = begin(deeds, by: program, kind)
        do {
            let result = try await body()
            end(numbers, made(result).map(Ending.happened) ?? .didNotHappen, kind, isLook ? "answered: \(result)" : "done")
        } catch let error as StorageError {
            check(message: "\(error)")
            let answer = "\(error.code) \(error.outcome)"
            if error.code == StorageError.incompatibleSchema, error.outcome == .notApplied, deeds.count == 1 {
                return end(numbers, .happened([.refused]), kind, answer)
            }
            switch error.outcome {
            // What it saw was not told.
            case .applied where !isLook: end(numbers, .happened(deeds.map(\.deed.unseen)), kind, answer)
            case .unknown where !isLook: end(numbers, .unknown, kind, answer)
            default: end(numbers, .didNotHappen, kind, answer)
            }
        } catch { end(numbers, isLook ? .didNotHappen : .unknown, kind, "cancelled") }
    }

    /// The calls of one record, as the model reads them.
    func history(of record: Int) -> CallHistory<RecordModel> {
        var history = CallHistory<RecordModel>()
        for entry in entries where entry.record == record || entry.record < 0 {
            let isAcknowledged = entry.end != nil
            let span = Span(begin: entry.wallBegin, end: entry.wallEnd ?? .infinity)
            let action: RecordModel.Action? =
                switch entry.deed {
                case .read(let seen): .read(seen, by: entry.program, span)
                case .listed(let seen): .listed(seen, by: entry.program, span)
                case .exists(let answer): .exists(answer, span)
                case .refused: .refused(by: entry.program)
                case .write(let text, let lifetime):
                    .write(text, by: entry.program, text == nil ? .endless : entry.life(lifetime), isAcknowledged: isAcknowledged)
                case .swap(let seen, let left, let lifetime) where isAcknowledged:
                    .swap(seen, left, by: entry.program, left == nil ? .endless : entry.life(lifetime), span)
                case .swap(_, let left, let lifetime):
                    .write(
                        left, by: entry.program, left == nil || lifetime == nil ? .endless : Life(low: 0, high: .infinity),
                        isAcknowledged: false)
                case .older(let text, let lifetime): .older(text, text == nil ? .endless : entry.life(lifetime))
                case .mayMove: .mayMove
                case .carried: isAcknowledged ? .carried : nil
                case .launch(let version): .launch(version)
                case .powerCut: isAcknowledged ? .powerCut : nil
                }
            if let action { history.add(action, entry.begin, entry.end ?? .max) }
        }
        for moment in state.withLock(\.roundEnds) { history.add(.endOfRound, moment, moment) }
        return history
    }
}

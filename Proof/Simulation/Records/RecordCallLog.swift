import LocalData
import TestSupport

/// An operation of a caller on a record, or of a program on all records.
package enum RecordDeed: CampaignDeed {
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

    package var isPowerCut: Bool { if case .powerCut = self { true } else { false } }

    /// The text that the operation stores; nil if it stores none.
    var text: String? {
        switch self {
        case .write(let text, _), .swap(_, let text, _), .older(let text, _): text
        default: nil
        }
    }

    /// The operation without the previous value, for a call that failed after its change. Its error does not contain
    /// this value, so a swap becomes a write.
    var unseen: RecordDeed { if case .swap(_, let text, let lifetime) = self { .write(text, lifetime: lifetime) } else { self } }

    var isChange: Bool {
        switch self {
        case .write, .swap, .older: true
        default: false
        }
    }
}

extension CallLog.Entry where Deed == RecordDeed {
    /// When the value that the call wrote expires. This is an interval, because the exact time of the write is not
    /// known.
    func life(_ lifetime: Double?) -> Life {
        guard let lifetime else { return .endless }
        return Life(low: wallBegin + lifetime, high: wallEnd.map { $0 + lifetime } ?? .infinity)
    }
}

extension CallLog where Deed == RecordDeed {
    /// Makes a call and records it.
    /// - Parameters:
    ///   - deeds: The operations of the call. If the call never ends, they may have happened.
    ///   - isLook: Whether the call only reads. Such a call is not recorded if it fails.
    ///   - made: Returns the operations that took place, given the result of the call.
    func call<R: Sendable>(
        _ deeds: [(key: Int, deed: RecordDeed)], by program: Int, isLook: Bool = false, _ kind: String, _ body: () async throws -> R,
        _ made: (R) -> [RecordDeed]?
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
            // The error does not contain the previous value.
            case .applied where !isLook: end(numbers, .happened(deeds.map(\.deed.unseen)), kind, answer)
            case .unknown where !isLook: end(numbers, .unknown, kind, answer)
            default: end(numbers, .didNotHappen, kind, answer)
            }
        } catch { end(numbers, isLook ? .didNotHappen : .unknown, kind, "cancelled") }
    }

    /// The calls of one record, as actions of the model.
    func history(of record: Int, _ rules: RecordModel.Rules) -> CallHistory<RecordModel> {
        var history = CallHistory<RecordModel>()
        // A list is written as a whole.
        let isRewritten = rules.isList && rules.policy != .destinationWins
        func concerns(_ entry: Entry) -> Bool {
            if case .older = entry.deed, isRewritten { return true }
            return entry.key == record || entry.key < 0
        }
        let mine = entries.filter(concerns)
        let changesOfOlder = mine.filter { if case .older = $0.deed { true } else { false } }
        // An acknowledged change replaces the content of the legacy location. No migration changes the value after it,
        // unless its source was written after the change.
        func clears(_ entry: Entry) -> Bool {
            rules.policy != .destinationWins
                && !changesOfOlder.contains { $0.begin < entry.end ?? .max && entry.begin < $0.end ?? .max }
        }
        for entry in mine {
            let isAcknowledged = entry.end != nil
            let span = Span(begin: entry.wallBegin, end: entry.wallEnd ?? .infinity)
            let action: RecordModel.Action? =
                switch entry.deed {
                case .read(let seen): .read(seen, by: entry.program, span)
                case .listed(let seen): .listed(seen, by: entry.program, span)
                case .exists(let answer): .exists(answer, span)
                case .refused: .refused(by: entry.program)
                case .older where entry.key != record: .rewritten
                case .write(let text, let lifetime):
                    .write(
                        text, by: entry.program, text == nil ? .endless : entry.life(lifetime), clears: clears(entry),
                        isAcknowledged: isAcknowledged)
                case .swap(let seen, let left, let lifetime) where isAcknowledged:
                    .swap(seen, left, by: entry.program, left == nil ? .endless : entry.life(lifetime), span, clears: clears(entry))
                case .swap(_, let left, let lifetime):
                    .write(
                        left, by: entry.program, left == nil || lifetime == nil ? .endless : Life(low: 0, high: .infinity),
                        clears: clears(entry), isAcknowledged: false)
                case .older(let text, let lifetime): .older(text, text == nil ? .endless : entry.life(lifetime))
                case .mayMove: .mayMove
                case .carried: isAcknowledged ? .carried : nil
                case .launch(let version): .launch(version)
                case .powerCut: isAcknowledged ? .powerCut : nil
                }
            if let action { history.add(action, entry.begin, entry.end ?? .max) }
        }
        for moment in roundEnds { history.add(.endOfRound, moment, moment) }
        return history
    }
}

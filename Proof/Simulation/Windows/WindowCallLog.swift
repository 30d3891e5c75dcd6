import LocalData
import TestSupport

/// An operation that a caller or another program performs on a value. Several versions of the program use this value.
package enum WindowDeed: CampaignDeed {
    /// A call that only reads, and whose result is not recorded: it got no answer, or its answer is not checked.
    case look
    case read(String?)
    case exists(Bool)
    /// - `isCalm`: Whether no fault occurred during the call. It means the same in the cases below.
    case write(String?, isCalm: Bool)
    case swap(String?, String?, isCalm: Bool)
    /// A sweep, which migrates all keys and decides conflicts; or the end of the release window.
    case settle(isCalm: Bool, ends: Bool = false)
    /// A change by a program without LocalData.
    case foreign(String?, isRepeated: Bool)
    /// The numbers of all texts in the stores and the quarantine at the end.
    case found(Set<Int>)
    case powerCut

    package var isPowerCut: Bool { if case .powerCut = self { true } else { false } }

    /// The text that a call intends to write.
    var written: String? {
        switch self {
        case .write(let text, _), .swap(_, let text, _): text
        default: nil
        }
    }

    /// The change of a call that failed after it had made the change. The previous value is not known.
    fileprivate var applied: WindowDeed { if case .swap(_, let left, let isCalm) = self { .write(left, isCalm: isCalm) } else { self } }
}

extension CallLog where Deed == WindowDeed {
    /// Makes a call of one or several keys and records it.
    /// - Parameters:
    ///   - deeds: The operations that may have happened if the call never ends.
    ///   - version: The version of the program.
    ///   - made: Returns the operations that took place, given the result of the call.
    func call<R: Sendable>(
        _ deeds: [(key: Int, deed: WindowDeed)], by version: Int, _ kind: String, _ body: () async throws -> R,
        _ made: (R) -> [WindowDeed]
    ) async {
        let numbers = begin(deeds, by: version, kind)
        var (isLook, isSettling) = (false, false)
        switch deeds.first?.deed {
        case .look: isLook = true
        case .settle: isSettling = true
        default: break
        }
        do {
            let result = try await body()
            end(numbers, .happened(made(result)), kind, isLook ? "answered: \(result)" : "done: \(result)")
        } catch let error as StorageError {
            check(message: "\(error)")
            let answer = "\(error.code) \(error.outcome)"
            switch error.outcome {
            case _ where isLook: end(numbers, .didNotHappen, kind, answer)
            // A sweep that failed may have changed something before.
            case _ where isSettling: end(numbers, .unknown, kind, answer)
            case .applied: end(numbers, .happened(deeds.map(\.deed.applied)), kind, answer)
            case .notApplied: end(numbers, .didNotHappen, kind, answer)
            case .unknown: end(numbers, .unknown, kind, answer)
            }
        } catch { end(numbers, isLook ? .didNotHappen : .unknown, kind, "cancelled") }
    }

    /// The calls of one key, as actions of the model of a moving value.
    /// - Parameter isActive: For each round, whether one of its programs uses the destination. A round is a group of
    ///   programs that run at the same time. The history assumes `true` for the time after the last round.
    /// - Parameter isBare: Whether version 1 writes the key's value without a revision.
    /// - Parameter repetitions: How often at most a sweep decides about a key again.
    func history(of key: Int, isActive: [Bool], isBare: Bool, repetitions: Int) -> CallHistory<WindowModel> {
        let mine = entries.filter { $0.key == key || $0.key < 0 }
        let breaks = (roundEnds + mine.filter(\.deed.isPowerCut).map(\.begin)).sorted()
        // Returns the latest possible end of a call. A call without an end can last only until its program ends.
        func bound(_ entry: Entry) -> Int { entry.end ?? breaks.first { $0 > entry.begin } ?? .max }
        func meet(_ one: Entry, _ other: Entry) -> Bool {
            one.begin != other.begin && one.begin < bound(other) && other.begin < bound(one)
        }
        func isMet(_ entry: Entry, where isMeant: (Entry) -> Bool) -> Bool { mine.contains { isMeant($0) && meet($0, entry) } }
        var history = CallHistory<WindowModel>()
        // In the history, each time of the log is doubled. So there is a moment for a check between the end of a call
        // and the next event.
        func add(_ action: WindowModel.Action, _ entry: Entry, isOptional: Bool? = nil) {
            let end = bound(entry)
            history.add(action, entry.begin * 2, end == .max ? .max : end * 2, isOptional: isOptional ?? (entry.end == nil))
        }
        for entry in mine {
            if entry.program == 1, let action = Self.older(entry, isBare: isBare) {
                add(action, entry)
                continue
            }
            var ends = entry.program > 2
            func isBlind(_ isCalm: Bool) -> Bool { !isCalm || isMet(entry, where: Self.isOlderChange) }
            func demand(_ isCalm: Bool, sweeps: Bool) {
                guard isCalm, let end = entry.end, !isMet(entry, where: Self.isChange) else { return }
                history.add(.inStep(ends: ends, sweeps: sweeps), end * 2 + 1, end * 2 + 1)
            }
            switch entry.deed {
            case .look: break
            case .read(let value):
                add(.read(value, ends: ends), entry)
                // The legacy location may change after the read found the value there, and before it writes the destination.
                if value != nil, isMet(entry, where: Self.isOlderChange) { add(.carry, entry, isOptional: true) }
            case .exists(let answer): add(.exists(answer), entry)
            case .write(let value, let isCalm):
                add(.write(value, isBlind: isBlind(isCalm), isAcknowledged: entry.end != nil, ends: ends), entry)
                demand(isCalm, sweeps: false)
            case .swap(let seen, let left, let isCalm) where entry.end != nil:
                add(.swap(seen, left, isBlind: isBlind(isCalm), ends: ends), entry)
                demand(isCalm, sweeps: false)
            case .swap(_, let left, _): add(.write(left, isBlind: true, isAcknowledged: false, ends: ends), entry)
            case .settle(let isCalm, let endsWindow):
                // A call that ends the window follows the rules of version 3, for which the window is over.
                ends = ends || endsWindow
                add(.settle(ends: ends), entry)
                // Each time the legacy location changes during a sweep, the sweep may decide about the earlier content. Then it visits
                // the key again, and may decide another conflict. So further sweeps are added, which may have happened or not.
                for _ in mine.filter({ Self.isOlderChange($0) && meet($0, entry) }).prefix(repetitions) {
                    add(.take, entry, isOptional: true)
                    add(.settle(ends: ends), entry, isOptional: true)
                }
                demand(isCalm, sweeps: true)
            case .foreign(let value, let isRepeated):
                add(.older(value, isAcknowledged: entry.end != nil, isBare: true, isRepeated: isRepeated), entry)
            case .found(let numbers): add(.end(numbers), entry)
            case .powerCut: add(.powerCut, entry)
            }
        }
        for (round, moment) in roundEnds.enumerated() {
            history.add(.round(isActive: round + 1 < isActive.count ? isActive[round + 1] : true), moment * 2, moment * 2)
        }
        return history
    }

    /// The model's action for a call of version 1, which uses only the legacy location. It is nil for a call that
    /// changed nothing and got no answer.
    private static func older(_ entry: Entry, isBare: Bool) -> WindowModel.Action? {
        switch entry.deed {
        case .read(let value): .olderRead(value)
        case .write(let value, _):
            .older(
                value, isAcknowledged: entry.end != nil, isBare: isBare,
                isRepeated: isBare && value == WindowScene.beginning(of: entry.key))
        case .swap(let seen, let left, _) where entry.end != nil: .olderSwap(seen, left)
        case .swap(_, let left, _): .older(left, isAcknowledged: false, isBare: false, isRepeated: false)
        default: nil
        }
    }

    /// Whether a program changed the legacy location without reading the destination.
    private static func isOlderChange(_ entry: Entry) -> Bool {
        switch entry.deed {
        case .write, .swap: entry.program == 1
        case .foreign: true
        default: false
        }
    }

    private static func isChange(_ entry: Entry) -> Bool {
        switch entry.deed {
        case .write, .swap, .settle, .foreign: true
        default: false
        }
    }
}

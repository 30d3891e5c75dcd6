import LocalData
import TestSupport

/// What a caller, or another program, did to a value whose older place is kept up to date.
package enum WindowDeed: CampaignDeed {
    /// A look that has not been answered.
    case look
    case read(String?)
    case exists(Bool)
    /// - `isCalm`: whether nothing was wrong meanwhile; here and below.
    case write(String?, isCalm: Bool)
    case swap(String?, String?, isCalm: Bool)
    case olderRead(String?)
    case older(String?, isBare: Bool, isRepeated: Bool)
    case olderSwap(String?, String?)
    /// A sweep, or the end of the window.
    case settle(isCalm: Bool)
    /// What is found in the end.
    case found(Set<Int>)
    case powerCut

    package var isPowerCut: Bool { if case .powerCut = self { true } else { false } }

    /// What is known to have happened where a call failed after its change.
    fileprivate var applied: WindowDeed {
        switch self {
        case .swap(_, let left, let isCalm): .write(left, isCalm: isCalm)
        case .olderSwap(_, let left): .older(left, isBare: false, isRepeated: false)
        default: self
        }
    }

    /// Whether the older place is changed, by who does not look at the key's place.
    fileprivate var isOlderChange: Bool {
        switch self {
        case .older, .olderSwap: true
        default: false
        }
    }

    fileprivate var isChange: Bool {
        switch self {
        case .write, .swap, .settle: true
        default: isOlderChange
        }
    }
}

extension Diary where Deed == WindowDeed {
    /// A call of one or several keys.
    /// - Parameters:
    ///   - version: The version of the program.
    ///   - deeds: What may have happened if the call never ends.
    ///   - made: What happened, from what the call returned.
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
            // It may have done its first steps.
            case _ where isSettling: end(numbers, .unknown, kind, answer)
            case .applied: end(numbers, .happened(deeds.map(\.deed.applied)), kind, answer)
            case .notApplied: end(numbers, .didNotHappen, kind, answer)
            case .unknown: end(numbers, .unknown, kind, answer)
            }
        } catch { end(numbers, isLook ? .didNotHappen : .unknown, kind, "cancelled") }
    }

    /// The calls of one key, as the model reads them.
    /// - Parameter isActive: Whether a program that knows the key's place runs in each of the rounds, and after the last.
    func history(of key: Int, _ isActive: [Bool]) -> CallHistory<WindowModel> {
        let mine = entries.filter { $0.key == key || $0.key < 0 }
        let breaks = (roundEnds + mine.filter(\.deed.isPowerCut).map(\.begin)).sorted()
        /// When a call is over at the latest: what its program had begun does not outlive it.
        func bound(_ entry: Entry) -> Int { entry.end ?? breaks.first { $0 > entry.begin } ?? .max }
        func isMet(_ entry: Entry, where isMeant: (WindowDeed) -> Bool) -> Bool {
            mine.contains { other in
                other.begin != entry.begin && isMeant(other.deed) && other.begin < bound(entry) && entry.begin < bound(other)
            }
        }
        var history = CallHistory<WindowModel>()
        // Between two moments of the diary there is room for what must hold after a call.
        func add(_ action: WindowModel.Action, _ entry: Entry) {
            history.add(action, entry.begin * 2, bound(entry) == .max ? .max : bound(entry) * 2, isOptional: entry.end == nil)
        }
        func demand(_ entry: Entry, sweeps: Bool) {
            guard let end = entry.end, !isMet(entry, where: \.isChange) else { return }
            history.add(.inStep(ends: entry.program > 2, sweeps: sweeps), end * 2 + 1, end * 2 + 1)
        }
        for entry in mine {
            let ends = entry.program > 2
            func isBlind(_ isCalm: Bool) -> Bool { !isCalm || isMet(entry, where: \.isOlderChange) }
            switch entry.deed {
            case .look: break
            case .read(let value): add(.read(value, ends: ends), entry)
            case .exists(let answer): add(.exists(answer), entry)
            case .write(let value, let isCalm):
                add(.write(value, isBlind: isBlind(isCalm), isAcknowledged: entry.end != nil, ends: ends), entry)
                if isCalm { demand(entry, sweeps: false) }
            case .swap(let seen, let left, let isCalm) where entry.end != nil:
                add(.swap(seen, left, isBlind: isBlind(isCalm), ends: ends), entry)
                if isCalm { demand(entry, sweeps: false) }
            case .swap(_, let left, _): add(.write(left, isBlind: true, isAcknowledged: false, ends: ends), entry)
            case .olderRead(let value): add(.olderRead(value), entry)
            case .older(let value, let isBare, let isRepeated):
                add(.older(value, isAcknowledged: entry.end != nil, isBare: isBare, isRepeated: isRepeated), entry)
            case .olderSwap(let seen, let left) where entry.end != nil: add(.olderSwap(seen, left), entry)
            case .olderSwap(_, let left): add(.older(left, isAcknowledged: false, isBare: false, isRepeated: false), entry)
            case .settle(let isCalm):
                add(.settle(ends: ends), entry)
                // If the older place changes during a sweep, the sweep visits the key again and may decide a second conflict.
                if isMet(entry, where: \.isOlderChange) {
                    history.add(.settle(ends: ends), entry.begin * 2, bound(entry) == .max ? .max : bound(entry) * 2, isOptional: true)
                }
                if isCalm { demand(entry, sweeps: true) }
            case .found(let numbers): add(.end(numbers), entry)
            case .powerCut: add(.powerCut, entry)
            }
        }
        for (round, moment) in roundEnds.enumerated() {
            history.add(.round(isActive: round + 1 < isActive.count ? isActive[round + 1] : true), moment * 2, moment * 2)
        }
        return history
    }
}

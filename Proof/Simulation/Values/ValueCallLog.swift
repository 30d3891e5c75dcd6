import LocalData
import TestSupport

/// An operation on a value, by a caller or by another program.
package enum ValueDeed: CampaignDeed {
    case read(String?)
    case readHeldBack(String?)
    case exists(Bool)
    case write(String?)
    case swap(String?, String?, isHeldBack: Bool)
    case older(Int, String?)
    case olderRemoved(Int)
    case powerCut

    package var isPowerCut: Bool { if case .powerCut = self { true } else { false } }

    /// The number of the legacy location that the operation changes; nil if it changes none.
    var olderPlace: Int? {
        switch self {
        case .older(let place, _), .olderRemoved(let place): place
        default: nil
        }
    }
}

extension CallLog where Deed == ValueDeed {
    /// Makes a call that only reads. The call is not recorded if it fails.
    func look<R: Sendable>(_ key: Int, _ kind: String, _ body: () async throws -> R, _ deed: (R) -> ValueDeed?) async {
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

    /// Makes a call that changes values.
    /// - Parameters:
    ///   - deeds: The changes that the call intends to make.
    ///   - made: Returns the changes that were made, given the previous value that the call returned. If it is nil,
    ///     these are the changes of `deeds`.
    func change(
        _ deeds: [(key: Int, deed: ValueDeed)], _ kind: String, _ body: () async throws -> String?,
        _ made: ((String?) -> [ValueDeed])? = nil
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

    /// The calls of one key, as actions of the model.
    func history(of key: Int, _ moving: Moving, _ begin: ValueModel) -> CallHistory<ValueModel> {
        let mine = entries.filter { $0.key == key || $0.key < 0 }
        let changesOfOlder = mine.compactMap { entry -> (place: Int, begin: Int, end: Int)? in
            entry.deed.olderPlace.map { ($0, entry.begin, entry.end ?? .max) }
        }
        func clears(_ entry: Entry) -> Set<Int> {
            guard moving.rules.policy != .destinationWins else { return [] }
            // An acknowledged change replaces the contents of the legacy locations, also those that could not be read. No
            // migration changes the value after it, unless its source was written after the change.
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
                case .older(let place, let value): .older(place, value, isAcknowledged: isAcknowledged)
                case .olderRemoved(let place): .olderRemoved(place, isAcknowledged: isAcknowledged)
                case .powerCut: isAcknowledged ? .powerCut : nil
                }
            var end = entry.end ?? .max
            if moving.isChain, entry.deed.olderPlace != nil { end = .max }
            if let action { history.add(action, entry.begin, end) }
        }
        if mine.contains(where: { $0.deed.olderPlace != nil }) {
            for moment in roundEnds { history.add(.endOfRound, moment, moment) }
        }
        return history
    }
}

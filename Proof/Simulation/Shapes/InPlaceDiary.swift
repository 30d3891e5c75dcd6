import LocalData
import TestSupport

/// What a caller, or another program, did to a value that is kept in several shapes.
package enum InPlaceDeed: CampaignDeed {
    /// A look that has not been answered, or tells nothing.
    case look
    case read(String?)
    case exists(Bool)
    case write(String?)
    case swap(String?, String?)
    case refusedVersion
    case refusedShape(String)
    /// A sweep, or the end of the window.
    case settle(ends: Bool, isRead: Bool)
    case foreign(String?)
    /// What is found in the end.
    case found(Set<Int>)
    case powerCut

    package var isPowerCut: Bool { if case .powerCut = self { true } else { false } }

    /// What is known to have happened where a call failed after its change.
    fileprivate var applied: InPlaceDeed { if case .swap(_, let left) = self { .write(left) } else { self } }

    /// What a call of one key was refused for, by its error.
    fileprivate func refusal(_ error: StorageError) -> InPlaceDeed? {
        switch (self, error.code) {
        case (.look, StorageError.incompatibleSchema), (.write(.some), StorageError.incompatibleSchema),
            (.swap, StorageError.incompatibleSchema):
            .refusedVersion
        case (.write(let text?), StorageError.encodingFailed), (.swap(_, let text?), StorageError.encodingFailed): .refusedShape(text)
        default: nil
        }
    }
}

extension Diary where Deed == InPlaceDeed {
    /// A call of one or several keys.
    /// - Parameters:
    ///   - version: The version of the program.
    ///   - deeds: What may have happened if the call never ends.
    ///   - made: What happened, from what the call returned.
    ///   - refused: Told of what the call was refused for.
    func call<R: Sendable>(
        _ deeds: [(key: Int, deed: InPlaceDeed)], by version: Int, _ kind: String, _ body: () async throws -> R,
        _ made: (R) -> [InPlaceDeed], refused: (InPlaceDeed) -> Void = { _ in }
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
            let refusal = deeds.count == 1 ? deeds[0].deed.refusal(error) : nil
            if let refusal, error.outcome == .notApplied {
                refused(refusal)
                return end(numbers, .happened([refusal]), kind, answer)
            }
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
    func history(of key: Int, _ readers: [Int: InPlaceModel.Reader]) -> CallHistory<InPlaceModel> {
        let mine = entries.filter { $0.key == key || $0.key < 0 }
        let breaks = (roundEnds + mine.filter(\.deed.isPowerCut).map(\.begin)).sorted()
        var history = CallHistory<InPlaceModel>()
        for entry in mine {
            // A call is over at the latest when its program is.
            let bound = entry.end ?? breaks.first { $0 > entry.begin } ?? .max
            func add(_ action: InPlaceModel.Action) { history.add(action, entry.begin, bound, isOptional: entry.end == nil) }
            let reader = readers[entry.program] ?? InPlaceModel.Reader(newest: 1)
            switch entry.deed {
            case .look: break
            case .read(let value): add(.read(value, reader))
            case .exists(let answer): add(.exists(answer))
            case .write(let value): add(.write(value, reader, isAcknowledged: entry.end != nil))
            case .swap(let seen, let left) where entry.end != nil: add(.swap(seen, left, reader))
            case .swap(_, let left): add(.write(left, reader, isAcknowledged: false))
            case .refusedVersion: add(.refusedVersion(reader))
            case .refusedShape(let text): add(.refusedShape(text, reader))
            case .settle(let ends, let isRead):
                let action = InPlaceModel.Action.settle(reader, ends: ends, isRead: isRead)
                add(action)
                // If the slot is changed after its work, it looks again, and may have more to do.
                let isMet = mine.contains { $0.begin != entry.begin && $0.begin < bound && entry.begin < $0.end ?? .max }
                if isMet { history.add(action, entry.begin, bound, isOptional: true) }
            case .foreign(let text): add(.foreign(text))
            case .found(let numbers): add(.end(numbers))
            case .powerCut: add(.powerCut)
            }
        }
        return history
    }
}

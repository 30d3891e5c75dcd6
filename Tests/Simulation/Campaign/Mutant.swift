package import LocalData

/// The protocol with one of its parts taken away. The campaign must find out.
package enum Mutant: String, CaseIterable, Sendable, Codable {
    case noLane, noPrecondition, noTombstone, noDurabilityBarrier, deleteBeforeDurable, lockedAsAbsent, unavailableAsAbsent, noSecondLook
    case sharedSourceCollected, noProtectionCheck, originNotCarried, lockDropped
    /// A store that acknowledges as durable what is not.
    case lyingStore

    /// What a router keeps to.
    package var safeguards: Safeguards {
        switch self {
        case .noLane: Safeguards.all.subtracting(.lanes)
        case .noDurabilityBarrier: Safeguards.all.subtracting(.durabilityBarrier)
        case .deleteBeforeDurable: Safeguards.all.subtracting(.destinationFirst)
        case .noSecondLook: Safeguards.all.subtracting(.secondLook)
        case .sharedSourceCollected: Safeguards.all.subtracting(.sharedSources)
        case .noProtectionCheck: Safeguards.all.subtracting(.protection)
        case .originNotCarried: Safeguards.all.subtracting(.carriedOrigin)
        default: .all
        }
    }

    /// The kind of migration in which its absence tells soonest; nil where any will do.
    package var telling: Kind? {
        switch self {
        case .noLane: .byHand
        case .noSecondLook: .several
        case .noDurabilityBarrier, .originNotCarried: .keyring
        case .sharedSourceCollected: .shared
        default: nil
        }
    }

    /// What a router makes of its stores: a precondition that is not given is one that is not looked at.
    package var faults: SimulatedStore.Faults {
        switch self {
        case .noPrecondition: .forgetsConditions
        case .noTombstone: .forgetsTombstones
        case .lockedAsAbsent: .callsLockedAbsent
        case .unavailableAsAbsent: .callsUnavailableAbsent
        case .lockDropped: .dropsLock
        case .lyingStore: .lies
        default: []
        }
    }
}

package import LocalData

/// The protocol with one of its parts taken away. The campaigns must find out.
package enum Mutant: String, CaseIterable, Sendable, Codable {
    /// Parts of writing and moving values.
    case noLane, noTombstone, noDurabilityBarrier, deleteBeforeDurable, noSecondLook, olderPlacesNotRead, sharedSourceCollected,
        noProtectionCheck, originNotCarried, copiesByContent
    /// Parts of versions, collections and lifetimes.
    case convertedOverAnything, markBeforeRecords, noBackup, expiryNotCarried, expiredFallsBack, purgesAtOnce, noValidation,
        laterVersionNotChecked
    case referredNotStored, noRemovalEpoch
    /// Seals.
    case metadataBelieved
    /// Parts of release windows.
    case collectsInWindow, olderWriteNotSeen, mirrorUnchecked
    /// Parts of shapes in place.
    case downSkipped, newerShapeDropped, removalForgotten
    /// Parts of keys that are rotated.
    case resealedOverAnything
    /// Stores that break their promises.
    case noPrecondition, lockedAsAbsent, unavailableAsAbsent, lockDropped, lyingStore

    /// What a router keeps to.
    package var safeguards: Safeguards {
        switch self {
        case .noLane: Safeguards.all.subtracting(.lanes)
        case .noDurabilityBarrier: Safeguards.all.subtracting(.durabilityBarrier)
        case .deleteBeforeDurable: Safeguards.all.subtracting(.destinationFirst)
        case .noSecondLook: Safeguards.all.subtracting(.secondLook)
        case .olderPlacesNotRead: Safeguards.all.subtracting(.olderPlacesRead)
        case .sharedSourceCollected: Safeguards.all.subtracting(.sharedSources)
        case .noProtectionCheck: Safeguards.all.subtracting(.protection)
        case .originNotCarried: Safeguards.all.subtracting(.carriedOrigin)
        case .copiesByContent: Safeguards.all.subtracting(.copiesByRevision)
        case .convertedOverAnything: Safeguards.all.subtracting(.convertedUnchanged)
        case .markBeforeRecords: Safeguards.all.subtracting(.markWithRecords)
        case .noBackup: Safeguards.all.subtracting(.backups)
        case .expiryNotCarried: Safeguards.all.subtracting(.carriedExpiry)
        case .expiredFallsBack: Safeguards.all.subtracting(.expiryDecides)
        case .purgesAtOnce: Safeguards.all.subtracting(.purgeDelay)
        case .noValidation: Safeguards.all.subtracting(.validation)
        case .laterVersionNotChecked: Safeguards.all.subtracting(.laterVersions)
        case .noRemovalEpoch: Safeguards.all.subtracting(.removalEpoch)
        case .metadataBelieved: Safeguards.all.subtracting(.sealsProven)
        case .referredNotStored: Safeguards.all.subtracting(.referredRecords)
        case .collectsInWindow: Safeguards.all.subtracting(.mirrorsKept)
        case .olderWriteNotSeen: Safeguards.all.subtracting(.olderWriteSeen)
        case .mirrorUnchecked: Safeguards.all.subtracting(.mirrorRevision)
        case .downSkipped: Safeguards.all.subtracting(.olderShapeWritten)
        case .newerShapeDropped: Safeguards.all.subtracting(.olderShapeChecked)
        case .removalForgotten: Safeguards.all.subtracting(.removalNamed)
        case .resealedOverAnything: Safeguards.all.subtracting(.resealedUnchanged)
        case .noTombstone, .noPrecondition, .lockedAsAbsent, .unavailableAsAbsent, .lockDropped, .lyingStore: .all
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

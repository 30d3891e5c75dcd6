#if MUTANTS
    import LocalData
#endif

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
    /// Parts of keys that are rotated.
    case resealedOverAnything
    /// Stores that break their promises.
    case noPrecondition, lockedAsAbsent, unavailableAsAbsent, lockDropped, lyingStore

    /// The faults of its stores; empty if the mutant is a patch of the library.
    package var faults: SimulatedStore.Faults {
        switch self {
        case .noPrecondition: .forgetsConditions
        case .noTombstone: .forgetsTombstones
        case .noDurabilityBarrier: .overstatesDurability
        case .noProtectionCheck: .overstatesProtection
        case .lockedAsAbsent: .callsLockedAbsent
        case .unavailableAsAbsent: .callsUnavailableAbsent
        case .lockDropped: .dropsLock
        case .lyingStore: .lies
        default: []
        }
    }

    // MARK: Patches

    /// Whether it is a patch of the library, in the folder Proof/Mutants. `Scripts/mutate` builds a copy with all of them.
    package var isPatch: Bool { faults.isEmpty }

    /// Whether this build contains the patches.
    package static var hasPatches: Bool {
        #if MUTANTS
            return true
        #else
            return false
        #endif
    }

    /// Whether this build can run it.
    package var isAvailable: Bool { Self.hasPatches || !isPatch }

    /// The error for a mutant that is not available.
    package static let unavailable = "This build contains no patches. Run: Scripts/mutate, with the same arguments."

    /// Switches the patch of a mutant on in the whole process, and all others off.
    static func activate(_ mutant: Mutant?) {
        #if MUTANTS
            Mutation.set(mutant?.rawValue)
        #else
            precondition(mutant?.isPatch != true, unavailable)
        #endif
    }
}

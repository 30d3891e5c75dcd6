#if MUTANTS
    import LocalData
#endif

/// A variant of the library, or of its simulated stores, with one safety measure switched off. For each mutant, at
/// least one simulated run must break a rule.
package enum Mutant: String, CaseIterable, Sendable, Codable {
    /// Mutants of writing and of moving values.
    case noLane, noTombstone, noDurabilityBarrier, deleteBeforeDurable, noSecondLook, olderPlacesNotRead, sharedSourceCollected,
        noProtectionCheck, copiesByContent, pageOverAnything, noReadAfterSources
    /// Mutants of changes that replace a legacy value: no copy is named, a copy with better protection is not named, not
    /// even its location, or a location that cannot be read is not recorded.
    case replacedNotNamed, copyNotNamed, unnamedNotRecorded, unreadableNotRecorded
    /// Mutants of schema versions, collections and lifetimes.
    case convertedOverAnything, markBeforeRecords, noBackup, expiryNotCarried, expiredFallsBack, purgesAtOnce, noValidation,
        laterVersionNotChecked, conflictExpiryLost
    case referredNotStored, noRemovalEpoch
    /// Mutants of seals.
    case metadataBelieved
    /// Mutants of release windows.
    case collectsInWindow, olderWriteNotSeen, mirrorUnchecked
    /// Mutants of key rotation.
    case resealedOverAnything
    /// Stores that break the contract of a backend.
    case noPrecondition, lockedAsAbsent, unavailableAsAbsent, lockDropped, lyingStore

    /// The faults of the mutant's stores; empty if the mutant is a patch of the library.
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

    /// Whether the mutant is a patch of the library, in the folder Proof/Mutants. `Scripts/mutate` builds a copy of
    /// the library with all patches.
    package var isPatch: Bool { faults.isEmpty }

    /// Whether this build contains the patches.
    package static var hasPatches: Bool {
        #if MUTANTS
            return true
        #else
            return false
        #endif
    }

    /// Whether this build can run the mutant.
    package var isAvailable: Bool { Self.hasPatches || !isPatch }

    /// The error for a mutant that is not available.
    package static let unavailable = "This build contains no patches. Run: Scripts/mutate, with the same arguments."

    /// Switches on the patch of a mutant for the whole process, and switches off all others.
    static func activate(_ mutant: Mutant?) {
        #if MUTANTS
            Mutation.set(mutant?.rawValue)
        #else
            precondition(mutant?.isPatch != true, unavailable)
        #endif
    }
}

package import LocalData

/// The protocol of versions, collections and lifetimes with one of its parts taken away: see ``Mutant``.
package enum RecordMutant: String, CaseIterable, Sendable, Codable {
    case convertedOverAnything, deleteBeforeDurable, markBeforeRecords, noBackup, expiryNotCarried, expiredFallsBack, noValidation
    case laterVersionNotChecked, referredNotStored
    /// Stores that break their promises.
    case noPrecondition, noTombstone, lockedAsAbsent, unavailableAsAbsent, lockDropped, lyingStore

    /// What a router keeps to.
    package var safeguards: Safeguards {
        switch self {
        case .convertedOverAnything: Safeguards.all.subtracting(.convertedUnchanged)
        case .deleteBeforeDurable: Safeguards.all.subtracting(.destinationFirst)
        case .markBeforeRecords: Safeguards.all.subtracting(.markWithRecords)
        case .noBackup: Safeguards.all.subtracting(.backups)
        case .expiryNotCarried: Safeguards.all.subtracting(.carriedExpiry)
        case .expiredFallsBack: Safeguards.all.subtracting(.expiryDecides)
        case .noValidation: Safeguards.all.subtracting(.validation)
        case .laterVersionNotChecked: Safeguards.all.subtracting(.laterVersions)
        case .referredNotStored: Safeguards.all.subtracting(.referredRecords)
        case .noPrecondition, .noTombstone, .lockedAsAbsent, .unavailableAsAbsent, .lockDropped, .lyingStore: .all
        }
    }

    /// The kind in which its absence tells soonest; nil where any will do.
    package var telling: RecordKind? {
        switch self {
        case .deleteBeforeDurable: .gathered
        case .markBeforeRecords: .listed
        case .expiryNotCarried, .expiredFallsBack: .expiring
        case .noValidation, .lockDropped: .retagged
        case .convertedOverAnything, .laterVersionNotChecked: .versions
        case .referredNotStored: .referring
        case .noTombstone, .lockedAsAbsent: .movedVersions
        default: nil
        }
    }

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

/// The simulation of versions, collections and lifetimes. Each record is a value with a separate history.
package enum StoredRecords: Subject {
    package typealias Plan = RecordPlan
    package typealias Kind = RecordKind
    package typealias Deed = RecordDeed

    package enum Row: String, Label {
        case absent, pending
        case besideOlder = "beside an older one"
        case earlierVersion = "earlier version"
        case done, removed
        case removedBesideOlder = "removed, older one"
        case expired, unknown
    }

    package static let mutants: [Mutant] = [
        .convertedOverAnything, .deleteBeforeDurable, .markBeforeRecords, .noBackup, .expiryNotCarried, .expiredFallsBack, .purgesAtOnce,
        .noValidation,
        .laterVersionNotChecked, .referredNotStored, .noPrecondition, .noTombstone, .lockedAsAbsent, .unavailableAsAbsent, .lockDropped,
        .lyingStore, .noRemovalEpoch, .metadataBelieved, .replacedNotNamed, .conflictExpiryLost,
    ]

    package static func telling(_ mutant: Mutant) -> Kind? {
        switch mutant {
        case .deleteBeforeDurable, .noRemovalEpoch: .gathered
        case .markBeforeRecords: .listed
        case .expiryNotCarried, .expiredFallsBack, .purgesAtOnce: .expiring
        case .noValidation, .lockDropped: .retagged
        case .convertedOverAnything, .laterVersionNotChecked, .metadataBelieved: .versions
        case .referredNotStored: .referring
        case .noTombstone, .lockedAsAbsent: .movedVersions
        default: nil
        }
    }

    /// A change that replaces a legacy value is tried in every kind of destination, with every policy that could undo it. So is
    /// a conflict of values that expire.
    package static func showings(_ mutant: Mutant) -> [Showing<Kind>] {
        let kinds: [Kind]
        switch mutant {
        case .replacedNotNamed: kinds = [.listed]
        case .conflictExpiryLost: kinds = [.expiring, .expiringRecords]
        default: return [Showing(kind: telling(mutant))]
        }
        return kinds.flatMap { kind in
            [Policy.sourceWins, .merge].flatMap { policy in
                RecordPlace.allCases.map { Showing(kind: kind, variant: "\(policy.rawValue) in \($0.rawValue)") }
            }
        }
    }

    package static func isPossible(_ kind: Kind, _ row: Row) -> Bool {
        switch row {
        // A removal leaves a tombstone only where an older copy could come back.
        case .pending, .besideOlder, .removed, .removedBesideOlder: kind.hasOlder
        case .earlierVersion: !kind.hasOlder || kind == .movedVersions
        case .expired: kind.expires
        default: true
        }
    }

    package static func isPossible(_ kind: Kind, _ fault: Fault) -> Bool {
        switch fault {
        case .torn, .foreign: false
        case .sleep, .clockSet: kind.expires
        case .damagedRecord: kind.mayHaveDamage
        default: true
        }
    }

    /// Whether a record can reach a row after a fault. A row is a state of a record.
    ///
    /// The row `unknown` (the record cannot be read) occurs only after a fault. The row `removedBesideOlder` does so,
    /// too, because otherwise a removal also removes the older copy. The faults `sleep` and `clockSet` occur only with
    /// records that expire, and these have no versions.
    package static func isPossible(_ row: Row, _ fault: Fault) -> Bool {
        fault != .torn && fault != .foreign && (row, fault) != (.unknown, .none) && (row, fault) != (.removedBesideOlder, .none)
            && (row, fault) != (.earlierVersion, .sleep) && (row, fault) != (.earlierVersion, .clockSet)
    }

    package static func play(_ act: Act<StoredRecords>) async throws {
        let scene = RecordScene(act)
        let begins = try await scene.plant()
        try await act.live(on: scene)
        if let failure = scene.failure { throw act.violation(.order, failure) }
        try await RecordVerdict(act: act, scene: scene, begins: begins).reach()
    }
}

/// The simulation of values that move. It covers every kind of migration.
package enum MovingValues: Subject {
    package typealias Plan = ValuePlan
    package typealias Kind = ValueKind
    package typealias Deed = ValueDeed

    /// The state of a value, as a row of the state table in `Docs/Design.md`.
    package enum Row: String, Label {
        case absent, pending, superseded, conflict, done, removed
        case removedConflict = "removed, conflict"
        case torn
        case inPlace = "older shape"
        case damaged, unknown
    }

    package static let mutants: [Mutant] = [
        .noLane, .noPrecondition, .noTombstone, .noDurabilityBarrier, .deleteBeforeDurable, .lockedAsAbsent, .unavailableAsAbsent,
        .noSecondLook, .olderPlacesNotRead, .sharedSourceCollected, .noProtectionCheck, .copiesByContent, .lockDropped,
        .lyingStore, .resealedOverAnything, .pageOverAnything, .noReadAfterSources, .replacedNotNamed, .copyNotNamed, .unnamedNotRecorded,
        .unreadableNotRecorded,
    ]

    package static func telling(_ mutant: Mutant) -> Kind? {
        switch mutant {
        case .noLane: .byHand
        case .noSecondLook: .several
        case .noDurabilityBarrier: .keyring
        case .sharedSourceCollected: .shared
        case .resealedOverAnything: .sealed
        case .copyNotNamed: .lowered
        case .unnamedNotRecorded: .loweredForeign
        case .unreadableNotRecorded: .keyring
        default: nil
        }
    }

    /// A change that replaces a legacy value is tried in every kind of destination, with every policy that could undo it.
    package static func showings(_ mutant: Mutant) -> [Showing<Kind>] {
        guard mutant == .replacedNotNamed else { return [Showing(kind: telling(mutant))] }
        let policies = [Policy.sourceWins, .merge]
        return Kind.allCases.flatMap { kind in
            policies.filter(kind.policies.contains).map { Showing(kind: kind, variant: $0.rawValue) }
        }
    }

    package static func isPossible(_ kind: Kind, _ row: Row) -> Bool {
        switch row {
        case .inPlace: kind == .inPlace
        case .pending, .superseded, .conflict, .removedConflict, .torn: kind != .inPlace
        default: true
        }
    }

    package static func isPossible(_ kind: Kind, _ fault: Fault) -> Bool {
        switch fault {
        case .torn: kind.tears
        case .foreign: ![.inPlace, .byHand, .weaker, .lowered].contains(kind)
        case .secondProcess, .olderVersion: kind != .byHand
        case .sleep, .clockSet, .damagedRecord: false
        default: true
        }
    }

    /// Whether a value can be in a row after a fault.
    ///
    /// The row `unknown` (the value cannot be read) occurs only because of a fault. In these runs, no other program
    /// writes values in an older shape (row `inPlace`).
    package static func isPossible(_ row: Row, _ fault: Fault) -> Bool {
        fault != .sleep && fault != .clockSet && fault != .damagedRecord && (row, fault) != (.inPlace, .foreign)
            && (row, fault) != (.unknown, .none)
    }

    package static func play(_ act: Act<MovingValues>) async throws {
        let scene = Scene(act)
        let begins = scene.plant()
        try await act.live(on: scene)
        try await Verdict(act: act, scene: scene, begins: begins).reach()
    }
}

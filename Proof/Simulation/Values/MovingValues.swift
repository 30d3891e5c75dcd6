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
        .noSecondLook, .olderPlacesNotRead, .sharedSourceCollected, .noProtectionCheck, .originNotCarried, .copiesByContent, .lockDropped,
        .lyingStore, .resealedOverAnything, .pageOverAnything, .noReadAfterSources,
    ]

    package static func telling(_ mutant: Mutant) -> Kind? {
        switch mutant {
        case .noLane: .byHand
        case .noSecondLook: .several
        case .noDurabilityBarrier, .originNotCarried: .keyring
        case .sharedSourceCollected: .shared
        case .resealedOverAnything: .sealed
        default: nil
        }
    }

    package static func isPossible(_ kind: Kind, _ row: Row) -> Bool {
        switch row {
        case .inPlace: kind == .inPlace
        // The kind `weaker` moves a value into a less protected store. A record in that store must not contain a
        // fingerprint (a hash) of the legacy value. Without a fingerprint, it cannot say that it superseded this value.
        case .superseded where kind == .weaker: false
        case .pending, .superseded, .conflict, .removedConflict, .torn: kind != .inPlace
        default: true
        }
    }

    package static func isPossible(_ kind: Kind, _ fault: Fault) -> Bool {
        switch fault {
        case .torn: kind.tears
        case .foreign: ![.inPlace, .byHand, .weaker].contains(kind)
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

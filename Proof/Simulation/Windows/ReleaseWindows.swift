/// The simulation of release windows. In a release window, the library keeps the legacy location of a moved value up to
/// date for earlier versions of the program. Programs of several versions use the value.
package enum ReleaseWindows: Subject {
    package typealias Plan = WindowPlan
    package typealias Kind = WindowKind
    package typealias Deed = WindowDeed

    /// The states of a value, as the rows of the table in "Release windows" in `Docs/Design.md`.
    package enum Row: String, Label {
        case released = "1 released"
        case pending = "2 pending"
        case absent = "3 absent"
        case mirrored = "4 mirrored"
        case late = "5 another mirror"
        case known = "6 known"
        case changed = "7 changed"
        case removed = "8 removed"
        case conflict = "9 conflict"
        case locked = "10 locked"
        case outOfReach = "11 out of reach"
        case unknown = "12 unknown"
    }

    package static let mutants: [Mutant] = [.collectsInWindow, .olderWriteNotSeen, .mirrorUnchecked]

    package static func telling(_ mutant: Mutant) -> Kind? {
        switch mutant {
        case .collectsInWindow, .olderWriteNotSeen: .downgrade
        case .mirrorUnchecked: .rolling
        default: nil
        }
    }

    package static func isPossible(_ kind: Kind, _ row: Row) -> Bool { true }

    package static func isPossible(_ kind: Kind, _ fault: Fault) -> Bool {
        switch fault {
        case .torn, .sleep, .clockSet, .damagedRecord, .full: false
        case .secondProcess, .foreign: !kind.isByTurns
        // Runs of the other kinds always have version 1 or a second process, which count as faults. So only this kind
        // has runs without a fault.
        case .none: kind == .window
        default: true
        }
    }

    /// Whether a value can be in a row after a fault.
    ///
    /// Without a fault, no store is locked or unavailable. Version 1 and a second process count as faults, too. So rows
    /// that need one of them do not occur without a fault.
    package static func isPossible(_ row: Row, _ fault: Fault) -> Bool {
        switch fault {
        case .torn, .sleep, .clockSet, .damagedRecord, .full: false
        case .none: [.released, .pending, .absent, .mirrored, .known, .conflict].contains(row)
        default: true
        }
    }

    package static func play(_ act: Act<ReleaseWindows>) async throws {
        let scene = WindowScene(act)
        let begins = scene.plant()
        try await act.live(on: scene)
        try await WindowVerdict(act: act, scene: scene, begins: begins).reach()
    }
}

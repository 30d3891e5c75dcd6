/// The simulation of release windows. Programs of several versions use a value that moves or changes its shape, and each reads its part.
package enum ReleaseWindows: Subject {
    package typealias Plan = WindowPlan
    package typealias Kind = WindowKind
    package typealias Deed = WindowDeed

    package enum Row: String, Label {
        // MARK: The table of windows (`Docs/Windows.md`)

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

        // MARK: A key's own slot and those beside it, as the table in `Docs/Design.md` ("Several shapes in a release window") tells it apart

        case noShape = "shapes: absent"
        /// The slot holds an older shape, and no newer shape was ever beside it.
        case alone = "shapes: older alone"
        /// All shapes are of one commit.
        case intact = "shapes: intact"
        /// Version 1 wrote since.
        case overwritten = "shapes: overwritten"
        /// Version 2 wrote since, and its shapes are beside the slot.
        case other = "shapes: another pair"
        /// All shapes are of one commit, and its writer did not know the newest.
        case unknownNewest = "shapes: newest missing"
        case removedShape = "shapes: removed, newer left"
        case ended = "shapes: ended"
        case refusedVersion = "shapes: refused by version"
        case refusedShape = "shapes: refused, tells less"
        case slotOutOfReach = "shapes: out of reach"

        /// Whether the row is about a value that changes its shape in one slot. The other rows are about values that move.
        var isInPlace: Bool { rawValue.hasPrefix("shapes:") }
    }

    package static let mutants: [Mutant] = [
        .collectsInWindow, .olderWriteNotSeen, .mirrorUnchecked, .downSkipped, .newerShapeDropped, .removalForgotten,
    ]

    package static func telling(_ mutant: Mutant) -> Kind? {
        switch mutant {
        case .collectsInWindow, .olderWriteNotSeen: .downgrade
        case .mirrorUnchecked: .rolling
        case .downSkipped, .newerShapeDropped, .removalForgotten: .rollingInPlace
        default: nil
        }
    }

    package static func isPossible(_ kind: Kind, _ row: Row) -> Bool {
        switch row {
        case .other, .unknownNewest: kind == .thirdInPlace
        default: kind.isInPlace == row.isInPlace
        }
    }

    package static func isPossible(_ kind: Kind, _ fault: Fault) -> Bool {
        switch fault {
        case .torn, .sleep, .clockSet, .damagedRecord, .full: false
        case .secondProcess, .foreign: !kind.isByTurns
        // Several versions are what these are about.
        case .none: kind == .window || kind == .downgradeInPlace
        default: true
        }
    }

    /// A store is locked, or out of reach, only because of a fault; version 1 and a second process count as such.
    package static func isPossible(_ row: Row, _ fault: Fault) -> Bool {
        switch fault {
        case .torn, .sleep, .clockSet, .damagedRecord, .full: false
        case .none:
            [.released, .pending, .absent, .mirrored, .known, .conflict, .noShape, .alone, .intact, .ended, .refusedShape].contains(row)
        // Keys with a merge read the values of programs without LocalData.
        case .foreign: row != .refusedShape
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

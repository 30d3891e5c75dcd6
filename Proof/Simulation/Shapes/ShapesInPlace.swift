/// The simulation of shapes in place: programs of several versions use one slot, and each reads and writes its own shape.
package enum ShapesInPlace: Subject {
    package typealias Plan = InPlacePlan
    package typealias Kind = InPlaceKind
    package typealias Deed = InPlaceDeed

    /// What a key's own slot and those beside it hold, as the table in `Docs/Design.md` ("Several shapes in a release window") tells it apart.
    package enum Row: String, Label {
        case absent
        /// Nothing is beside an older shape, and nothing has been.
        case alone = "older alone"
        /// All shapes are of one commit.
        case intact
        /// Version 1 wrote since.
        case overwritten
        /// A program between wrote since, with shapes of its own beside the slot.
        case other = "another pair"
        /// All shapes are of one commit, and its writer did not know the newest.
        case unknownNewest = "newest missing"
        case removed = "removed, newer left"
        case ended
        case refusedVersion = "refused by version"
        case refusedShape = "refused, tells less"
        case outOfReach = "out of reach"
    }

    package static let mutants: [Mutant] = [.downSkipped, .newerShapeDropped, .removalForgotten]

    package static func telling(_ mutant: Mutant) -> Kind? { .rolling }

    package static func isPossible(_ kind: Kind, _ row: Row) -> Bool {
        switch row {
        case .other, .unknownNewest: kind == .third
        default: true
        }
    }

    package static func isPossible(_ kind: Kind, _ fault: Fault) -> Bool {
        switch fault {
        case .torn, .sleep, .clockSet: false
        case .secondProcess, .foreign: kind != .downgrade
        // Several versions at once are what these are about.
        case .none: kind == .downgrade
        default: true
        }
    }

    package static func isPossible(_ row: Row, _ fault: Fault) -> Bool {
        switch fault {
        case .torn, .sleep, .clockSet: false
        case .none: [.absent, .alone, .intact, .ended, .refusedShape].contains(row)
        // What such a program writes is read by keys with a merge.
        case .foreign: row != .refusedShape
        default: true
        }
    }

    package static func play(_ act: Act<ShapesInPlace>) async throws {
        let scene = InPlaceScene(act)
        let begins = scene.plant()
        try await act.live(on: scene)
        try await InPlaceVerdict(act: act, scene: scene, begins: begins).reach()
    }
}

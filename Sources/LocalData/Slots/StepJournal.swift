import BackendContract
import Synchronization

/// The durable steps that one visit takes, in their order: what a row of a report tells.
///
/// It travels as a task-local value, so that the code that commits notes each step wherever it was called from.
final class StepJournal: Sendable {
    @TaskLocal static var current: StepJournal?

    private let noted = Mutex<[MigrationReport.Step]>([])

    /// The steps so far; equal ones are counted, in the place of the first.
    var steps: [MigrationReport.Step] { noted.withLock(\.self) }

    /// Notes a step of the running visit, if there is one.
    static func note(_ action: MigrationReport.Step.Action, _ route: Route) { current?.add(action, route) }

    /// Notes a step.
    func add(_ action: MigrationReport.Step.Action, _ route: Route) {
        let place = route.slot.address.namespace.collectionName.map { "\(route.domain)/\($0)" } ?? route.displayName
        noted.withLock { steps in
            if let index = steps.firstIndex(where: { $0.action == action && $0.place == place }) {
                steps[index].count += 1
            } else {
                steps.append(MigrationReport.Step(action: action, place: place, count: 1))
            }
        }
    }
}

extension MigrationReport.Step.Action {
    /// What a change of a slot does; nil for a check, and for a mark that accompanies a value.
    init?(_ change: Committer.Change) {
        switch change.mutation.operation {
        case .put: self = change.isCompanion ? .backUp : .write
        case .tombstone where change.isCompanion: return nil
        case .tombstone: self = .remove
        case .delete: self = .delete
        case .check: return nil
        }
    }
}

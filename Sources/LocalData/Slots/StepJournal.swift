import BackendContract
import Synchronization

/// Collects the durable steps of one visit, in their order, for a row of a report.
///
/// The journal is a task-local value, so that the code that commits can add each step, no matter which function has called it.
final class StepJournal: Sendable {
    @TaskLocal static var current: StepJournal?

    private let noted = Mutex<[MigrationReport.Step]>([])

    /// The steps so far. Equal steps are one element with a count, at the position of the first.
    var steps: [MigrationReport.Step] { noted.withLock(\.self) }

    /// Adds a step to the journal of the running visit, if there is one.
    static func note(_ action: MigrationReport.Step.Action, _ route: Route) { current?.add(action, route) }

    /// Adds a step, or increases the count of an equal step.
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
    /// Creates the action of a change; nil for a check, and for a mark that accompanies a value.
    init?(_ change: Committer.Change) {
        switch change.mutation.operation {
        case .put: self = change.isCompanion ? .backUp : .write
        case .tombstone where change.isCompanion, .check: return nil
        case .tombstone: self = .remove
        case .delete: self = .delete
        }
    }
}

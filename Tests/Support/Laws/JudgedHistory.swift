import Synchronization

/// A history that was judged, with the state before its first call.
package protocol JudgedHistory: Sendable {
    associatedtype Model: SequentialModel where Model.Action: Hashable
    var history: CallHistory<Model> { get }
    var start: Model { get }
}

/// The histories that were judged, for a program that lets others judge them too.
package enum JudgedHistories {
    private struct Judged<Model: SequentialModel>: JudgedHistory where Model.Action: Hashable {
        let history: CallHistory<Model>
        let start: Model
    }

    /// Nil in every program that does not take the histories.
    private static let kept = Mutex<[any JudgedHistory]?>(nil)

    /// Returns the histories since the last call, and keeps those that are judged from now on.
    package static func take() -> [any JudgedHistory] {
        kept.withLock { kept in
            defer { kept = [] }
            return kept ?? []
        }
    }

    package static func add<Model>(_ history: CallHistory<Model>, from start: Model) where Model.Action: Hashable {
        kept.withLock { $0?.append(Judged(history: history, start: start)) }
    }
}

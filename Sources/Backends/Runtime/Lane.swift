internal import Dispatch
internal import Synchronization

/// A serial queue for blocking work. The work does not run on Swift's cooperative pool, which must not block.
package protocol Lane: Sendable {
    /// Appends work to the queue and returns at once. Work runs in the order of arrival, one piece at a time.
    func enqueue(_ work: @escaping @Sendable () -> Void)
}

/// A lane on a serial dispatch queue. Work that blocks one lane does not block other lanes. The queue is made when it is first needed,
/// because a store has more lanes than a short program uses.
package final class DispatchLane: Lane {
    private let label: String
    private let queue = Mutex<DispatchQueue?>(nil)

    /// Creates a lane.
    /// - Parameter label: The name of the queue that debuggers show.
    package init(label: String) { self.label = label }

    /// Appends work to the queue.
    package func enqueue(_ work: @escaping @Sendable () -> Void) {
        let queue = queue.withLock { queue in
            queue = queue ?? DispatchQueue(label: "LocalData.\(label)")
            return queue
        }
        queue?.async(execute: work)
    }
}

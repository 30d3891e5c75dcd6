internal import Dispatch

/// A queue for blocking work, which runs one piece after the other, off the cooperative pool.
package protocol Lane: Sendable {
    /// Appends work to the queue and returns at once. Work is run in the order of arrival, one piece at a time.
    func enqueue(_ work: @escaping @Sendable () -> Void)
}

/// A lane on a serial dispatch queue: blocking it blocks no other lane.
package struct DispatchLane: Lane {
    private let queue: DispatchQueue

    /// Creates a lane.
    /// - Parameter label: The queue's name, for debuggers.
    package init(label: String) { queue = DispatchQueue(label: "LocalData.\(label)") }

    /// Appends work to the queue.
    package func enqueue(_ work: @escaping @Sendable () -> Void) { queue.async(execute: work) }
}

internal import Dispatch

/// A serial queue for blocking work. The work does not run on Swift's cooperative pool, which must not block.
package protocol Lane: Sendable {
    /// Appends work to the queue and returns at once. Work runs in the order of arrival, one piece at a time.
    func enqueue(_ work: @escaping @Sendable () -> Void)
}

/// A lane on a serial dispatch queue. Work that blocks one lane does not block other lanes.
package struct DispatchLane: Lane {
    private let queue: DispatchQueue

    /// Creates a lane.
    /// - Parameter label: The name of the queue that debuggers show.
    package init(label: String) { queue = DispatchQueue(label: "LocalData.\(label)") }

    /// Appends work to the queue.
    package func enqueue(_ work: @escaping @Sendable () -> Void) { queue.async(execute: work) }
}

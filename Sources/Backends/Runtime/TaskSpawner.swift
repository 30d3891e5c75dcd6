/// Starts work that must not end with its caller, for example a shared migration or the forwarding of changes.
package protocol TaskSpawner: Sendable {
    /// Starts an operation in a new task. The caller's cancellation does not reach it. Task-local values are
    /// inherited.
    /// - Returns: A handle that cancels the operation.
    @discardableResult
    func spawn(_ operation: @escaping @Sendable () async -> Void) -> ScheduledAction
}

/// Starts operations on Swift's cooperative pool.
package struct PoolSpawner: TaskSpawner {
    /// Creates the spawner.
    package init() {}

    /// Starts a task on the pool.
    @discardableResult
    package func spawn(_ operation: @escaping @Sendable () async -> Void) -> ScheduledAction {
        let task = Task { @concurrent in await operation() }
        return ScheduledAction { task.cancel() }
    }
}

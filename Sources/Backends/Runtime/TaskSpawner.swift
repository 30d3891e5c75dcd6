/// Starts work that must not end with its caller: a shared migration, the forwarding of changes.
package protocol TaskSpawner: Sendable {
    /// Starts an operation in a task of its own, which no caller's cancellation reaches. Task-local values are inherited.
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

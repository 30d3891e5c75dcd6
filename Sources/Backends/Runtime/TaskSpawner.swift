/// Where work goes that must not end with its caller: a shared migration, a forwarding of changes.
public protocol TaskSpawner: Sendable {
    /// Starts an operation that nobody waits for and that no caller's cancellation reaches. Task-local values are inherited.
    func spawn(_ operation: @escaping @Sendable () async -> Void)
}

/// Starts operations on Swift's cooperative pool.
public struct PoolSpawner: TaskSpawner {
    /// Creates the spawner.
    public init() {}

    public func spawn(_ operation: @escaping @Sendable () async -> Void) {
        Task { @concurrent in await operation() }
    }
}

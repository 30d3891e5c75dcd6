import Synchronization

extension StorageRouter {
    private struct Shared {
        var bootstrapped: StorageRouter?
        var byDefault: StorageRouter?
    }

    private static let state = Mutex(Shared())

    /// The router that replaces ``shared`` in this task and its child tasks. For tests, see the trait
    /// `.isolatedStorage`.
    @TaskLocal public static var override: StorageRouter?

    /// The program's router. It is the task's ``override``, otherwise the router of ``bootstrap(_:)``, otherwise a
    /// router with the default configuration.
    public static var shared: StorageRouter {
        if let override { return override }
        return state.withLock { state in
            if let router = state.bootstrapped ?? state.byDefault { return router }
            let router = StorageRouter(configuration: .default)
            state.byDefault = router
            return router
        }
    }

    /// Sets the configuration of ``shared``. Call it once, before the first use of ``shared``.
    /// - Throws: ``StorageError`` with `alreadyBootstrapped` when ``shared`` was configured or used before.
    public static func bootstrap(_ configuration: StorageConfiguration) throws {
        try state.withLock { state in
            guard state.bootstrapped == nil, state.byDefault == nil else {
                throw StorageError(
                    StorageError.alreadyBootstrapped, key: "shared",
                    "The shared router exists already. Bootstrap once, before anything uses StorageRouter.shared.")
            }
            state.bootstrapped = StorageRouter(configuration: configuration)
        }
    }
}

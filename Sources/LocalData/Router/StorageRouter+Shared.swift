import Synchronization

extension StorageRouter {
    private struct Shared {
        var bootstrapped: StorageRouter?
        var byDefault: StorageRouter?
    }

    private static let state = Mutex(Shared())

    /// The router that this task and those below it see as ``shared``; for tests, see the trait `.isolatedStorage`.
    @TaskLocal public static var override: StorageRouter?

    /// The program's router: the task's ``override``, else the bootstrapped one, else one of the default configuration.
    public static var shared: StorageRouter {
        if let override { return override }
        return state.withLock { state in
            if let router = state.bootstrapped ?? state.byDefault { return router }
            let router = StorageRouter(configuration: .default)
            state.byDefault = router
            return router
        }
    }

    /// Sets the configuration of ``shared``: once, and before its first use.
    /// - Throws: ``StorageError`` with `alreadyBootstrapped` when it was set or used before.
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

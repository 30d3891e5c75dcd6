import Synchronization

extension StorageRouter {
    private struct Shared {
        var bootstrapped: StorageRouter?
        var byDefault: StorageRouter?
    }

    private static let state = Mutex(Shared())

    /// The router that replaces ``shared`` in this task and its child tasks. Use it in tests, so that code that uses
    /// ``shared`` writes into memory. The trait `.isolatedStorage` of `LocalDataTesting` sets it for a test or a suite.
    ///
    /// ```swift
    /// try await StorageRouter.$override.withValue(StorageRouter(configuration: .inMemory())) {
    ///     try await StorageRouter.shared.set(640, for: .width)  // in memory, and only for this task and its child tasks
    /// }
    /// ```
    @TaskLocal public static var override: StorageRouter?

    /// The program's router. It is the task's ``override``, otherwise the router of ``bootstrap(_:)``, otherwise a
    /// router with the default configuration.
    ///
    /// ```swift
    /// try await StorageRouter.shared.set(900, for: .width)
    /// let width = try await StorageRouter.shared.get(.width)  // 900
    /// ```
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
    ///
    /// ```swift
    /// do {
    ///     try StorageRouter.bootstrap(.xdg(applicationID: "com.example.notes", version: "2.0"))
    /// } catch {
    ///     preconditionFailure("alreadyBootstrapped: StorageRouter.shared was used before this line.")
    /// }
    /// ```
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

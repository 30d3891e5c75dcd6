public import LocalData
public import Testing

/// A test trait that gives each test case a separate `StorageRouter.shared`. Apply it with `.isolatedStorage`.
public struct IsolatedStorageTrait: TestTrait, SuiteTrait, TestScoping {
    private let makeConfiguration: @Sendable () -> StorageConfiguration

    init(_ makeConfiguration: @escaping @Sendable () -> StorageConfiguration) { self.makeConfiguration = makeConfiguration }

    /// Always true: the trait applies to every test of a suite and of its nested suites.
    public var isRecursive: Bool { true }

    /// Runs a test case with a new router as `StorageRouter.shared`. Shuts the router down if the test case does not throw.
    @concurrent
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        let router = StorageRouter(configuration: makeConfiguration())
        try await StorageRouter.$override.withValue(router) { try await function() }
        try await router.shutdown()
    }
}

extension Trait where Self == IsolatedStorageTrait {
    /// Gives each test case a separate `StorageRouter.shared` in memory. Concurrent test cases never see each other's values.
    public static var isolatedStorage: Self { IsolatedStorageTrait { .inMemory() } }

    /// Gives each test case a separate `StorageRouter.shared` with a custom configuration.
    /// - Parameter makeConfiguration: Creates the configuration for one case.
    public static func isolatedStorage(_ makeConfiguration: @escaping @Sendable () -> StorageConfiguration) -> Self {
        IsolatedStorageTrait(makeConfiguration)
    }
}

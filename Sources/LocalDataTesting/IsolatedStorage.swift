public import LocalData
public import Testing

/// Gives each test, and each case of a parameterised test, its own shared router: see the trait `.isolatedStorage`.
public struct IsolatedStorageTrait: TestTrait, SuiteTrait, TestScoping {
    private let makeConfiguration: @Sendable () -> StorageConfiguration

    init(_ makeConfiguration: @escaping @Sendable () -> StorageConfiguration) { self.makeConfiguration = makeConfiguration }

    /// True: the trait applies to every test of a suite and of its nested suites.
    public var isRecursive: Bool { true }

    /// Runs a test case with its own router as `StorageRouter.shared`, and shuts the router down afterwards.
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
    /// Each test case has its own `StorageRouter.shared`, in memory. Cases that run concurrently never see each other's values.
    public static var isolatedStorage: Self { IsolatedStorageTrait { .inMemory() } }

    /// Each test case has its own `StorageRouter.shared`, with its own configuration.
    /// - Parameter makeConfiguration: Creates the configuration for one case.
    public static func isolatedStorage(_ makeConfiguration: @escaping @Sendable () -> StorageConfiguration) -> Self {
        IsolatedStorageTrait(makeConfiguration)
    }
}

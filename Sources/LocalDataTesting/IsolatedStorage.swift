public import LocalData
public import Testing

/// Gives each test, and each case of a parameterised one, a shared router of its own: see the trait `.isolatedStorage`.
public struct IsolatedStorageTrait: TestTrait, SuiteTrait, TestScoping {
    private let makeConfiguration: @Sendable () -> StorageConfiguration

    init(_ makeConfiguration: @escaping @Sendable () -> StorageConfiguration) { self.makeConfiguration = makeConfiguration }

    /// Every test of a suite, and of the suites in it.
    public var isRecursive: Bool { true }

    /// Runs a test case with its own router as `StorageRouter.shared`; nothing outlives the case.
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
    /// `StorageRouter.shared` is a router of its own for each test case, in memory: cases that run side by side never see each other.
    public static var isolatedStorage: Self { IsolatedStorageTrait { .inMemory() } }

    /// `StorageRouter.shared` is a router of its own for each test case, with a configuration that is made anew each time.
    /// - Parameter makeConfiguration: Makes the configuration of one case.
    public static func isolatedStorage(_ makeConfiguration: @escaping @Sendable () -> StorageConfiguration) -> Self {
        IsolatedStorageTrait(makeConfiguration)
    }
}

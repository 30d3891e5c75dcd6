public import LocalData
public import Testing

/// A test trait that gives each test case a separate `StorageRouter.shared`, so that tests do not see each other's
/// values.
///
/// Apply it with `.isolatedStorage` to tests of code that uses the shared router.
///
/// ```swift
/// @Suite(.isolatedStorage) struct CityTests {
///     @Test func `a stored city is read`() async throws {
///         try await StorageRouter.shared.set("Graz", for: .city)  // in memory, and only visible to this test case
///         #expect(try await StorageRouter.shared.get(.city) == "Graz")
///     }
/// }
/// ```
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
    ///
    /// ```swift
    /// @Suite(.isolatedStorage) struct CityTests {
    ///     @Test func `a stored city is read`() async throws {
    ///         try await StorageRouter.shared.set("Graz", for: .city)  // in memory, and only visible to this test case
    ///         #expect(try await StorageRouter.shared.get(.city) == "Graz")
    ///     }
    /// }
    /// ```
    public static var isolatedStorage: Self { IsolatedStorageTrait { .inMemory() } }

    /// Gives each test case a separate `StorageRouter.shared` with a custom configuration.
    ///
    /// ```swift
    /// @Suite(
    ///     .isolatedStorage {
    ///         var configuration = StorageConfiguration.inMemory()
    ///         configuration.applicationVersion = "2.0"
    ///         return configuration
    ///     })
    /// struct VersionTests {}
    /// ```
    /// - Parameter makeConfiguration: Creates the configuration for one case.
    public static func isolatedStorage(_ makeConfiguration: @escaping @Sendable () -> StorageConfiguration) -> Self {
        IsolatedStorageTrait(makeConfiguration)
    }
}

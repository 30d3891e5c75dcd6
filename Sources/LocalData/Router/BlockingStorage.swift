import BackendContract
import BackendRuntime
import Dispatch
import Synchronization

/// Gives code that cannot call `await` access to the values of a router. Each call blocks the calling thread until the
/// call ends.
///
/// Use it for code that another library calls synchronously: an OAuth token store, a credential store of a build tool,
/// the storage provider of a user interface framework. Everywhere else call ``StorageRouter`` with `await`.
///
/// A call inside a task is refused with `unsupported`, because it would block a thread that all tasks of the process
/// share. The work itself runs in a task, on a thread that no other task needs: calls on dispatch queues do not wait for
/// each other's threads. Every call ends at its deadline, even if a store does not respond.
///
/// ```swift
/// let storage = BlockingStorage(router)
/// do {
///     try storage.set("abc", for: .apiToken)
/// } catch StorageError.unsupported {
///     // The call came from a task. Call the router with `await` there.
/// }
/// ```
public struct BlockingStorage: Sendable {
    private let router: StorageRouter
    private let deadline: Duration

    /// Creates a synchronous view of a router.
    ///
    /// ```swift
    /// let impatient = BlockingStorage(router, deadline: .seconds(2))
    /// ```
    /// - Parameters:
    ///   - router: The router. Its configuration, catalogs and open stores are used.
    ///   - deadline: The longest time for which one call blocks its thread.
    public init(_ router: StorageRouter, deadline: Duration = .seconds(30)) {
        self.router = router
        self.deadline = deadline
    }

    /// Gets the value of a key, or the key's default. A value at a legacy location is migrated.
    ///
    /// ```swift
    /// do {
    ///     signIn(with: try storage.get(.apiToken))
    /// } catch StorageError.notFound {
    ///     askForToken()
    /// } catch StorageError.timedOut {
    ///     warn("The keyring does not respond.")
    /// }
    /// ```
    /// - Throws: ``StorageError``: the errors of ``StorageRouter/get(_:)``; `unsupported` inside a task; `timedOut` at
    ///   the deadline. The outcome of a time-out is `unknown`, because a migration may still complete.
    public func get<Value>(_ key: StorageKey<Value>) throws -> Value {
        try block(key.name, mayChange: true) { try await $0.get(key) }
    }

    /// Gets the value of a key, or nil if there is none. The key's default is not applied.
    ///
    /// ```swift
    /// let title = try storage.value(for: .title) ?? "Untitled"
    /// ```
    /// - Throws: The errors of ``get(_:)``, without `notFound`.
    public func value<Value>(for key: StorageKey<Value>) throws -> Value? {
        try block(key.name, mayChange: true) { try await $0.value(for: key) }
    }

    /// Stores a value. When the call returns, the value is as durable as the domain's store allows.
    ///
    /// ```swift
    /// do {
    ///     try storage.set("Weather", for: .title)
    /// } catch let error as StorageError where error.outcome == .unknown {
    ///     print("The title is \(try storage.value(for: .title) ?? "unset")")  // it may be stored: read it before a retry
    /// }
    /// ```
    /// - Throws: ``StorageError``: the errors of ``StorageRouter/set(_:for:lifetime:replacingLaterVersions:)``;
    ///   `timedOut` at the deadline, with the outcome `unknown`; `unsupported` inside a task.
    public func set<Value>(_ value: Value, for key: StorageKey<Value>) throws {
        try block(key.name, mayChange: true) { try await $0.set(value, for: key) }
    }

    /// Removes a value. When the call returns, the removal is as durable as the domain's store allows.
    ///
    /// ```swift
    /// do {
    ///     try storage.remove(.title)
    /// } catch StorageError.residueRemains {
    ///     warn("The title is removed. An older copy remains, and a sweep deletes it.")
    /// }
    /// ```
    /// - Throws: ``StorageError``: the errors of ``StorageRouter/remove(_:)``; `timedOut` at the deadline, with the
    ///   outcome `unknown`; `unsupported` inside a task.
    public func remove<Value>(_ key: StorageKey<Value>) throws {
        try block(key.name, mayChange: true) { try await $0.remove(key) }
    }

    /// Returns the names of the values in a domain, sorted.
    ///
    /// ```swift
    /// let accounts = try storage.keys(of: .keychain(service: "com.example.mail"))
    /// let ids = try storage.keys(of: editor.domain, collection: "notes")
    /// ```
    /// - Parameters:
    ///   - domain: The domain.
    ///   - collection: The name of a collection, to get the ids of its records; nil to get the names of single values.
    /// - Throws: ``StorageError``: `corrupted` if a value is damaged; `timedOut` at the deadline; `unsupported` inside
    ///   a task.
    public func keys(of domain: StorageDomain, collection: String? = nil) throws -> [String] {
        try block("\(domain)", mayChange: false) { try await $0.names(of: domain, collection: collection) }
    }

    /// Runs a call in a task, and blocks the calling thread until the call ends or the deadline is reached.
    private func block<Answer: Sendable>(
        _ name: String, mayChange: Bool, _ call: @escaping @Sendable (StorageRouter) async throws -> Answer
    ) throws -> Answer {
        guard withUnsafeCurrentTask(body: { $0 == nil }) else {
            throw StorageError(
                StorageError.unsupported, key: name,
                "BlockingStorage was called inside a task, whose thread it would block. Call the router with await. Nothing was changed.")
        }
        let (router, waiting) = (router, Waiting<Answer>())
        // Reason: "Everything from the machine is injected" in Docs/Decisions/LocksAndCommits.md.
        let task = Task.detached(executorPreference: SeparateThread("LocalData.BlockingStorage")) {
            do { waiting.end(.success(try await call(router))) } catch { waiting.end(.failure(error)) }
        }
        let clock = router.configuration.runtime.clock
        let timer = clock.schedule(at: clock.now.advanced(by: deadline)) {
            waiting.end(.failure(Self.timedOut(name, mayChange)))
            task.cancel()
        }
        defer { timer.cancel() }
        return try waiting.wait().get()
    }

    private static func timedOut(_ name: String, _ mayChange: Bool) -> StorageError {
        StorageError(
            StorageError.timedOut, key: name,
            "The call did not end before the deadline of BlockingStorage. "
                + (mayChange ? "It may still take effect: read the value before you change it again." : "Nothing was changed; try again."),
            outcome: mayChange ? .unknown : .notApplied)
    }
}

/// The result of a call, for the one thread that waits for it. Only the first result counts.
private final class Waiting<Answer: Sendable>: Sendable {
    private let result = Mutex<Result<Answer, any Error>?>(nil)
    private let semaphore = DispatchSemaphore(value: 0)

    func end(_ new: Result<Answer, any Error>) {
        let isFirst = result.withLock { result in
            defer { result = result ?? new }
            return result == nil
        }
        if isFirst { semaphore.signal() }
    }

    func wait() -> Result<Answer, any Error> {
        semaphore.wait()
        guard let result = result.withLock(\.self) else { preconditionFailure("The semaphore is signalled after the result was set.") }
        return result
    }
}

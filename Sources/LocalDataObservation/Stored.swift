import BackendRuntime
public import LocalData
public import Observation

/// A stored value for a view. It follows the value of a key, and never blocks.
///
/// Use it in the model of a window. A view that observes the object is drawn again when the value changes.
///
/// ```swift
/// @MainActor final class WindowModel {
///     let width: Stored<Int>
///
///     init(_ storage: StorageRouter) { width = Stored(.width, in: storage) }
///
///     var title: String {
///         switch width.state {
///         case .value(let width): "\(width) points"
///         case .failed(let error): error.localizedDescription
///         default: "unknown"  // loading, absent, vanished or locked
///         }
///     }
/// }
/// ```
///
/// The object is `loading` until the first read has ended. A value in a keyring may take as long as the keyring needs. The object follows
/// the value until it is released or closed.
@MainActor @Observable public final class Stored<Value: Codable & Sendable> {
    /// A value, or the reason why there is none.
    ///
    /// ```swift
    /// let text =
    ///     switch width.state {
    ///     case .loading: "…"
    ///     case .value(let width): "\(width) points"
    ///     case .absent: "not set"
    ///     case .vanished: "lost: another program removed it"
    ///     case .locked: "locked"
    ///     case .failed(let error): error.localizedDescription
    ///     }
    /// ```
    public enum State: Sendable {
        /// The first read has not ended.
        case loading
        /// The stored value.
        case value(Value)
        /// There is no value. It was never stored, it has expired, or this process removed it.
        case absent
        /// The value was there, and is gone without a call of this process: another program removed it, or the store was replaced by an
        /// empty one. Also a value whose loss a `witnessed()` key has detected.
        case vanished
        /// The store or its key is locked. The object has dropped the value. It reads the value again after the unlocking.
        case locked
        /// The value could not be read. The object tries again when the value changes, and after a pause if the error may pass.
        case failed(StorageError)
    }

    /// The value, or the reason why there is none. A change by this object is visible when it is durable.
    public private(set) var state = State.loading

    @ObservationIgnored private let storage: StorageRouter
    @ObservationIgnored private let key: StorageKey<Value>
    @ObservationIgnored private let following: Following
    @ObservationIgnored private var isClosed = false

    /// Begins to follow the value of a key. Returns at once, and reads nothing itself.
    ///
    /// ```swift
    /// let width = Stored(.width, in: storage)  // returns at once; `state` is `loading`, then `value` or a reason such as `locked`
    /// ```
    /// - Parameters:
    ///   - key: The key.
    ///   - storage: The router. The object keeps it until it is released.
    public init(_ key: StorageKey<Value>, in storage: StorageRouter) {
        let follower = ValueFollower(storage, key)
        (self.key, self.storage) = (key, storage)
        following = Following(end: { follower.end() }, caughtUp: { await follower.caughtUp() })
        storage.configuration.runtime.tasks.spawn { [weak self] in
            while let state = await follower.next() { if await self?.show(state) == nil { return } }
        }
    }

    /// The value; nil in every state except `value`. The key's default is not applied.
    ///
    /// ```swift
    /// if let points = width.value { print("\(points) points") } else { print("There is no value. `state` has the reason.") }
    /// ```
    public var value: Value? { if case .value(let value) = state { value } else { nil } }

    private func show(_ followed: FollowedState<Value>) {
        if isClosed { return }
        state =
            switch followed {
            case .value(let value): .value(value)
            case .absent: .absent
            case .vanished: .vanished
            case .locked: .locked
            case .failed(let error): .failed(error)
            }
    }

    // MARK: Changing

    /// Stores a value. When the call returns, the value is as durable as its store allows, and ``state`` has this or a later value.
    ///
    /// ```swift
    /// do {
    ///     try await width.set(1_024)  // then `state` has this value or a later one
    /// } catch { print(error.localizedDescription) }  // says so if the outcome is unknown; `state` has the stored value
    /// ```
    /// - Throws: The errors of `set(_:for:lifetime:replacingLaterVersions:)`. The state then stays, unless the
    ///   outcome is unknown and the value was stored.
    public func set(_ value: Value) async throws {
        try await storage.set(value, for: key)
        await following.caughtUp()
    }

    /// Reads, changes and writes the value as one step. The result is durable when the call returns, and ``state`` has it or a later one.
    ///
    /// ```swift
    /// do {
    ///     try await width.update { $0 = ($0 ?? 0) + 100 }  // also counts a change that another program just made
    /// } catch { print(error.localizedDescription) }  // says so if the outcome is unknown
    /// ```
    /// - Parameter body: Changes the value. An absent value begins as the key's default, or as nil. Setting it to nil removes it. It may
    ///   run more than once.
    /// - Returns: The result of the last call of `body`.
    /// - Throws: The error of `body`, with nothing changed; the errors of `update(_:_:)`.
    @discardableResult
    public func update<R: Sendable>(_ body: @Sendable (inout Value?) throws -> R) async throws -> R {
        let answer = try await storage.update(key, body)
        await following.caughtUp()
        return answer
    }

    /// Removes the value and every older copy of it. The removal is durable when the call returns, and ``state`` is `absent` or later.
    ///
    /// ```swift
    /// do { try await width.remove() } catch StorageError.residueRemains {
    ///     print("The width was removed. An older copy remains, and the next sweep deletes it.")
    /// } catch { print(error.localizedDescription) }
    /// ```
    /// - Throws: The errors of `remove(_:)`.
    public func remove() async throws {
        try await storage.remove(key)
        await following.caughtUp()
    }

    /// Ends the following. The state does not change any more.
    ///
    /// ```swift
    /// let width = Stored(.width, in: storage)
    /// width.close()  // the window is closed, but a view still has the object
    /// ```
    public func close() {
        isClosed = true
        following.end()
    }
}

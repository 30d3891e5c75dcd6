import BackendContract

/// Collects changes of several values of one store that happen together, or not at all.
///
/// ``StorageRouter/batch(_:)`` passes a batch to its closure, and commits it afterwards. Use it if one value without
/// the other would be wrong. A change in a batch reads nothing: to change a value depending on its present value, use
/// ``StorageRouter/update(_:_:)``.
///
/// ```swift
/// try await storage.batch { (changes: inout StorageBatch) in
///     changes.set(640, for: .width)
///     changes.remove(.title)
/// }
/// ```
public struct StorageBatch: Sendable {
    struct Change: Sendable {
        let key: AnyStorageKey
        /// Encodes the slot's new value; nil for a removal.
        let prepare: (@Sendable (ValuePreparer) throws -> EncodedValue)?
    }

    private(set) var changes: [Change] = []

    init() {}

    /// Stores a value when the batch is committed.
    ///
    /// ```swift
    /// do {
    ///     try await storage.batch { $0.set(640, for: .width) }
    /// } catch StorageError.incompatibleSchema {
    ///     // A later release of the program has stored one of the values. All values are unchanged.
    /// }
    /// ```
    /// - Parameters:
    ///   - value: The value.
    ///   - key: The key.
    ///   - lifetime: The time from the commit on during which the value is valid, by the wall clock; nil for the key's lifetime.
    ///   - replacingLaterVersions: See ``StorageRouter/set(_:for:lifetime:replacingLaterVersions:)``. If it is false, a value of a
    ///     later version refuses the whole batch.
    public mutating func set<Value>(
        _ value: Value, for key: StorageKey<Value>, lifetime: Duration? = nil, replacingLaterVersions: Bool = false
    ) {
        set(
            value, for: key,
            WriteAttributes(expiry: lifetime.map { .after($0) } ?? .begins, replacesLaterVersions: replacingLaterVersions))
    }

    mutating func set<Value>(_ value: Value, for key: StorageKey<Value>, _ facts: WriteAttributes) {
        changes.append(Change(key: .key(key)) { try $0.prepare(value, $0.slots.routes.slot(for: key), facts) })
    }

    /// Removes a value when the batch is committed. The removal of an absent value succeeds.
    ///
    /// ```swift
    /// do {
    ///     try await storage.batch { $0.remove(.title) }
    /// } catch StorageError.residueRemains {
    ///     await storage.sweep()  // the title is removed; this deletes the older copy that remains
    /// }
    /// ```
    public mutating func remove<Value>(_ key: StorageKey<Value>) { changes.append(Change(key: .key(key), prepare: nil)) }
}

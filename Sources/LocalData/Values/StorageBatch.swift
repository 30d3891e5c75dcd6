import BackendContract

/// Changes of several keys of one store that happen together: see ``StorageRouter/batch(_:)``.
public struct StorageBatch: Sendable {
    struct Change: Sendable {
        let key: AnyStorageKey
        /// Encodes the slot's new value; nil for a removal.
        let prepare: (@Sendable (ValuePreparer) throws -> EncodedValue)?
    }

    private(set) var changes: [Change] = []

    init() {}

    /// Stores a value when the batch is committed.
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

    /// Removes a value when the batch is committed.
    public mutating func remove<Value>(_ key: StorageKey<Value>) { changes.append(Change(key: .key(key), prepare: nil)) }
}

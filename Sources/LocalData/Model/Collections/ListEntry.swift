/// One entry of a list of what is stored: a value, or what cannot be read in its place.
///
/// ```swift
/// for try await entry in router.records(in: notes) {
///     switch entry {
///     case .value(let note): show(note)
///     case .damaged(let record, let reason): warn("\(record): \(reason.message)")
///     }
/// }
/// ```
///
/// A loop over `case .value(let note)` skips what is damaged; ``get()`` fails for it.
public enum ListEntry<Value> {
    /// What was read.
    case value(Value)
    /// A record that cannot be read, and why. The others are not affected. ``StorageRouter/damagedData(_:)`` exports it, ``StorageRouter/setAside(_:)`` puts it into
    /// the quarantine, ``StorageRouter/removeDamaged(_:)`` removes it.
    case damaged(DamagedRecord, reason: StorageError)

    /// The value; nil for what is damaged.
    public var value: Value? { if case .value(let value) = self { value } else { nil } }

    /// What is damaged; nil for a value.
    public var damaged: DamagedRecord? { if case .damaged(let record, _) = self { record } else { nil } }

    /// The value.
    /// - Throws: ``StorageError`` for what is damaged: the reason.
    public func get() throws -> Value {
        switch self {
        case .value(let value): return value
        case .damaged(_, let reason): throw reason
        }
    }

    /// The entry with another value; damage stays as it is.
    public func map<Other>(_ transform: (Value) throws -> Other) rethrows -> ListEntry<Other> {
        switch self {
        case .value(let value): .value(try transform(value))
        case .damaged(let record, let reason): .damaged(record, reason: reason)
        }
    }
}

extension ListEntry: Sendable where Value: Sendable {}

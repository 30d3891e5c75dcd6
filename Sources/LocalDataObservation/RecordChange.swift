/// A change of one record of a collection: see `changes(in:onDamage:)`.
///
/// Use it to keep a list, an index or another copy of a collection current.
///
/// ```swift
/// var known: [String: Note] = [:]
/// do {
///     for try await change in storage.changes(in: notes) {
///         change.apply(to: &known)
///         print("\(change.id): \(change.record?.title ?? "removed"). There are \(known.count) notes.")
///     }
/// } catch StorageError.corrupted { print("A note is damaged. Pass `onDamage: .skip` to follow the others.") }
/// ```
public enum RecordChange<Record: Sendable>: Sendable {
    /// There is a record with a new id.
    case inserted(id: String, Record)
    /// A record was replaced.
    ///
    /// `old` is the record that the sequence delivered before for this id. It is nil if the sequence does not know it: after a change by
    /// another process, and after changes were merged.
    case changed(id: String, old: Record?, new: Record)
    /// A record was removed. `old` is as for `changed`.
    case removed(id: String, old: Record?)

    /// The id of the record.
    public var id: String {
        switch self {
        case .inserted(let id, _), .changed(let id, _, _), .removed(let id, _): id
        }
    }

    /// The record after the change; nil if it was removed.
    public var record: Record? {
        switch self {
        case .inserted(_, let record), .changed(_, _, let record): record
        case .removed: nil
        }
    }

    /// Applies the change to records by their ids. A dictionary that begins empty, and to which all changes of a sequence are applied, has
    /// the records of the collection.
    ///
    /// ```swift
    /// var known: [String: Note] = [:]
    /// do {
    ///     for try await change in storage.changes(in: notes) {
    ///         change.apply(to: &known)
    ///         print("\(change.id): \(change.record?.title ?? "removed"). There are \(known.count) notes.")
    ///     }
    /// } catch StorageError.corrupted { print("A note is damaged. Pass `onDamage: .skip` to follow the others.") }
    /// ```
    public func apply(to records: inout [String: Record]) { records[id] = record }
}

extension RecordChange: Equatable where Record: Equatable {}

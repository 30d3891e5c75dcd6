/// Says what a list of records or names does with a damaged record. One damaged record never prevents reading the
/// others.
///
/// Use `throw` if a list must be complete, ``skip`` to show what is readable, and ``report(_:)`` to show the damage to
/// the user.
///
/// `damagedData(_:)` of `LocalDataBackup` exports a damaged record. `setAside(_:)` moves it into the quarantine, where
/// data is kept until a person decides about it. `removeDamaged(_:)` removes it.
///
/// ```swift
/// let readable = storage.records(in: notes, onDamage: .report { record, reason in warn("\(record): \(reason.message)") })
/// for try await note in readable { show(note.title) }
/// ```
public enum DamagePolicy: Sendable {
    /// Ends the list with the error of the first damaged record. The error contains the record's name, unless the name
    /// is lost.
    ///
    /// ```swift
    /// do {
    ///     for try await note in storage.records(in: notes, onDamage: .throw) { show(note.title) }
    /// } catch let error as StorageError where error.code == .corrupted {
    ///     warn("The note \(error.keyName) is damaged, and the notes after it were not listed.")
    /// }
    /// ```
    case `throw`
    /// Leaves damaged records out, and writes a notice about each of them to the log.
    ///
    /// ```swift
    /// for try await note in storage.records(in: notes, onDamage: .skip) { show(note.title) }
    /// ```
    case skip
    /// Calls a function with each damaged record and the reason, and continues. An error that the function throws ends
    /// the list.
    case report(@Sendable (DamagedRecord, _ reason: StorageError) async throws -> Void)
}

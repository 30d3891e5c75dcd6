/// The handling of damaged records in a list of records or names. One damaged record never prevents reading the others.
///
/// ```swift
/// for try await note in storage.records(in: notes, onDamage: .report { record, reason in warn("\(record): \(reason.message)") }) {
///     show(note)
/// }
/// ```
///
/// `damagedData(_:)` of `LocalDataBackup` exports a damaged record. `setAside(_:)` moves it into the
/// quarantine, where data is kept until a person decides about it. `removeDamaged(_:)` removes it.
public enum DamagePolicy: Sendable {
    /// Ends the list with the error of the first damaged record. The error contains the record's name, unless the name
    /// is lost.
    case `throw`
    /// Leaves damaged records out, and writes a notice about each of them to the log.
    case skip
    /// Calls a function with each damaged record and the reason, and continues. An error that the function throws ends
    /// the list.
    case report(@Sendable (DamagedRecord, _ reason: StorageError) async throws -> Void)
}

public import Foundation

extension StorageRouter {
    /// Returns a list of all registered keys with their locations, protection, origins and remaining older copies.
    /// Writes nothing and opens no prompt.
    ///
    /// ```swift
    /// let audit = try await storage.audit()
    /// for row in audit.rows {
    ///     print("\(row.key) of \(row.owner): \(row.state.rawValue) in \(row.domain), protected as \(row.protection)")
    ///     if let problem = row.message { print("  \(problem)") }
    /// }
    /// ```
    /// - Throws: ``StorageError`` when the ``quarantine`` cannot be listed. A key that cannot be read has a row with
    ///   the reason.
    @concurrent
    public nonisolated func audit() async throws -> StorageAudit {
        try await call("audit") {
            var rows: [StorageAudit.Row] = []
            let rehearsal = rehearsing()
            defer { withExtendedLifetime(rehearsal) {} }
            let audit = AuditRows(
                engine: engine,
                rehearsal: SweepRows(engine: rehearsal.engine),
                past: try? await history.ledger.history())
            for entry in history.registry.entries() { rows.append(await audit.row(entry)) }
            for entry in history.registry.catalogs.flatMap({ history.registry.retired(of: $0) }) {
                if let row = await audit.row(retired: entry) { rows.append(row) }
            }
            let warnings = Set(rows.map(\.domain)).compactMap { domain in warning(about: domain).map { ("\(domain)", $0) } }
            return StorageAudit(
                rows: rows, quarantine: try await history.quarantine.list(), recordedResidue: await history.ledger.residues(),
                warnings: Dictionary(warnings) { first, _ in first })
        }
    }

    /// The quarantine: values that a migration replaced, damaged records that were set aside, and whole copies of
    /// damaged property lists.
    ///
    /// ```swift
    /// let quarantine = storage.quarantine
    /// for value in try await quarantine.values() where value.key == "city" {
    ///     print(try await quarantine.data(of: value).count, "bytes from \(value.place)")
    ///     try await quarantine.purge(value)  // only after a person has reviewed it
    /// }
    /// ```
    public nonisolated var quarantine: StorageQuarantine { StorageQuarantine(quarantine: history.quarantine, gate: slots.routes.gate) }
}

/// Data that was set aside so that nothing is lost: values that a migration replaced, damaged records, and whole copies
/// of damaged property lists.
///
/// Get it from ``StorageRouter/quarantine``. Show its entries to a person, who decides about each one. Nothing in the
/// quarantine is purged before that.
///
/// ```swift
/// let quarantine = storage.quarantine
/// for value in try await quarantine.values() where value.key == "city" {
///     print(try await quarantine.data(of: value).count, "bytes from \(value.place)")
///     try await quarantine.purge(value)  // only after a person has reviewed it
/// }
/// ```
public struct StorageQuarantine: Sendable {
    let quarantine: Quarantine
    let gate: LockGate

    /// Lists the entries. An entry that is damaged itself is listed too, and its reason says so. Writes nothing.
    ///
    /// ```swift
    /// for value in try await storage.quarantine.values() {
    ///     print("\(value.key) was in \(value.place): \(value.reason)")
    /// }
    /// ```
    /// - Throws: ``StorageError`` when the quarantine cannot be listed.
    @concurrent
    public func values() async throws -> [QuarantinedValue] { try await quarantine.list() }

    /// Returns the bytes of an entry: the output of its serializer, or the UTF-8 bytes of a text. A value that was
    /// sealed in its original location is decrypted. If its key does not decrypt it, the sealed bytes are returned.
    ///
    /// ```swift
    /// do { print(String(decoding: try await storage.quarantine.data(of: value), as: UTF8.self)) } catch StorageError.corrupted {
    ///     print("The entry is damaged. Its bytes cannot be returned.")
    /// }
    /// ```
    /// - Throws: ``StorageError``: `notFound`; `corrupted` for a damaged entry; for a sealed entry also the errors of
    ///   fetching its key.
    @concurrent
    public func data(of value: QuarantinedValue) async throws -> Data {
        if gate.isClosed { throw gate.refusal(value.id) }
        return try await quarantine.content(of: value.id)
    }

    /// Purges an entry that a person has reviewed. When this returns, the removal is durable, and there is no other
    /// copy.
    ///
    /// ```swift
    /// do { try await storage.quarantine.purge(value) } catch let error as StorageError where error.outcome == .notApplied {
    ///     print("The entry still exists: \(error.message)")
    /// }
    /// ```
    /// - Throws: ``StorageError``: `unavailable` and others when the entry could not be purged. Then it still exists,
    ///   unless the outcome of the error says otherwise.
    @concurrent
    public func purge(_ value: QuarantinedValue) async throws { try await quarantine.purge(value.id) }
}

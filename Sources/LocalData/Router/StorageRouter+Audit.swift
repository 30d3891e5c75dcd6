public import Foundation

extension StorageRouter {
    /// Every registered key: where it is, how it is protected, where it came from, and what older copies remain. Writes nothing and opens no prompt.
    /// - Throws: ``StorageError`` when the quarantine cannot be listed. A key that cannot be read is a row that says so.
    @concurrent
    public nonisolated func audit() async throws -> StorageAudit {
        try await Self.cancellable("storage") {
            var rows: [StorageAudit.Row] = []
            let audit = AuditRows(env: env, rehearsal: rehearsing())
            for entry in env.registry.entries() { rows.append(await audit.row(entry)) }
            for entry in env.registry.catalogs.flatMap({ env.registry.retired(of: $0) }) {
                if let row = await audit.row(retired: entry) { rows.append(row) }
            }
            return StorageAudit(rows: rows, quarantine: try await env.quarantine.list(), recordedResidue: await env.ledger.residues())
        }
    }

    /// Values that a migration displaced, and whole copies of damaged property lists.
    public nonisolated var quarantine: StorageQuarantine { StorageQuarantine(env: env) }
}

/// What was put aside because nothing may be lost: values that a migration displaced, damaged records that were set aside, and whole copies of damaged property lists.
public struct StorageQuarantine: Sendable {
    let env: Environment

    /// Lists the entries. An entry that is damaged itself is listed too, and its reason says so. Writes nothing.
    /// - Throws: ``StorageError`` when the quarantine cannot be listed.
    @concurrent
    public func values() async throws -> [QuarantinedValue] { try await env.quarantine.list() }

    /// The bytes of an entry, as its serializer made them; a text as its UTF-8 bytes. What was sealed in its place is opened, if it opens.
    /// - Throws: ``StorageError``: `notFound`; `corrupted` for an entry that is damaged; for a sealed one what fetching the key throws.
    @concurrent
    public func data(of value: QuarantinedValue) async throws -> Data {
        if env.gate.isClosed { throw env.gate.refusal(value.id) }
        return try await env.quarantine.content(of: value.id)
    }

    /// Purges an entry that a person has seen. It is gone, durably, when this returns; there is no other copy.
    /// - Throws: ``StorageError``: `unavailable` and others when it could not be purged; it is there still then, unless the outcome says otherwise.
    @concurrent
    public func purge(_ value: QuarantinedValue) async throws { try await env.quarantine.purge(value.id) }
}

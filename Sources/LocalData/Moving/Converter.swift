import BackendContract

/// Converts records to the form that their keys declare, and writes them to the slots from which they were read.
struct Converter: EnginePart, Sendable {
    let engine: Engine

    /// A converted record, with the data that its write needs.
    struct Conversion: Sendable {
        var prepared: EncodedValue
        let origin: RecordOrigin?
        /// The stored record, before the conversion.
        let record: StorageRecord
        let holder: ReferenceHolder
        /// The schema version of the stored record.
        let version: Int
        var backup: Committer.Change?

        /// The precondition that the slot still holds the record.
        var unchanged: StorageMutation.Precondition { .revision(record.revision) }
    }

    /// Returns the conversion of a record to the form that its key declares; nil if the record has this form, the key's type tag, and the
    /// attributes that its collection derives. If only these are missing, the conversion keeps the value and its time of change.
    func conversion<Value>(of record: StorageRecord, _ slot: Slot<Value>) async throws -> Conversion? {
        let decoded = try await coder.read(record, slot)
        if decoded.isOutdated || record.metadata.typeTag != slot.key.typeTag { return try await conversion(of: record, to: decoded, slot) }
        guard coder.lacksDerivedAttributes(record.metadata, slot) else { return nil }
        var derivation = try await conversion(of: record, to: decoded, slot)
        derivation.prepared.facts.keepsTime = true
        derivation.backup = nil
        return derivation
    }

    func conversion<Value>(
        of record: StorageRecord, to decoded: Decoded<Value>, _ slot: Slot<Value>
    ) async throws -> Conversion {
        var prepared = try coder.prepare(decoded.value, slot, .kept(record.metadata))
        if let references = decoded.references { prepared.references = references }
        let version = record.metadata.schemaVersion ?? slot.key.evolution?.base ?? slot.key.schemaVersion
        let past = try await coder.origin(of: record.metadata, slot.route)
        var origin = past
        // Other records may name the revision of the stored record: a mirror, or a record that replaced it as an older copy.
        origin?.recordRewrite(of: record.revision, past)
        return Conversion(
            prepared: prepared, origin: origin, record: record,
            holder: ReferenceHolder(route: slot.route, copies: [SourceRecord(slot, record)]), version: version,
            backup: slot.key.evolution?.keepsBackup == true ? Backups.change(of: record, at: slot.route, version: version) : nil)
    }

    /// Replaces the stored record by the converted one, makes it durable, reads it back, and counts a conversion of an earlier version in
    /// the ledger.
    /// - Returns: Whether the record was written; false if the slot has changed since it was read.
    func convert<Value>(_ conversion: Conversion, _ slot: Slot<Value>) async throws -> Bool {
        let written = try await executor.run(
            conversion.prepared, slot, origin: conversion.origin, if: conversion.unchanged, with: [conversion.backup],
            for: conversion.holder)
        if written == nil { return false }
        if conversion.version != slot.key.schemaVersion {
            history.ledger.worked(Self.ledgerID(slot.key.entity, from: conversion.version))
        }
        return true
    }

    /// Writes several conversions of one store in one commit.
    /// - Returns: Whether the records were written; false if one of their slots has changed since it was read, and no record was written.
    func convertTogether(_ conversions: [Conversion]) async throws -> Bool {
        var moves = Moves(companions: conversions.compactMap(\.backup))
        for conversion in conversions {
            var put = try await executor.put(
                conversion.prepared, origin: conversion.origin, if: conversion.unchanged, for: conversion.holder)
            if put.route.judge == nil { put.mutation.knownMetadata = conversion.record.metadata }
            moves.writes.append(put)
        }
        return try await executor.run(moves) != nil
    }

    /// Returns the name of the ledger entry that counts the conversions of an entity's records from one schema version.
    static func ledgerID(_ entity: String, from version: Int) -> String { "\(entity):Evolution:\(version)" }
}

import BackendContract

/// Writes values of an earlier shape in their new one, in their place.
struct Converter: Sendable {
    let slots: SlotAccess
    let coder: RecordCoder
    let history: History
    let program: ProgramCode

    init(_ slots: SlotAccess, _ coder: RecordCoder, _ history: History, _ program: ProgramCode) {
        (self.slots, self.coder, self.history, self.program) = (slots, coder, history, program)
    }

    /// A record in its new shape, and what has to be true for it to be written.
    struct Conversion: Sendable {
        var prepared: EncodedValue
        let origin: RecordOrigin?
        /// The record that it was made of.
        let record: StorageRecord
        let holder: ReferenceHolder
        /// The version of the old shape.
        let version: Int
        let backup: Committer.Change?

        /// The precondition that the slot still holds the record.
        var unchanged: StorageMutation.Precondition { .revision(record.revision) }
    }

    /// What gives a record its key's shape; nil when it has that already.
    func conversion<Value>(of record: StorageRecord, _ slot: Slot<Value>) async throws -> Conversion? {
        let decoded = try await coder.read(record, slot)
        guard decoded.isOutdated || record.metadata.typeTag != slot.key.typeTag else { return nil }
        return try await conversion(of: record, to: decoded, slot)
    }

    /// Returns a conversion that gives a record the attributes that its collection derives; nil if it has them. The value and its time of
    /// change stay the same.
    func derivation<Value>(of record: StorageRecord, _ slot: Slot<Value>) async throws -> Conversion? {
        guard coder.lacksDerivedAttributes(record.metadata, slot) else { return nil }
        var facts = WriteAttributes.kept(record.metadata)
        facts.keepsTime = true
        let decoded = try await coder.read(record, slot)
        let past = try await coder.origin(of: record.metadata, slot.route)
        var origin = past
        // In a release window, the mirror names the former revision.
        origin?.recordRewrite(of: record.revision, past)
        return Conversion(
            prepared: try coder.prepare(decoded.value, slot, facts), origin: origin,
            record: record, holder: ReferenceHolder(route: slot.route, copies: [SourceRecord(slot, record)]),
            version: slot.key.schemaVersion, backup: nil)
    }

    func conversion<Value>(
        of record: StorageRecord, to decoded: Decoded<Value>, _ slot: Slot<Value>
    ) async throws -> Conversion {
        var prepared = try coder.prepare(decoded.value, slot, .kept(record.metadata))
        if let references = decoded.references { prepared.references = references }
        let version = record.metadata.schemaVersion ?? slot.key.evolution?.base ?? slot.key.schemaVersion
        let keepsBackup = slot.key.evolution?.keepsBackup == true
        let past = try await coder.origin(of: record.metadata, slot.route)
        var origin = past
        // In a release window, the mirror names the former revision.
        if slot.key.releaseWindow != nil { origin?.recordRewrite(of: record.revision, past) }
        return Conversion(
            prepared: prepared, origin: origin, record: record,
            holder: ReferenceHolder(route: slot.route, copies: [SourceRecord(slot, record)]), version: version,
            backup: keepsBackup ? Backups.change(of: record, at: slot.route, version: version) : nil)
    }

    /// Writes a value of an earlier shape in its new one, over the record that it was read from: durable and read back when it returns.
    /// - Returns: Whether it was written; false means that the slot changed meanwhile.
    func convert<Value>(_ conversion: Conversion, _ slot: Slot<Value>) async throws -> Bool {
        guard try await write(conversion, slot) else { return false }
        history.ledger.worked(Self.ledgerID(slot.key.entity, from: conversion.version))
        return true
    }

    /// Like ``convert(_:_:)``, but without a note in the ledger.
    func write<Value>(_ conversion: Conversion, _ slot: Slot<Value>) async throws -> Bool {
        try await DurableWriter(slots, coder, history, program).write(
            conversion.prepared, slot, conversion.origin, if: conversion.unchanged, after: conversion.backup, conversion.holder) != nil
    }

    /// Writes records of one store in their new shape, in one commit.
    /// - Returns: Whether they were written; false means that one of them changed meanwhile, and that nothing was written.
    func convertTogether(_ conversions: [Conversion]) async throws -> Bool {
        var changes: [Committer.Change] = []
        for conversion in conversions {
            try await ReferenceWriter(slots, coder, history, program).store(conversion.prepared.references, for: conversion.holder)
            let coded = try await coder.complete(conversion.prepared, origin: conversion.origin)
            changes.append(Committer.Change(coded.operation, conversion.prepared.route, if: conversion.unchanged))
        }
        return try await slots.committer.commit(changes + conversions.compactMap(\.backup), readsBack: true).isCommitted
    }

    /// The name in the ledger of what a chain does to records of one version.
    static func ledgerID(_ entity: String, from version: Int) -> String { "\(entity):Evolution:\(version)" }
}

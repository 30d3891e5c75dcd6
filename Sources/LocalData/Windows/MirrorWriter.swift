import BackendContract
import BackendRuntime
import Logging

/// Updates the legacy location of a release window. Only the destination decides what the value is, and its record is durable before this
/// type is used. If an update fails, it is pending, and a later sweep completes it.
struct MirrorWriter: EnginePart, Sendable {
    let engine: Engine

    /// The new content of the legacy location.
    enum Content: Sendable {
        /// A value in the older shape.
        case value(EncodedValue)
        /// The record that an earlier release wrote there, byte for byte.
        case unchanged(StorageRecord)
        case removal
    }

    /// The result of writing a mirror.
    enum Outcome: Sendable {
        case written
        /// The destination or the legacy location was changed since it was read. The writer of that change, or a sweep, completes the
        /// update.
        case superseded
        /// The legacy location could not be written.
        case pending(StorageError)

        var error: StorageError? { if case .pending(let error) = self { error } else { nil } }
    }

    /// Writes the mirror of a value that was just written to the destination. If that fails, the mirror stays pending.
    func write(
        _ prepared: EncodedValue, _ coded: CodedRecord, _ origin: RecordOrigin?, _ revision: StorageRevision, _ kept: MirroredLocation.Seen
    ) async {
        let record = MirroredRecord(StorageRecord(payload: coded.payload, metadata: coded.metadata, revision: revision), origin)
        guard kept.place.isOpen, let older = prepared.older.first, let contents = await seen(record, kept) else { return }
        let mirror = older.mirroring(coded.metadata, of: prepared.route, over: contents.record)
        _ = await write(.value(mirror), of: record, at: kept.place, over: contents)
    }

    /// Writes the mirror of a removal.
    /// - Returns: The error if it could not be written. Nil if the legacy location is up to date, was changed since it was read, or
    ///   contains a record of another type; also nil if the window is over.
    func writeRemoval(_ origin: RecordOrigin?, _ revision: StorageRevision, _ kept: MirroredLocation.Seen) async -> StorageError? {
        let place = kept.place
        guard place.isOpen else { return nil }
        let record = MirroredRecord(StorageTombstone(metadata: StorageMetadata(), revision: revision), origin)
        if let contents = await seen(record, kept) { return await write(.removal, of: record, at: place, over: contents).error }
        if let probe = try? await place.route.probe(), case .value(let other) = probe, place.source.key.refuses(other.metadata) {
            return nil
        }
        return StorageError(.unavailable, key: place.source.name, "\(place.route.displayName) cannot be updated now.")
    }

    /// Returns the content of the legacy location from before the record was written. If it could not be read then, reads it now, with
    /// ``outdated(_:at:)``.
    private func seen(_ record: MirroredRecord, _ kept: MirroredLocation.Seen) async -> MirrorContents? {
        if let contents = kept.contents { return contents }
        return try? await outdated(record, at: kept.place)
    }

    /// Returns the content of the legacy location if it must be updated to a record that is already written; otherwise nil.
    ///
    /// The destination is read after the legacy location. If the destination changes later, the writer of that change also updates the
    /// legacy location, so a write over the returned content fails. In the other order, the mirror of a later record could be read here and
    /// overwritten.
    func outdated(_ record: MirroredRecord, at place: MirroredLocation) async throws -> MirrorContents? {
        guard let contents = try await mirroredLocations.read(place),
            case .outdated = await mirroredLocations.standing(of: contents, to: record, at: place),
            try await mirroredLocations.isCurrent(record, at: place)
        else { return nil }
        return contents
    }

    /// Writes the mirror and the mark of a record over the content that was read. Never throws: if a write fails, the mirror is pending.
    func write(_ content: Content, of record: MirroredRecord, at place: MirroredLocation, over contents: MirrorContents) async -> Outcome {
        do { return try await writing(content, of: record, at: place, over: contents) } catch {
            let error: StorageError =
                error as? StorageError ?? StorageError(StorageError.cancelled, key: place.source.name, "The caller was cancelled.")
            history.events.send(
                .mirrorPending(error.code), "The legacy location of a key could not be updated. A sweep tries again.",
                ["domain": "\(place.destination.domain.kind)", "code": "\(error.code.name)"])
            return .pending(error)
        }
    }

    private func writing(
        _ content: Content, of record: MirroredRecord, at place: MirroredLocation, over contents: MirrorContents
    ) async throws -> Outcome {
        var contents = contents
        for await _ in slots.attempts {
            if try await commit(content, of: record, at: place, over: contents) { return .written }
            // The record of the earlier release was replaced since it was read, so it must not be written again.
            if case .unchanged = content { return .superseded }
            guard let now = try await outdated(record, at: place) else { return .superseded }
            contents = now
        }
        return .superseded
    }

    /// Writes the mirror and the mark: in one commit if the store can, otherwise the mirror first. With a mark but no mirror, the content
    /// that an earlier release wrote before would look like a later write over the mirror.
    /// Reason: "A mark proves that the mirror was written" in Docs/Decisions/ReleaseWindows.md.
    private func commit(
        _ content: Content, of record: MirroredRecord, at place: MirroredLocation, over contents: MirrorContents
    ) async throws -> Bool {
        if case .corrupt(let corruption) = contents.older {
            _ = try await history.quarantine.keep(corruption, of: place.route, beside: [place.destination])
        }
        let mirror = RecordOrigin.Mirror(of: record.revision, record.isRemoved ? .removed : .value)
        var origin =
            try await origins.next(place.source, over: contents.older)
            ?? RecordOrigin(boot: slots.runtime.host.bootID)
        origin.mirrors = mirror
        let change = Committer.Change(try await operation(content, origin, place), place.route, if: contents.older.unchanged)
        if place.commitsTogether {
            let changes = [change, try await mark(mirror, over: contents, place)]
            return try await slots.committer.commit(changes + (contents.epoch.map { [$0] } ?? [])).isCommitted
        }
        let receipt = try await slots.committer.commit([change])
        guard receipt.isCommitted else { return false }
        var marked = mirror
        if receipt.durability == .untilPowerLoss { marked.boot = slots.bootName }
        if !place.marksInPlace { marked.content = try await place.route.probe(.fresh).record.map(RecordOrigin.fingerprint(of:)) }
        _ = try await slots.committer.commit([try await mark(marked, over: contents, place)])
        return true
    }

    private func operation(_ content: Content, _ origin: RecordOrigin, _ place: MirroredLocation) async throws -> StorageMutation.Operation
    {
        switch content {
        case .value(let prepared): return try await coder.complete(prepared, origin: origin).operation
        case .unchanged(let record):
            return try await coder.restated(record.payload, record.metadata, origin, place.route).operation
        // A store of bare values has no tombstones.
        case .removal where !place.marksInPlace: return .delete
        case .removal: return .tombstone(try await coder.tombstone(origin, place.route))
        }
    }

    /// Writes only the mark, for a mirror that already exists.
    func remark(_ record: MirroredRecord, at place: MirroredLocation, over contents: MirrorContents) async throws {
        var mirror = RecordOrigin.Mirror(of: record.revision, record.isRemoved ? .removed : .value)
        if !place.marksInPlace { mirror.content = contents.record.map(RecordOrigin.fingerprint(of:)) }
        let hasSurvived = contents.mark.map { record.isNamed(by: $0) && $0.boot != nil && $0.boot != slots.bootName } ?? false
        let achieved = try await settledDurability(of: place.route, nil)
        if !place.commitsTogether, achieved == .untilPowerLoss, !hasSurvived { mirror.boot = slots.bootName }
        _ = try await slots.committer.commit([
            .check(place.route, if: contents.older.unchanged), try await mark(mirror, over: contents, place),
        ])
    }

    private func mark(
        _ mirror: RecordOrigin.Mirror, over contents: MirrorContents, _ place: MirroredLocation
    ) async throws -> Committer.Change {
        var (mirror, origin) = (mirror, RecordOrigin())
        mirror.since = contents.mark?.since ?? coder.now
        origin.mirrors = mirror
        let tombstone = StorageMutation.Operation.tombstone(try await coder.tombstone(origin, place.mark))
        return Committer.Change(place.mark, StorageMutation(place.mark.address, tombstone, if: .none), isCompanion: true)
    }

    // MARK: The end of a window

    /// Records in the destination, durably, that the window is over. A program that still keeps the window then stops. The value is
    /// unchanged.
    /// - Returns: Whether it was written; false if the destination was changed since it was read.
    func release(_ record: MirroredRecord, at place: MirroredLocation) async throws -> Bool {
        try await restate(record, at: place) { $0.noteReleased(place.name) }
    }

    /// Records in the destination that a legacy location is kept up to date. A later version finds by this that it must end the window. The
    /// value is unchanged.
    /// - Returns: Whether it was written; false if the destination was changed since it was read.
    func open(_ record: MirroredRecord, at place: MirroredLocation) async throws -> Bool {
        try await restate(record, at: place) { $0.noteOpen(place.name) }
    }

    private func restate(_ record: MirroredRecord, at place: MirroredLocation, _ note: (inout RecordOrigin) -> Void) async throws -> Bool {
        var origin = RecordOrigin(boot: slots.runtime.host.bootID)
        origin.mergeSource(record.origin)
        origin.migration = record.origin?.migration
        origin.recordRewrite(of: record.revision, record.origin)
        note(&origin)
        let (metadata, route) = (record.metadata, place.destination)
        let operation: StorageMutation.Operation =
            if let payload = record.payload {
                try await coder.restated(payload, metadata, origin, route).operation
            } else {
                .tombstone(try await coder.tombstone(origin, route, attributes: metadata.attributes, date: metadata.modifiedAt))
            }
        return try await executor.restate(operation, at: place.destination, over: record.revision) != nil
    }

    /// Deletes the mark and then the mirror, or both in one commit if the store can. Never throws: what cannot be deleted is residue, which
    /// a later sweep deletes.
    /// - Parameter keepsOthers: Whether content that is not a mirror stays.
    /// - Returns: The legacy location with the reason, as text, if something remains; otherwise an empty list.
    func delete(_ contents: MirrorContents, at place: MirroredLocation, keepsOthers: Bool = false) async -> [String] {
        do {
            if case .corrupt(let corruption) = contents.older, !keepsOthers {
                _ = try await history.quarantine.keep(corruption, of: place.route, beside: [place.destination])
            }
            let mark = Committer.Change(place.mark, StorageMutation(place.mark.address, .delete), isCompanion: true)
            var changes = contents.mark == nil ? [] : [mark]
            if contents.older.revision != nil, !keepsOthers || contents.mirror != nil {
                changes.append(Committer.Change(.delete, place.route, if: contents.older.unchanged))
            }
            let parts = place.commitsTogether ? [changes] : changes.map { [$0] }
            for part in parts where try await !executor.delete(part).isCommitted {
                return ["\(place.route.displayName): it was changed since it was read"]
            }
            history.ledger.isGone(place.route, of: place.destination)
            return []
        } catch {
            let reason = (error as? StorageError)?.message ?? "the caller was cancelled"
            history.ledger.remains(place.route, of: place.destination, reason)
            return ["\(place.route.displayName): \(reason)"]
        }
    }
}

extension StorageError {
    /// Returns the error of a removal whose legacy copy remains, so that programs of an earlier release still find it.
    func afterRemoval(of key: String) -> StorageError {
        StorageError(
            StorageError.residueRemains, key: key,
            "The value is removed and will not come back, but programs of an earlier release still find it in its legacy location. A sweep removes it there. \(message)",
            outcome: .applied, underlying: self)
    }
}

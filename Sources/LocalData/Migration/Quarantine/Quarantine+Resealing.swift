import BackendContract
import BackendRuntime
import Sealing

/// Resealing of data that older keys of a key source have sealed.
extension Quarantine {
    /// Reseals data in the quarantine with the current key of a source: the entries, and the values in them, that an older key of the
    /// source has sealed.
    /// - Parameters:
    ///   - keys: The keys of the source.
    ///   - isOnlyLook: Whether to list the entries without changing them.
    /// - Returns: The number of resealed entries, and the entries that still need an older key. Damaged entries are listed too, because
    ///   they may need one.
    func reseal(
        _ source: any KeySource, _ keys: SourceKeys, isOnlyLook: Bool
    ) async throws -> (resealed: Int, remaining: [String]) {
        let store = try store()
        var (resealed, remaining) = (0, [String]())
        let found = try await translatingErrors(key: "quarantine") { () throws(BackendError) in
            let addresses = try await store.addresses(in: .values)
            return Array(zip(addresses, try await store.read(addresses, .fresh)))
        }
        for (address, probe) in found {
            let id = address.name
            switch probe {
            case .locked: throw StorageError(StorageError.locked, key: id, "The quarantine is locked. Unlock its store and try again.")
            case .unavailable(let error): throw StorageError.from(error, key: id)
            case .corrupt:
                remaining.append("quarantine/\(id): It is damaged, and may need an older key.")
                continue
            case .absent, .tombstone, .value: break
            }
            guard let record = probe.record, try needsOlderKey(record, id, source, keys) else { continue }
            if isOnlyLook {
                remaining.append("quarantine/\(id)")
                continue
            }
            do {
                let (content, metadata) = try resealedEntry(record, id, keys)
                let result = try await translatingErrors(key: id) { () throws(BackendError) in
                    try await store.apply(.put(.bytes(content), metadata, at: address, if: .revision(record.revision)))
                }
                // Other code never changes an entry, but may discard it. Then the precondition fails, and the entry is not counted.
                if result.isApplied { resealed += 1 }
            } catch let error as StorageError { remaining.append("quarantine/\(id): \(error.message)") }
        }
        return (resealed, remaining)
    }

    /// Returns whether a key that only opens has sealed an entry, or the value in it.
    private func needsOlderKey(_ entry: StorageRecord, _ id: String, _ source: any KeySource, _ keys: SourceKeys) throws -> Bool {
        func isOlder(_ named: String?) -> Bool { keys.others.contains { SealingKey.name(of: $0.id) == named } }
        let facts = entry.metadata.attributes
        if entry.metadata.sealing != nil, try isOf(source, facts["source"]) {
            if isOlder(entry.metadata.sealing) { return true }
        }
        guard facts["seal"] != nil, try isOf(source, facts["seal"]) else { return false }
        // A sealed entry that the keys of the source do not open is skipped, so that it does not prevent the resealing of other entries. If
        // the record in an unsealed entry cannot be decoded, the entry is not skipped, so that `reseal` reports it.
        guard let kept = try? keptRecord(entry, id, keys) else { return entry.metadata.sealing == nil }
        return isOlder(kept.metadata.sealing)
    }

    private func isOf(_ source: any KeySource, _ reference: String?) throws -> Bool {
        guard let reference else { return false }
        return (try? seals.sources(Self.reference(reference)))?.identifier == source.identifier
    }

    /// Returns the record in an entry; nil if the key of another source has sealed the entry.
    private func keptRecord(_ entry: StorageRecord, _ id: String, _ keys: SourceKeys) throws -> StorageRecord? {
        guard case .bytes(var content) = entry.payload else { return nil }
        defer { wipe(&content) }
        if entry.metadata.sealing != nil {
            guard let key = Envelope.keyID(of: content).flatMap({ keys.key($0) }) else { return nil }
            do throws(BackendError) { content = try Envelope.open(content, with: key, for: context(id, entry.metadata)) } catch {
                throw StorageError.from(error, key: id)
            }
        }
        guard case .record(let kept) = RecordCodec.decode(content) else {
            throw StorageError(StorageError.corrupted, key: id, "The quarantined record is damaged.")
        }
        return kept
    }

    /// Returns the content and metadata of an entry after resealing. The current key seals the entry, if it was sealed, and the value in
    /// it, if an older key had sealed that value.
    private func resealedEntry(
        _ entry: StorageRecord, _ id: String, _ keys: SourceKeys
    ) throws -> (content: [UInt8], metadata: StorageMetadata) {
        guard var kept = try keptRecord(entry, id, keys) else {
            throw StorageError(
                StorageError.encryptionKeyMismatch, key: id, "Another source's key sealed the entry, so the value in it stays.")
        }
        var metadata = entry.metadata
        do throws(BackendError) {
            if let place = metadata.attributes["place"].flatMap(Place.init(text:)), case .bytes(let sealed) = kept.payload,
                let key = Envelope.keyID(of: sealed).flatMap({ keys.key($0) }), key.id != keys.current.id
            {
                try reseal(&kept, sealed, of: place, from: key, to: keys.current)
            }
            var content = RecordCodec.encode(kept)
            guard metadata.sealing != nil else { return (content, metadata) }
            defer { wipe(&content) }
            metadata.sealing = SealingKey.name(of: keys.current.id)
            return (try Envelope.seal(content, with: keys.current, for: context(id, metadata), runtime.randomBytes), metadata)
        } catch { throw StorageError.from(error, key: id) }
    }

    /// Reseals the value in an entry. Its seal remains bound to the slot from which the value was displaced. Its origin is dropped, because
    /// it was useful only in that slot.
    private func reseal(
        _ kept: inout StorageRecord, _ sealed: [UInt8], of place: Place, from old: SealingKey, to new: SealingKey
    ) throws(BackendError) {
        let bound = RecordSeals.context(.value, seals.application, place, beside: kept.metadata)
        var content = try Envelope.open(sealed, with: old, for: bound)
        defer { wipe(&content) }
        kept.metadata.sealing = SealingKey.name(of: new.id)
        kept.metadata.origin = nil
        let context = RecordSeals.context(.value, seals.application, place, beside: kept.metadata)
        kept.payload = .bytes(try Envelope.seal(content, with: new, for: context, runtime.randomBytes))
    }
}

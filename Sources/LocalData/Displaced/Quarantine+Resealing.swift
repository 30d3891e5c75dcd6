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
            guard let entry = probe.record else { continue }
            do {
                let old = try await OldSeals(of: entry, id, in: self, source, keys)
                guard old.isAny else { continue }
                if isOnlyLook {
                    remaining.append("quarantine/\(id)")
                    continue
                }
                let (content, metadata) = try resealedEntry(entry, id, old, keys)
                let result = try await translatingErrors(key: id) { () throws(BackendError) in
                    try await store.apply(.put(.bytes(content), metadata, at: address, if: .revision(entry.revision)))
                }
                switch result {
                case .applied: resealed += 1
                // Other code never changes an entry, but may discard it.
                case .conflict, .notAttempted: break
                case .failed(let error): throw StorageError.from(error, key: id)
                case .locked: throw StorageError(StorageError.locked, key: id, "The quarantine is locked. Nothing was changed.")
                }
            } catch let error as StorageError {
                // The entry may need an older key, so the caller must keep the older keys.
                remaining.append("quarantine/\(id): \(error.message)")
            }
        }
        return (resealed, remaining)
    }

    /// The seals of an entry that older keys of a source made.
    private struct OldSeals {
        /// Whether such a key sealed the entry.
        private(set) var isOutside = false
        /// Whether such a key sealed the value in the entry.
        private(set) var isInside = false
        /// The record in the entry, and the key that sealed the entry; nil if no key of the source sealed the value in it.
        private(set) var opened: (record: StorageRecord, key: SealingKey?)?

        var isAny: Bool { isOutside || isInside }

        /// - Throws: ``StorageError`` if the entry may contain a value that a key of the source sealed, but cannot be opened.
        init(
            of entry: StorageRecord, _ id: String, in quarantine: Quarantine, _ source: any KeySource, _ keys: SourceKeys
        ) async throws {
            func isOlder(_ named: String?) -> Bool { keys.others.contains { SealingKey.name(of: $0.id) == named } }
            func isOfSource(_ reference: String?) -> Bool {
                guard let reference else { return false }
                return (try? quarantine.seals.sources(Quarantine.reference(reference)))?.identifier == source.identifier
            }
            let facts = entry.metadata.attributes
            isOutside = entry.metadata.sealing != nil && isOfSource(facts["source"]) && isOlder(entry.metadata.sealing)
            guard isOutside || (facts["seal"] != nil && isOfSource(facts["seal"])) else { return }
            let opened = try await quarantine.opened(entry, id)
            self.opened = opened
            isInside = isOfSource(facts["seal"] ?? facts["source"]) && isOlder(opened.record.metadata.sealing)
        }
    }

    /// Returns the content and metadata of an entry after resealing. If an older key had sealed the value in the entry, the current key
    /// seals it. The entry is sealed with the current key, or, if a key of another source had sealed it, with that key.
    private func resealedEntry(
        _ entry: StorageRecord, _ id: String, _ old: OldSeals, _ keys: SourceKeys
    ) throws -> (content: [UInt8], metadata: StorageMetadata) {
        guard var (kept, key) = old.opened else {
            throw StorageError(StorageError.corrupted, key: id, "The quarantined record is damaged.")
        }
        var metadata = entry.metadata
        do throws(BackendError) {
            if old.isInside, let place = metadata.attributes["place"].flatMap(Place.init(text:)), case .bytes(let sealed) = kept.payload,
                let former = Envelope.keyID(of: sealed).flatMap({ keys.key($0) })
            {
                try reseal(&kept, sealed, of: place, from: former, to: keys.current)
            }
            var content = RecordCodec.encode(kept)
            if old.isOutside { key = keys.current }
            guard let key else { return (content, metadata) }
            defer { wipe(&content) }
            metadata.sealing = SealingKey.name(of: key.id)
            return (try Envelope.seal(content, with: key, for: context(id, metadata), runtime.randomBytes), metadata)
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

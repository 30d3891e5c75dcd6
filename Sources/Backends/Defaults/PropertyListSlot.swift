import BackendContract
import Crypto
import Synchronization

/// One slot of the file, the location of one value. It has the value, the metadata (an entry in the reserved dictionary
/// `LocalData.metadata`), and results that are derived from both.
///
/// Immutable except for two caches: the result of a read (the probe), and the pieces of XML. If a slot is unchanged,
/// the next document has the same object.
final class PropertyListSlot: Sendable {
    private struct Derived {
        var probe: StorageProbe?
        var pieces: Pieces?
    }

    /// The XML of a slot.
    struct Pieces {
        /// For a slot in ``StorageNamespace/values``: the value, as an entry of the top-level dictionary. For any other
        /// slot: the value and the metadata, as one entry of the slot's namespace.
        var value: [UInt8] = []
        /// For a slot in ``StorageNamespace/values``: the metadata, as an entry of `entries` in the reserved
        /// dictionary. For any other slot: empty.
        var metadata: [UInt8] = []
        /// Whether XML can represent the slot exactly. If not, the pieces are empty.
        var isExact = true
    }

    let address: StorageAddress
    /// The value in the file; nil if there is only an entry of the reserved dictionary.
    let value: NativeValue?
    /// The entry of the reserved dictionary, unchanged.
    let metadata: NativeValue?
    private let derived = Mutex(Derived())

    init(address: StorageAddress, value: NativeValue?, metadata: NativeValue?) {
        (self.address, self.value, self.metadata) = (address, value, metadata)
    }

    /// Creates a slot for a payload, the content of a value.
    convenience init(_ address: StorageAddress, _ payload: StoragePayload, _ metadata: StorageMetadata, _ revision: StorageRevision) {
        let value: NativeValue
        let form: SlotMetadata.Form
        var exact: [UInt8]?
        switch payload {
        case .bytes(let bytes): (value, form) = (.data(bytes), .bytes)
        case .native(let native) where PropertyListXML.represents(native, .anyone): (value, form) = (native, .native)
        case .native(let native):
            let record = RecordCodec.encode(StorageRecord(payload: payload, revision: revision))
            if case .date(let seconds) = native, PropertyListXML.represents(.date(seconds.rounded(.down)), .anyone) {
                (value, form, exact) = (.date(seconds.rounded(.down)), .exact, record)
            } else {
                (value, form) = (.data(record), .record)
            }
        }
        let subject = SlotMetadata.Subject.value(digest: SlotMetadata.digest(value), form: form, exact: exact)
        self.init(
            address: address, value: value, metadata: SlotMetadata(subject: subject, revision: revision, metadata: metadata).encoded)
    }

    /// Creates a slot for a tombstone, the record of a removal.
    convenience init(tombstoneAt address: StorageAddress, _ metadata: StorageMetadata, _ revision: StorageRevision) {
        self.init(
            address: address, value: nil, metadata: SlotMetadata(subject: .tombstone, revision: revision, metadata: metadata).encoded)
    }

    // MARK: What it means

    /// The result of reading the slot.
    var probe: StorageProbe {
        if let known = derived.withLock({ $0.probe }) { return known }
        // Compute the probe outside the lock, because the digest of a large value takes time. If two threads compute
        // it, their results are equal.
        let probe = deriveProbe()
        derived.withLock { $0.probe = probe }
        return probe
    }

    private func deriveProbe() -> StorageProbe {
        let known = metadata.flatMap(SlotMetadata.init)
        guard let value else {
            guard let metadata else { return .absent }
            switch known?.subject {
            case .tombstone?: return known.map { .tombstone(StorageTombstone(metadata: $0.metadata, revision: $0.revision)) } ?? .absent
            // Another program removed the value and left its metadata.
            case .value?: return .absent
            case nil:
                var piece: [UInt8] = []
                PropertyListXML.append(metadata, indent: 0, to: &piece)
                let reason = "its entry in \"\(PropertyListDocument.reservedName)\" cannot be understood, and there is no value"
                return .corrupt(StorageCorruption(bytes: piece, revision: derivedRevision(UInt8(ascii: "d")), reason: reason))
            }
        }
        if let known, let payload = payload(of: value, known.subject) {
            return .value(StorageRecord(payload: payload, metadata: known.metadata, revision: known.revision))
        }
        return .value(StorageRecord(payload: .native(value), revision: derivedRevision(UInt8(ascii: "f")), isForeign: true))
    }

    /// Returns the payload of a value; nil if the metadata does not belong to this value.
    private func payload(of value: NativeValue, _ subject: SlotMetadata.Subject) -> StoragePayload? {
        guard case .value(let digest, let form, let exact) = subject, digest == SlotMetadata.digest(value) else { return nil }
        switch (form, value) {
        case (.native, _): return .native(value)
        case (.bytes, .data(let bytes)): return .bytes(bytes)
        case (.record, .data(let bytes)): return Self.payload(inRecord: bytes)
        case (.exact, _): return exact.flatMap(Self.payload(inRecord:))
        default: return nil
        }
    }

    private static func payload(inRecord bytes: [UInt8]) -> StoragePayload? {
        if case .record(let record) = RecordCodec.decode(bytes) { record.payload } else { nil }
    }

    /// Returns the revision (identifier) of a state that was stored without a revision. It is a digest of the value and
    /// the metadata entry, even if the entry does not belong to the value. A removal changes the entry. If another
    /// program then writes an equal value, the revision differs from the revision before the removal.
    private func derivedRevision(_ kind: UInt8) -> StorageRevision {
        var hash = SHA256()
        if let value { hash.update(data: value.canonicalBytes) }
        if let metadata { hash.update(data: metadata.canonicalBytes) }
        return StorageRevision([kind] + hash.finalize())
    }

    // MARK: How it is written

    /// The XML of the slot. It is encoded only once.
    var pieces: Pieces {
        if let known = derived.withLock({ $0.pieces }) { return known }
        var pieces = Pieces()
        pieces.isExact =
            [address.namespace.name, address.name].allSatisfy { PropertyListXML.representsText($0, .foundation) }
            && [value, metadata].allSatisfy { $0.map { PropertyListXML.represents($0, .foundation) } ?? true }
        if pieces.isExact {
            if address.namespace != .values {
                PropertyListXML.appendEntry(address.name, namespaceEntry, indent: 4, to: &pieces.value)
            } else {
                if let value { PropertyListXML.appendEntry(address.name, value, indent: 1, to: &pieces.value) }
                if let metadata { PropertyListXML.appendEntry(address.name, metadata, indent: 3, to: &pieces.metadata) }
            }
        }
        derived.withLock { $0.pieces = pieces }
        return pieces
    }

    /// The value and metadata as an entry of a namespace in the reserved dictionary.
    var namespaceEntry: NativeValue {
        var entry: [String: NativeValue] = [:]
        entry["value"] = value
        entry["metadata"] = metadata
        return .dictionary(entry)
    }
}

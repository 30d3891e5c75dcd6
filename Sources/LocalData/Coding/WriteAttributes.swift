import BackendContract

/// A record's metadata beside its value: what a write keeps of the record before it, and what it sets.
struct WriteAttributes: Sendable {
    /// When a value stops being valid.
    enum Expiry: Sendable {
        /// As the record before has it.
        case kept
        /// As the record before has it, in another place; one that had no limit there begins with the key's lifetime.
        case carried
        /// The key's lifetime begins.
        case begins
        /// A lifetime of this value's own begins.
        case after(Duration)
        /// Never, whatever the key says.
        case never
    }

    var expiry = Expiry.begins
    /// The named texts that change; nil removes one.
    var attributes: [String: String?] = [:]
    /// The metadata of the record before.
    var past: StorageMetadata?
    /// Whether the value may replace one of a later version than the key's.
    var replacesLaterVersions = false

    /// A new value.
    static let new = WriteAttributes()

    /// A value that is written again in its place without a `set`.
    static func kept(_ past: StorageMetadata?) -> WriteAttributes { WriteAttributes(expiry: .kept, past: past) }

    /// A value made of others: of one it keeps everything, of several the earliest expiry.
    static func carried(from sources: [StorageMetadata]) -> WriteAttributes {
        var past = sources.count == 1 ? sources[0] : StorageMetadata()
        past.expiresAt = sources.compactMap(\.expiresAt).min()
        return WriteAttributes(expiry: .carried, past: past)
    }

    /// The same, over what the slot holds now; an expired value leaves nothing to a new one.
    func over(_ probe: StorageProbe, now: Double) -> WriteAttributes {
        var facts = self
        facts.past = probe.record.flatMap { $0.metadata.isExpired(at: now) ? nil : $0.metadata }
        return facts
    }

    /// The metadata of a record, but for what its place and its origin add.
    func metadata(of shape: RecordShape, now: Double) -> StorageMetadata {
        var metadata = StorageMetadata(
            serializer: shape.serializer, typeTag: shape.typeTag, schemaVersion: shape.version,
            createdAt: past?.createdAt ?? (shape.isInCollection ? now : nil), modifiedAt: now, attributes: past?.attributes ?? [:],
            indexesAttributes: shape.indexesAttributes)
        for (name, text) in attributes { metadata.attributes[name] = text }
        metadata.expiresAt =
            switch expiry {
            case .never: nil
            case .after(let lifetime): now + lifetime.inSeconds
            case .kept where past != nil: past?.expiresAt
            case .carried where past?.expiresAt != nil: past?.expiresAt
            case .kept, .carried, .begins: shape.lifetime.map { now + $0.inSeconds }
            }
        // Queries ask for records by these.
        if shape.isInCollection {
            metadata.attributes[StorageMetadata.versionAttribute] = String(shape.version)
            metadata.attributes[StorageMetadata.expiresAttribute] = metadata.expiresAt == nil ? nil : "yes"
        }
        return metadata
    }
}

extension Duration {
    /// The duration in seconds, as precisely as a `Double` can.
    var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}

extension StorageMetadata {
    /// Whether the value is no longer valid. The time is asked for only if the value can expire.
    func isExpired(at now: @autoclosure () -> Double) -> Bool { expiresAt.map { $0 <= now() } ?? false }
}

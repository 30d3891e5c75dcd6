import BackendContract

/// The metadata that a write sets, and the metadata that it keeps from the previous record.
struct WriteAttributes: Sendable {
    /// Says when a written value expires.
    enum Expiry: Sendable {
        /// When the previous record expires. Without a previous record, the key's lifetime begins now.
        case kept
        /// For a move: when the source record expires. If that record never expires, the key's lifetime begins now.
        case carried
        /// After the key's lifetime, which begins now.
        case begins
        /// After a lifetime for this value alone, which begins now.
        case after(Duration)
        /// At a time, in seconds since 1970.
        case at(Double)
        /// Never, even if the key has a lifetime.
        case never
    }

    var expiry = Expiry.begins
    /// The attributes to change, by name; a nil text removes the attribute.
    var attributes: [String: String?] = [:]
    /// The metadata of the previous record, or of the source record of a move; nil if there is none.
    var past: StorageMetadata?
    /// Whether the value may replace a value of a later schema version than the key's.
    var replacesLaterVersions = false
    /// Whether the value counts as last changed when the previous record was, because its content is the same.
    var keepsTime = false

    /// The default for a write: the key's lifetime begins, and no attributes change.
    static let new = WriteAttributes()

    /// The attributes of a value that is rewritten in its slot without a `set`: they keep the expiry of the previous
    /// record.
    static func kept(_ past: StorageMetadata?) -> WriteAttributes { WriteAttributes(expiry: .kept, past: past) }

    /// The attributes of a value that a migration makes from other values. From one source, all metadata is kept. From
    /// several sources, only the earliest expiry is kept.
    static func carried(from sources: [StorageMetadata]) -> WriteAttributes {
        var past = sources.count == 1 ? sources[0] : StorageMetadata()
        past.expiresAt = sources.compactMap(\.expiresAt).min()
        return WriteAttributes(expiry: .carried, past: past)
    }

    /// The attributes of a value that a conflict policy takes from the sources instead of the value in the destination. They
    /// are those of a move. If no source expires, the value expires when the replaced value would have expired.
    /// - Parameter replaced: The metadata of the replaced value; nil after a removal.
    static func winning(from sources: [StorageMetadata], over replaced: StorageMetadata?) -> WriteAttributes {
        var facts = carried(from: sources)
        if facts.past?.expiresAt == nil { facts.past?.expiresAt = replaced?.expiresAt }
        return facts
    }

    /// The attributes of a value that a conflict policy merges from the sources and the value in the destination. It expires
    /// when the first of the merged values would have expired. After a removal, they are the attributes of a move.
    /// - Parameter mine: The metadata of the value in the destination; nil after a removal.
    static func merged(from sources: [StorageMetadata], with mine: StorageMetadata?) -> WriteAttributes {
        guard let mine else { return carried(from: sources) }
        var facts = carried(from: sources)
        facts.past?.expiresAt = (sources + [mine]).compactMap(\.expiresAt).min()
        facts.expiry = .kept
        return facts
    }

    /// Returns a copy that has the record in the slot as the previous record. An expired record counts as absent.
    func over(_ probe: StorageProbe, now: Double) -> WriteAttributes {
        var facts = self
        facts.past = probe.record.flatMap { $0.metadata.isExpired(at: now) ? nil : $0.metadata }
        return facts
    }

    /// Returns the metadata of the record to write, without the origin and the seal.
    func metadata(of shape: RecordShape, now: Double) -> StorageMetadata {
        var metadata = StorageMetadata(
            serializer: shape.serializer, typeTag: shape.typeTag, schemaVersion: shape.version,
            createdAt: past?.createdAt ?? (shape.isInCollection ? now : nil), modifiedAt: keepsTime ? past?.modifiedAt ?? now : now,
            attributes: past?.attributes ?? [:], indexesAttributes: shape.indexesAttributes)
        for (name, text) in attributes { metadata.attributes[name] = text }
        metadata.expiresAt =
            switch expiry {
            case .never: nil
            case .after(let lifetime): now + lifetime.inSeconds
            case .at(let time): time
            case .kept where past != nil: past?.expiresAt
            case .carried where past?.expiresAt != nil: past?.expiresAt
            case .kept, .carried, .begins: shape.lifetime.map { now + $0.inSeconds }
            }
        // With these two attributes, queries find records of earlier versions and records that expire.
        if shape.isInCollection {
            metadata.attributes[StorageMetadata.versionAttribute] = StorageMetadata.versionText(shape.version, isMarked: false)
            metadata.attributes[StorageMetadata.expiresAttribute] = metadata.expiresAt == nil ? nil : "yes"
        }
        return metadata
    }
}

extension Duration {
    /// The duration in seconds, as precisely as a `Double` allows.
    var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}

extension StorageMetadata {
    /// Returns whether the value has expired. The present time is only determined if the value can expire.
    func isExpired(at now: @autoclosure () -> Double) -> Bool { expiresAt.map { $0 <= now() } ?? false }
}

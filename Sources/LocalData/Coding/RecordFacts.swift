import BackendContract

/// What a record says beside its value: what a write takes over from the record before it, and what it says anew.
struct RecordFacts: Sendable {
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

    /// A new value, over a record that nobody looked at.
    static let new = RecordFacts()

    /// A value that is written again in its place, for another reason than that a program set it.
    static func kept(_ past: StorageMetadata?) -> RecordFacts { RecordFacts(expiry: .kept, past: past) }

    /// A value that is made of others, elsewhere: of one it takes everything over, of several the earliest end.
    static func carried(from sources: [StorageMetadata]) -> RecordFacts {
        var past = sources.count == 1 ? sources[0] : StorageMetadata()
        past.expiresAt = sources.compactMap(\.expiresAt).min()
        return RecordFacts(expiry: .carried, past: past)
    }

    /// The metadata of a record, but for what its place and its origin add.
    func metadata<Value>(of key: StorageKey<Value>, now: Double) -> StorageMetadata {
        var metadata = StorageMetadata(
            serializer: key.serializer.name, typeTag: key.typeTag, schemaVersion: key.schemaVersion,
            createdAt: past?.createdAt ?? (key.demandsTypeTag ? now : nil), modifiedAt: now, attributes: past?.attributes ?? [:])
        for (name, text) in attributes { metadata.attributes[name] = text }
        metadata.expiresAt =
            switch expiry {
            case .never: nil
            case .after(let lifetime): now + lifetime.seconds
            case .kept where past != nil: past?.expiresAt
            case .carried where past?.expiresAt != nil: past?.expiresAt
            case .kept, .carried, .begins: key.lifetime.map { now + $0.seconds }
            }
        // What records are asked for by.
        if key.demandsTypeTag {
            metadata.attributes[StorageMetadata.versionAttribute] = String(key.schemaVersion)
            metadata.attributes[StorageMetadata.expiresAttribute] = metadata.expiresAt == nil ? nil : "yes"
        }
        return metadata
    }
}

extension Duration {
    /// The duration in seconds, as precisely as a `Double` can.
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}

extension StorageMetadata {
    /// Whether the value is no longer valid.
    func isExpired(at now: Double) -> Bool { expiresAt.map { $0 <= now } ?? false }
}

/// How large a value is, payload and metadata together: what ``BackendCapabilities/maximumValueSize`` limits.
extension StorageMetadata {
    /// The number of bytes of the fields in record format 1; 0 where nothing is known. It is computed without encoding anything.
    public var byteCount: Int {
        // A tag and a length stand before each field.
        let frame = 5
        var count = 0
        for text in [serializer, typeTag, sealing] { if let text { count += frame + text.utf8.count } }
        if let origin { count += frame + origin.count }
        if schemaVersion != nil { count += frame + 8 }
        for seconds in [createdAt, modifiedAt, expiresAt] where seconds != nil { count += frame + 8 }
        if !attributes.isEmpty {
            // A dictionary of texts: its tag and count; of each entry two lengths and the tag of a text.
            count += frame + 5
            for (name, text) in attributes { count += 9 + name.utf8.count + text.utf8.count }
        }
        if !indexesAttributes { count += frame }
        return count
    }
}

extension StorageMutation {
    /// The number of bytes that the mutation asks a store to keep: those of the payload and of the metadata.
    public var byteCount: Int {
        switch operation {
        case .put(let payload, let metadata): payload.byteCount + metadata.byteCount
        case .tombstone(let metadata): metadata.byteCount
        case .delete, .check: 0
        }
    }
}

extension BackendCapabilities {
    /// Refuses a mutation whose value is larger than ``maximumValueSize``.
    /// - Throws: ``BackendError`` with `tooLarge`, which names the size, the limit and the remedy; nothing was changed.
    public func requireFit(_ mutation: StorageMutation) throws(BackendError) { try requireFit(mutation.byteCount) }

    /// Refuses a number of bytes that is larger than ``maximumValueSize``.
    /// - Parameters:
    ///   - byteCount: The bytes of payload and metadata.
    ///   - store: The store, with its article.
    ///   - remedy: What to do instead, in a sentence.
    /// - Throws: ``BackendError`` with `tooLarge`.
    package func requireFit(
        _ byteCount: Int, in store: String = "this store", remedy: String = BackendError.splitting
    ) throws(BackendError) {
        guard let limit = maximumValueSize, byteCount > limit else { return }
        throw BackendError.tooLarge(byteCount, limit: limit, store, remedy: remedy)
    }
}

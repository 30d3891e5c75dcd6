/// The size of a value is the size of its payload (its content) plus the size of its metadata.
/// ``BackendCapabilities/maximumValueSize`` limits this sum.
extension StorageMetadata {
    /// The size of the metadata's fields in record format 1 (``RecordCodec``), in bytes; 0 if every field is missing.
    /// It is computed without encoding the metadata.
    public var byteCount: Int {
        // Each field begins with a 1-byte tag and a 4-byte length.
        let frame = 5
        var count = 0
        for text in [serializer, typeTag, sealing] { if let text { count += frame + text.utf8.count } }
        if let origin { count += frame + origin.count }
        if schemaVersion != nil { count += frame + 8 }
        for seconds in [createdAt, modifiedAt, expiresAt] where seconds != nil { count += frame + 8 }
        if !attributes.isEmpty {
            // The dictionary begins with a tag and a count (5 bytes). Each entry has the lengths of its name and its text, and a tag (9
            // bytes).
            count += frame + 5
            for (name, text) in attributes { count += 9 + name.utf8.count + text.utf8.count }
        }
        if !indexesAttributes { count += frame }
        return count
    }
}

extension StorageMutation {
    /// The number of bytes that the mutation (a change of one slot) stores: payload and metadata.
    public var byteCount: Int {
        switch operation {
        case .put(let payload, let metadata): payload.byteCount + metadata.byteCount
        case .tombstone(let metadata): metadata.byteCount
        case .delete, .check: 0
        }
    }
}

extension BackendCapabilities {
    /// Throws if the value of a mutation is larger than ``maximumValueSize``.
    ///
    /// ```swift
    /// var capabilities = BackendCapabilities(durability: .durable, atomicBatch: true, maximumValueSize: 1_048_576)
    /// capabilities.usefulConcurrency = 8
    /// do { try capabilities.requireFit(.put(.bytes([UInt8](repeating: 0, count: 2_000_000)), at: StorageAddress("image"))) } catch {
    ///     print(error.code, error.reason)  // tooLarge, with the size, the limit and the remedy
    /// }
    /// ```
    /// - Throws: ``BackendError`` with `tooLarge`. The error states the size, the limit and the remedy. Nothing was changed.
    public func requireFit(_ mutation: StorageMutation) throws(BackendError) { try requireFit(mutation.byteCount) }

    /// Throws if a size is larger than ``maximumValueSize``.
    /// - Parameters:
    ///   - byteCount: The size of payload and metadata in bytes.
    ///   - store: The name of the store with its article, for example "this store".
    ///   - remedy: A sentence that recommends an alternative.
    /// - Throws: ``BackendError`` with `tooLarge`.
    package func requireFit(
        _ byteCount: Int, in store: String = "this store", remedy: String = BackendError.splitting
    ) throws(BackendError) {
        guard let limit = maximumValueSize, byteCount > limit else { return }
        throw BackendError.tooLarge(byteCount, limit: limit, store, remedy: remedy)
    }
}

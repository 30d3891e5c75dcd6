package import BackendContract

extension StorageRouter {
    /// Returns the protection of a key's value at its destination.
    /// - Throws: ``StorageError`` if the key's domain cannot be used.
    package nonisolated func protection(of key: AnyStorageKey) throws -> ProtectionLevel { try slots.routes.route(for: key).protection }
}

extension AnyStorageKey {
    /// Returns the value of the key as a document; nil if there is none. For a collection, the document contains all
    /// records by their ids.
    package func document(_ router: StorageRouter) async throws -> StoredDocument? {
        func value<Value>(_ key: some TypedKey<Value>) async throws -> StoredDocument? {
            try await router.value(for: key.typed).map { try StoredDocument(encoding: $0) }
        }
        func records<Record>(_ collection: some TypedCollection<Record>) async throws -> StoredDocument? {
            var documents: [String: DocumentValue] = [:]
            for try await record in router.storedRecords(in: collection.typed) {
                documents[record.id] = try StoredDocument(encoding: record.value).root
            }
            return documents.isEmpty ? nil : StoredDocument(.object(documents))
        }
        if let collection { return try await records(collection) }
        return try await value(base)
    }
}

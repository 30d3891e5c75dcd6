package import BackendContract
import BackendRuntime
import Logging

/// The interface of a router for the product `LocalDataCaches`.
extension StorageRouter {
    /// Returns the access of a cache to its store. Opens nothing.
    /// - Parameters:
    ///   - collection: The collection that the program declares.
    ///   - domain: The domain of the cache.
    /// - Throws: ``StorageError``: `unregisteredKey` if keys must be registered, and the collection is not.
    package nonisolated func cacheAccess<Record>(
        _ collection: StorageCollection<Record>, in domain: StorageDomain
    ) throws -> CacheAccess<Record> {
        // The route of the collection opens the collection's own store, which the cache does not use. So the route is only
        // made for a check of the registration. A call of the cache completes an unfinished forgetting.
        if admits != nil {
            do { _ = try entry(collection.placeholder) } catch let error as StorageError where error.isUnfinishedForgetting {}
        }
        return CacheAccess(router: self, records: collection.placed(in: domain))
    }
}

/// The access of a cache to its store: it encodes and decodes records, and reads and changes slots.
///
/// The records have the format of a collection. They do not pass through the migration protocol, and no observer of a
/// key is notified about them.
package struct CacheAccess<Record: Codable & Sendable>: Sendable {
    fileprivate let router: StorageRouter
    /// The collection of the cached records, in the domain of the cache.
    fileprivate let records: StorageCollection<Record>

    /// A record that was encoded, but not sealed.
    package struct Encoded: Sendable { fileprivate let value: EncodedValue }

    /// The content of a slot.
    package enum Found: Sendable {
        case absent
        /// The value has expired.
        case expired
        /// The bytes are damaged, or are no value of the record type.
        case damaged
        case value(Record)
    }

    package var configuration: StorageConfiguration { router.configuration }
    var domain: StorageDomain { records.domain }
    package var name: String { records.name }
    package var namespace: StorageNamespace { records.namespace }

    /// Runs a call of the program: see ``StorageRouter/call(_:on:named:isStepwise:_:)``.
    package func call<R>(_ operation: String, isStepwise: Bool = false, _ body: () async throws -> R) async throws -> R {
        try await router.call(operation, records, isStepwise: isStepwise, body)
    }

    /// Runs work while no other call of this router changes the cache.
    package func inTurn<R>(_ work: () async throws -> R) async throws -> R {
        try await router.slots.withLane(router.slots.routes.slot(for: records.placeholder).route, work)
    }

    // MARK: Records

    /// Returns the address of a record.
    /// - Throws: ``StorageError`` with `invalidName`.
    package func address(_ id: String) throws -> StorageAddress { try slot(id).address }

    /// Returns the id of a record.
    package func id(of record: Record) throws -> String { try records.id(of: record) }

    private func slot(_ id: String) throws -> Slot<Record> { try router.slots.routes.slot(for: records.key(id)) }

    /// Encodes a record. The records inside its references are not stored.
    /// - Parameter lifetime: The time during which the record is valid; nil for the lifetime of the collection.
    /// - Throws: ``StorageError`` with `encodingFailed`.
    package func encode(_ record: Record, id: String, lifetime: Duration?) throws -> Encoded {
        Encoded(value: try router.coder.prepare(record, slot(id), WriteAttributes(expiry: lifetime.map { .after($0) } ?? .begins)))
    }

    /// Returns the mutation that stores a record.
    /// - Parameter attributes: The texts that are stored with the record, by name.
    package func mutation(_ encoded: Encoded, attributes: [String: String]) async throws -> StorageMutation {
        var value = encoded.value
        value.facts.attributes = attributes.mapValues { $0 }
        return StorageMutation(value.route.address, try await router.coder.complete(value, origin: nil).operation)
    }

    /// Reads a record and decodes it.
    /// - Throws: ``StorageError`` when the store cannot answer.
    package func find(_ address: StorageAddress) async throws -> Found {
        switch try await probe(address) {
        case .corrupt: return .damaged
        case .value(let record) where router.coder.isExpired(record): return .expired
        case .value(let record):
            do { return .value(try await router.coder.decode(record, slot(address.name))) } catch let error as StorageError {
                // A value whose key is lost is of no use either. If the key is locked, the call throws.
                guard error.concernsOneRecord || error.code == StorageError.encryptionKeyMissing else { throw error }
                return .damaged
            }
        default: return .absent
        }
    }

    // MARK: The store

    /// Reads a slot.
    /// - Throws: ``StorageError`` when the store cannot answer.
    package func probe(_ address: StorageAddress) async throws -> StorageProbe {
        try await withStore { (store) throws(BackendError) in
            let probe = try await store.read(address, .validated)
            switch probe {
            case .locked: throw BackendError(.locked, "The store of the cache is locked. Unlock it and try again.")
            case .unavailable(let error): throw error
            case .corrupt(let damage) where damage.revision == nil: throw BackendError(.corrupted, damage.reason)
            default: return probe
            }
        }
    }

    /// Reads a page of the records.
    package func page(after cursor: StorageCursor?) async throws -> StoragePage {
        try await withStore { [namespace, limit = configuration.pageSize] (store) throws(BackendError) in
            try await store.page(StorageQuery(namespace), after: cursor, limit: limit)
        }
    }

    /// Changes slots, all or none.
    /// - Returns: The results: each mutation was applied, or one of them met a conflict.
    package func apply(_ mutations: [StorageMutation]) async throws -> [MutationResult] {
        try await withStore { (store) throws(BackendError) in
            let results = try await store.apply(mutations)
            for result in results {
                if case .failed(let error) = result { throw error }
                if case .locked = result { throw BackendError(.locked, "The store of the cache is locked. Nothing was changed.") }
            }
            return results
        }
    }

    /// Deletes damaged slots without a readable name.
    package func delete(_ damaged: [DamageHandle]) async throws {
        try await withStore { (store) throws(BackendError) in
            for handle in damaged { _ = try await (store as? any SalvageableBackend)?.deleteDamage(at: handle) }
        }
    }

    /// The size of the largest value that the store accepts, in bytes of payload and metadata; nil for any size.
    package var maximumValueSize: Int? { get throws { try store.capabilities.maximumValueSize } }

    private var store: any StorageBackend {
        get throws {
            let store: any StorageBackend = try router.store(of: domain, otherwise: "It has no store.")
            guard store.capabilities.atomicBatch else {
                throw StorageError(
                    StorageError.unsupported, key: name,
                    "The store of the cache cannot commit several changes at once. Nothing was changed.")
            }
            return store
        }
    }

    /// Runs work on the store. If the store is damaged as a whole, or the key of its source does not open it, its
    /// database is deleted and the work runs again: a cache loses nothing that its program needs.
    private func withStore<R>(_ body: (any StorageBackend) async throws(BackendError) -> R) async throws -> R {
        // A cache ignores errors of its store when it computes a value, so the call of the program does not complete this.
        let store = try await router.completingForgetting { try self.store }
        do {
            return try await translatingErrors(key: name) { () throws(BackendError) in try await body(store) }
        } catch let error as StorageError where isRuined(error) {
            await store.close()
            // Without a database, its key source is the problem.
            guard try await CacheProvider.discard(domain.scope ?? "", configuration) else { throw error }
            configuration.logger.notice(
                "The database of a cache could not be opened. It was deleted, and the cache is empty.",
                metadata: ["event": "localdata.cache_discarded", "code": "\(error.code)"])
        }
        return try await translatingErrors(key: name) { () throws(BackendError) in try await body(store) }
    }

    /// Returns whether an error shows that the database can never be opened again.
    private func isRuined(_ error: StorageError) -> Bool {
        guard domain.kind == .cache, !configuration.isInMemory else { return false }
        switch error.code {
        case .corrupted, .encryptionKeyMissing: return true
        // A wrong passphrase shows nothing about the database.
        case .encryptionKeyMismatch: return !CacheProvider.needsPassphrase(domain.scope ?? "", configuration)
        default: return false
        }
    }
}

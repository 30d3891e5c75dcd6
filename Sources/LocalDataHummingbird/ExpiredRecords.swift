#if Hummingbird
    import BackendContract
    import BackendRuntime
    import LocalData
    import ServiceLifecycle

    /// Purges the expired records of a collection without legacy locations.
    ///
    /// A sweep keeps an expired record for a day. This type deletes it at once, with the precondition that it is unchanged
    /// since it was found expired.
    struct ExpiredRecords: Sendable {
        private let storage: StorageRouter
        private let domain: StorageDomain
        private let query: StorageQuery

        init(_ storage: StorageRouter, in collection: StorageCollection<PersistedValue>) {
            (self.storage, domain) = (storage, collection.domain)
            // Docs/Design.md documents the namespace of a collection, and the attribute of records that expire.
            query = StorageQuery(StorageNamespace("collection:\(collection.name)"), [.attribute("LocalData.expires", "yes")])
        }

        /// Purges the expired records, a page at a time. A graceful shutdown ends the call after a page.
        /// - Returns: The number of purged records.
        func purge() async throws -> Int {
            try await storage.call("purgeExpired", domain, isStepwise: true) {
                var count = 0
                var cursor: StorageCursor?
                repeat {
                    let (deletions, next) = try await page(after: cursor)
                    count += try await delete(deletions)
                    cursor = next
                } while cursor != nil && !Task.isShuttingDownGracefully
                return count
            }
        }

        /// Finds the expired records of a page.
        /// - Returns: The mutations that delete them, and the cursor for the next page.
        func page(after cursor: StorageCursor?) async throws -> (deletions: [StorageMutation], next: StorageCursor?) {
            let backend = try backend
            let limit = storage.configuration.pageSize
            let page = try await translating("\(domain)", await backend.page(query, after: cursor, limit: limit))
            // Read the time after the page: the first connection to a server sets the clock.
            let now = storage.configuration.runtime.clock.wallSeconds
            let deletions = page.entries.compactMap { entry -> StorageMutation? in
                // A record with an origin replaced older copies, so only a sweep may purge it.
                guard let record = entry.record, record.metadata.origin == nil, let expiry = record.metadata.expiresAt, expiry <= now else {
                    return nil
                }
                return .delete(entry.address, if: .revision(record.revision))
            }
            return (deletions, page.next)
        }

        /// Applies mutations: in one commit if the store can and no record has changed, otherwise one by one.
        /// - Returns: The number of mutations whose precondition held.
        func delete(_ deletions: [StorageMutation]) async throws -> Int {
            if deletions.isEmpty { return 0 }
            let backend = try backend
            if backend.capabilities.atomicBatch, try await apply(deletions, to: backend) == deletions.count { return deletions.count }
            var count = 0
            for deletion in deletions { count += try await apply([deletion], to: backend) }
            return count
        }

        private func apply(_ deletions: [StorageMutation], to backend: any StorageBackend) async throws -> Int {
            let results = try await translatingErrors(key: "\(domain)") { () throws(BackendError) in
                let results = try await backend.apply(deletions)
                for result in results {
                    if case .failed(let error) = result { throw error }
                    if case .locked = result { throw BackendError(.locked, "The store is locked. Expired values are purged later.") }
                }
                return results
            }
            return results.count { $0.isApplied }
        }

        /// The store of the collection.
        /// - Throws: ``StorageError``; `locked` if the program has locked it.
        private var backend: any StorageBackend {
            get throws { try storage.store(of: domain, as: (any StorageBackend).self, otherwise: "It has no store.") }
        }
    }
#endif

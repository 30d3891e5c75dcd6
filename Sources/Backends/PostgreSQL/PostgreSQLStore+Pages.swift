#if PostgreSQL
    package import BackendContract
    import BackendRuntime
    import Sealing

    /// Lists and queries. Each page is one statement, so a long list holds back no other transaction.
    extension PostgreSQLStore: SalvageableBackend {
        package func addresses(in namespace: StorageNamespace) async throws(BackendError) -> [StorageAddress] {
            let listing = try await listing(in: namespace)
            if let damaged = listing.damaged.first {
                throw BackendError(
                    .corrupted,
                    "The list is incomplete, because the name of a damaged row cannot be read. \(damaged.corruption.reason) Salvage the database first."
                )
            }
            return listing.addresses
        }

        package func listing(in namespace: StorageNamespace) async throws(BackendError) -> StorageListing {
            var addresses: [StorageAddress] = []
            var damaged: [DamagedSlot] = []
            var last: [UInt8]? = []
            while let start = last {
                let (rows, next) = try await rows(StorageQuery(namespace), after: start, limit: 512)
                for row in rows {
                    if let address = row.address { addresses.append(address) } else { damaged.append(row.damaged) }
                }
                last = next
            }
            return StorageListing(addresses, damaged: damaged)
        }

        package func page(_ query: StorageQuery, after cursor: StorageCursor?, limit: Int) async throws(BackendError) -> StoragePage {
            if let cursor, cursor.bytes.first != 1 { throw StorageCursor.stranger }
            let (rows, next) = try await rows(query, after: cursor.map { Array($0.bytes.dropFirst()) } ?? [], limit: max(limit, 1))
            var entries: [StoragePage.Entry] = []
            var damaged: [DamagedSlot] = []
            for row in rows {
                if let address = row.address {
                    if let entry = try query.entry(address, row.probe) { entries.append(entry) }
                } else {
                    damaged.append(row.damaged)
                }
            }
            return StoragePage(entries, damaged: damaged, next: next.map { StorageCursor([1] + $0) })
        }

        package func count(_ query: StorageQuery) async throws(BackendError) -> Int { try await countByPages(query) }

        /// A row of a list.
        private struct Found: Sendable {
            let place: RowPlace
            let address: StorageAddress?
            let probe: StorageProbe

            /// The row as a damaged slot. The handle is the primary key and the revision of the damaged state.
            var damaged: DamagedSlot {
                let corruption: StorageCorruption =
                    if case .corrupt(let corruption) = probe { corruption } else {
                        StorageCorruption(bytes: [], revision: nil, reason: "The row has no name.")
                    }
                var writer = ByteWriter()
                for part in [place.namespace, place.slot, corruption.revision?.bytes ?? []] { writer.counted(part) }
                return DamagedSlot(DamageHandle(writer.bytes), corruption)
            }
        }

        /// Reads rows of a namespace in the order of their slots. Returns the last slot if there may be more rows.
        ///
        /// If a missing row proves nothing, the rows that exist are returned. Then the page after the last row fails.
        private func rows(
            _ query: StorageQuery, after last: [UInt8], limit: Int
        ) async throws(BackendError) -> (rows: [Found], next: [UInt8]?) {
            let deadline = nextDeadline
            var known = try await opened(deadline)
            while let session = known {
                let statement = facts.tables.page(
                    contextKey, session.form.namespace(query.namespace), labels: session.form.labels(query),
                    unindexed: session.form.unindexed(query.namespace), after: last, limit: limit)
                let version = facts.tables.version(contextKey)
                let (results, doubt) = try await onLink(deadline) { [link] (connection, deadline) throws(ServerFault) in
                    // The header is read after the rows. If it is unchanged now, it was unchanged then.
                    let results = try connection.run([statement, version], until: deadline)
                    let isAbsence = results[0].rows.count < limit
                    let doubt = try link.doubt(about: results[1].rows.first, 1, isAbsence: isAbsence, connection, until: deadline)
                    return (results, doubt)
                }
                if results[1].rows.first?[0] == session.version {
                    let rows = results[0].rows
                    if let doubt, rows.isEmpty { throw doubt.backendError() }
                    let found = rows.map { row in
                        let (place, stored) = StoredRow.parse(row)
                        let (address, probe) = session.form.content(place, stored)
                        return Found(place: place, address: address, probe: probe.withNativeValue)
                    }
                    return (found, rows.count < limit && doubt == nil ? nil : found.last?.place.slot)
                }
                known = try await opened(insteadOf: session, deadline)
            }
            return ([], nil)
        }

        // MARK: Damage

        private static func parts(_ handle: DamageHandle) -> (place: RowPlace, revision: StorageRevision)? {
            var reader = ByteReader(handle.bytes[...])
            guard let namespace = try? reader.counted(), let slot = try? reader.counted(), let revision = try? reader.counted(),
                revision.count == 2 * ServerRow.revisionLength
            else { return nil }
            return (RowPlace(namespace: namespace, slot: slot), StorageRevision(revision))
        }

        package func damage(at handle: DamageHandle) async throws(BackendError) -> StorageCorruption? {
            guard let (place, revision) = Self.parts(handle), let session = try await opened(nextDeadline) else { return nil }
            let statement = facts.tables.read(contextKey, [place])
            let results = try await onLink(nextDeadline) { (connection, limit) throws(ServerFault) in
                try connection.run([statement], until: limit)
            }
            guard let row = results.first?.rows.first, let mark = row[2] else { return nil }
            let stored = StoredRow(revision: mark, key: row[3], record: row.bytes(4))
            guard case .corrupt(let corruption) = session.form.content(place, stored).1, corruption.revision == revision else { return nil }
            return corruption
        }

        package func deleteDamage(at handle: DamageHandle) async throws(BackendError) -> Bool {
            guard let (place, _) = Self.parts(handle), let damage = try await damage(at: handle) else { return false }
            let statement = facts.tables.delete(contextKey, place, record: damage.bytes)
            let isDeleted = try await onLink(nextDeadline, isMutation: true) { (connection, limit) throws(ServerFault) in
                try connection.run([statement], until: limit).first?.changed == 1
            }
            // Another machine has changed the row, or the server has dropped the deletion.
            if !isDeleted, try await self.damage(at: handle) != nil { throw ServerFault.drop(of: "records").backendError() }
            return isDeleted
        }
    }
#endif

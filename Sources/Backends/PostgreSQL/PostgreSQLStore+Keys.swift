#if PostgreSQL
    package import BackendContract
    package import BackendRuntime
    package import Sealing

    /// Rotation of the data key, and changes of the header. A change of the header is one transaction under the lock of its row.
    /// Machines that use the former header find out in their next transaction, and open the header again.
    extension PostgreSQLStore: RotatingStore {
        /// Makes a new data key, seals all rows with it and deletes the old key. The server refuses to delete a key
        /// while a row is sealed with it, and refuses a row that is sealed with a deleted key.
        ///
        /// The internal stores of the application get new data keys too, because a recovery key that was removed has
        /// opened them as well.
        package func rotateDataKey(
            batch: Int, progress: @Sendable (_ done: Int, _ total: Int) -> Void
        ) async throws(BackendError) -> Int {
            let done = try await rotateOwnDataKey(batch: batch, progress)
            do throws(BackendError) {
                try await withCompanions { (companions) throws(BackendError) in
                    for store in companions where try await store.opened(store.nextDeadline) != nil {
                        _ = try await store.rotateOwnDataKey(batch: batch) { _, _ in }
                    }
                }
            } catch { throw BackendError(error.code, "The data key of the database was rotated. \(error.reason)", outcome: .applied) }
            return done
        }

        private func rotateOwnDataKey(
            batch: Int, _ progress: @Sendable (_ done: Int, _ total: Int) -> Void
        ) async throws(BackendError) -> Int {
            guard try await opened(nextDeadline) != nil else {
                throw BackendError(.unavailable, "There is no database on the server yet. Nothing was changed.")
            }
            try await changeHeaders(of: [self]) { (store, header) throws(BackendError) in
                guard header.keys.keys.count == 1 else { return nil }
                let source = try store.requiredSource()
                let key = try await store.keys.key(for: header.keys.ids(ofSource: source.pin), from: source)
                return try await store.unwrapped(header).activatingNewKey(for: [key], store.runtime.randomBytes)
            }
            var done = 0
            while true {
                // Another machine may have begun the rotation, so the session of this store may have the keys from before it.
                forgetSession()
                done += try await resealAll(batch: batch, from: done, progress)
                do throws(BackendError) {
                    try await changeHeaders(of: [self]) { (store, header) throws(BackendError) in
                        guard header.keys.keys.count > 1 else { return nil }
                        return try await store.unwrapped(header).droppingOlderKeys(store.runtime.randomBytes)
                    }
                    return done
                } catch {
                    // Another machine has sealed a row with the old key since it was counted.
                    guard error.code == .keyInUse else { throw error }
                    forgetSession()
                    if try await hasDamagedRows() {
                        throw BackendError(
                            .corrupted,
                            "Damaged rows cannot be sealed again, so the old data key is kept for them. Salvage them, then repeat the call.",
                            outcome: .applied)
                    }
                }
            }
        }

        private func resealAll(
            batch: Int, from start: Int, _ progress: @Sendable (_ done: Int, _ total: Int) -> Void
        ) async throws(BackendError) -> Int {
            var (done, last): (Int, RowPlace?) = (0, nil)
            while true {
                guard let session = try await opened(insteadOf: nil, nextDeadline), case .sealed(let codec) = session.form else {
                    return done
                }
                let (tables, contextKey, after) = (facts.tables, contextKey, last)
                let randomBytes = runtime.randomBytes
                let milliseconds = (nextDeadline.nanoseconds - runtime.clock.now.nanoseconds) / 1_000_000
                let part = try await onLink(nextDeadline) {
                    (connection, limit) throws(ServerFault) -> (seen: Int, sealed: Int, last: RowPlace?) in
                    try connection.endingFailed(limit) { () throws(ServerFault) in
                        let select = tables.rows(contextKey, notSealedWith: codec.activeID, after: after, limit: batch)
                        let found = try connection.run(ServerTables.begin(milliseconds: milliseconds) + [select], until: limit)[2].rows
                        var updates: [ServerStatement] = []
                        var places: [RowPlace] = []
                        for row in found {
                            let (place, stored) = StoredRow.parse(row)
                            let old = ServerRow(
                                namespace: place.namespace, slot: place.slot, revision: stored.revision, key: stored.key ?? [],
                                sealed: stored.record)
                            guard let new = try? codec.sealAgain(old, randomBytes) else { continue }
                            updates.append(tables.reseal(contextKey, new))
                            places.append(place)
                        }
                        let check = tables.requireKey(codec.activeID, of: places, context: contextKey)
                        _ = try connection.run(updates + [check, ServerTables.commit], until: limit)
                        return (found.count, updates.count, found.last.map { StoredRow.parse($0).0 })
                    }
                }
                done += part.sealed
                if part.sealed > 0 { progress(start + done, start + done) }
                if part.seen < batch { return done }
                last = part.last
            }
        }

        /// Returns whether one of the first 512 rows of older keys cannot be opened.
        private func hasDamagedRows() async throws(BackendError) -> Bool {
            guard let session = try await opened(nextDeadline), case .sealed(let codec) = session.form else { return false }
            let statement = facts.tables.rows(contextKey, notSealedWith: codec.activeID, after: nil, limit: 512, isLocking: false)
            let rows = try await onLink(nextDeadline) { (connection, limit) throws(ServerFault) in
                try connection.run([statement], until: limit)[0].rows
            }
            return rows.contains { row in
                let (place, stored) = StoredRow.parse(row)
                return session.form.content(place, stored).0 == nil
            }
        }

        // MARK: The header

        func requiredSource() throws(BackendError) -> any KeySource {
            guard let source else { throw BackendError(.unsupported, "A plain database has no keys. Nothing was changed.") }
            return source
        }

        /// Opens a header with the key of this store's source.
        /// - Throws: ``BackendError``: `rolledBack` if the header is older than one that this machine has seen.
        func unwrapped(_ header: ServerHeader) async throws(BackendError) -> ServerKeys {
            let keys = try await unwrapped(header, try requiredSource(), nextDeadline)
            try await notes.require(header.mark)
            return keys
        }

        /// Changes the headers of stores in one transaction. Starts again if another machine changes one of them first.
        /// - Parameters:
        ///   - stores: This store, internal stores of its application, or both. All are in the same schema. An internal
        ///     store that does not exist is left out.
        ///   - change: Returns the new header of a store; nil to change nothing.
        func changeHeaders(
            of stores: [PostgreSQLStore],
            _ change: (PostgreSQLStore, ServerHeader) async throws(BackendError) -> ServerHeader?
        ) async throws(BackendError) {
            while true {
                let deadline = nextDeadline
                _ = try requiredSource()
                var drafts: [HeaderDraft] = []
                for store in stores {
                    let draft = try await withHeader(deadline, of: store) { (found) throws(BackendError) -> HeaderDraft? in
                        guard let found, let sealed = found.sealed else {
                            if store !== self { return nil }
                            throw BackendError(.unavailable, "There is no sealed database on the server. Nothing was changed.")
                        }
                        return try await change(store, sealed).map { header in
                            HeaderDraft(
                                store: store, before: found.version, version: runtime.randomBytes(ServerRow.revisionLength), header: header)
                        }
                    }
                    if let draft { drafts.append(draft) }
                }
                if drafts.isEmpty { return }
                // Two programs that change the headers of several stores lock them in the same order.
                let sorted = drafts.sorted { $0.store.contextKey.lexicographicallyPrecedes($1.store.contextKey) }
                let (tables, milliseconds) = (facts.tables, (deadline.nanoseconds - runtime.clock.now.nanoseconds) / 1_000_000)
                let isChanged = try await onLink(deadline, isMutation: true) { (connection, limit) throws(ServerFault) in
                    try connection.endingFailed(limit) { () throws(ServerFault) in
                        let begin = ServerTables.begin(milliseconds: milliseconds)
                        let locks = try connection.run(begin + sorted.map { tables.lockHeader($0.store.contextKey) }, until: limit)
                        let present = locks.dropFirst(begin.count).map { $0.rows.first?.bytes(0) }
                        guard present == sorted.map(\.before) else {
                            _ = try connection.run([ServerTables.rollback], until: limit)
                            // The commit of the first attempt was not answered.
                            return present.map { $0?.prefix(ServerRow.revisionLength) } == sorted.map { $0.version[...] }
                        }
                        let writes = sorted.flatMap { draft in
                            tables.replace(draft.store.contextKey, version: draft.version, draft.header)
                                + [tables.requireHeader(draft.store.contextKey, version: draft.version, header: draft.header)]
                        }
                        _ = try connection.run(writes + [ServerTables.commit], until: limit)
                        return true
                    }
                }
                for store in stores { store.forgetSession() }
                if isChanged {
                    for draft in sorted { try await draft.store.notes.replace(draft.header.mark) }
                    return
                }
            }
        }
    }

    /// A new header of a store, which replaces the one with a given version.
    private struct HeaderDraft: Sendable {
        let store: PostgreSQLStore
        let before: [UInt8]
        let version: [UInt8]
        let header: ServerHeader
    }

    extension BackendError.Code {
        /// A row is sealed with a data key that is about to be deleted. The store handles this code internally.
        static let keyInUse = BackendError.Code("keyInUse")
    }

    // MARK: The databases of an application

    /// The sealed databases in a schema, for the rule that decides whether a first key may be created.
    package enum PostgreSQLSchema {
        /// Returns the keys that can unwrap the data keys of the databases in a schema, with the contexts of these
        /// databases.
        /// - Parameters:
        ///   - source: The short name of the source that holds the keys.
        package static func recipients(
            ofSource source: String, conninfo: String, schema: String, deadline: Duration, runtime: Runtime
        ) async throws(BackendError) -> [(context: StoreContext, id: [UInt8])] {
            let facts = ServerFacts(conninfo: conninfo, tables: ServerTables(schema: schema), runtime: runtime)
            let statement = facts.tables.recipients(ofSource: source)
            let rows = try await rows(of: statement, facts, deadline)
            return rows.compactMap { row in (try? StoreContext(bytes: row.bytes(0))).map { ($0, row.bytes(1)) } }
        }

        /// Returns the contexts of the sealed databases in a schema.
        package static func sealedDatabases(
            conninfo: String, schema: String, deadline: Duration, runtime: Runtime
        ) async throws(BackendError) -> [StoreContext] {
            let facts = ServerFacts(conninfo: conninfo, tables: ServerTables(schema: schema), runtime: runtime)
            let statement = ServerStatement("SELECT origin FROM \(facts.tables.schema).databases WHERE sealed")
            return try await rows(of: statement, facts, deadline).compactMap { try? StoreContext(bytes: $0.bytes(0)) }
        }

        /// Runs a statement whose result must be complete.
        private static func rows(
            of statement: ServerStatement, _ facts: ServerFacts, _ deadline: Duration
        ) async throws(BackendError) -> [[[UInt8]?]] {
            let runtime = facts.runtime
            let (link, until) = (ServerLink("postgresql.databases", facts), runtime.deadline(after: deadline))
            return try await link.lane.run(clock: runtime.clock, deadline: until, isMutation: false) { (_) throws(BackendError) in
                defer { link.close() }
                do throws(ServerFault) {
                    return try link.use(until: until) { (connection) throws(ServerFault) in
                        let results = try connection.run([statement, ServerTables.readInstance], until: until)
                        // The list proves that there is no other database.
                        let doubt = try link.doubt(about: results[1].rows.first, 0, isAbsence: true, connection, until: until)
                        if let doubt { throw doubt }
                        return results[0].rows
                    }
                } catch { throw error.backendError() }
            }
        }
    }

    extension ServerTables {
        func recipients(ofSource source: String) -> ServerStatement {
            ServerStatement(
                """
                SELECT DISTINCT d.origin, w.recipient FROM \(schema).wraps w JOIN \(schema).databases d ON d.context = w.context \
                WHERE w.source = $1
                """, [.text(source)])
        }

        /// Reads rows that another data key has sealed, in the order of their primary keys. Skips rows that another
        /// transaction has locked; they are read in the next pass.
        fileprivate func rows(
            _ context: [UInt8], notSealedWith key: [UInt8], after last: RowPlace?, limit: Int, isLocking: Bool = true
        ) -> ServerStatement {
            ServerStatement(
                """
                SELECT r.namespace, r.slot, r.revision, r.key, r.record FROM \(schema).records r \
                WHERE r.context = $1 AND r.key <> $2 AND (r.namespace, r.slot) > ($3, $4) \
                ORDER BY r.namespace, r.slot LIMIT $5\(isLocking ? " FOR UPDATE SKIP LOCKED" : "")
                """,
                [.bytea(context), .bytea(key), .bytea(last?.namespace ?? []), .bytea(last?.slot ?? []), .int8(Int64(limit))])
        }

        /// Replaces the sealed content of a locked row. The revision and the stamp stay: the value is the same.
        fileprivate func reseal(_ context: [UInt8], _ row: ServerRow) -> ServerStatement {
            ServerStatement(
                """
                UPDATE \(schema).records SET key = $4, record = $5 \
                WHERE context = $1 AND namespace = $2 AND slot = $3 AND revision = $6
                """,
                [.bytea(context), .bytea(row.namespace), .bytea(row.slot), .bytea(row.key), .bytea(row.sealed), .uuid(row.revision)])
        }
    }
#endif

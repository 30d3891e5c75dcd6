#if PostgreSQL
    package import BackendContract
    import BackendRuntime
    package import Sealing

    /// Recipients: the keys that can unwrap the data keys.
    ///
    /// The internal stores of an application are in the same schema, and sealed too. The ledger among them records which
    /// key each source has, so no other database is used without it. So a recovery key of a database also becomes a
    /// recipient of the internal stores, and opens them first.
    /// Reason: "A recovery key opens the internal stores too" in Docs/Decisions/Server.md.
    extension PostgreSQLStore: RecipientStore {
        package func recipients() async throws(BackendError) -> [KeyTables.Recipient] {
            try await withHeader(nextDeadline) { (header) throws(BackendError) in
                guard let sealed = header?.sealed else { return [] }
                try await notes.refuseOlder(sealed.mark)
                return sealed.keys.recipients
            }
        }

        package func change(_ change: KeyTables.Change) async throws(BackendError) {
            if try await opened(nextDeadline) == nil { _ = try await created(nextDeadline) }
            try await withCompanions { (companions) throws(BackendError) in
                var stores = [self]
                switch change {
                case .addingRecovery:
                    for store in companions where try await store.opened(store.nextDeadline) == nil {
                        _ = try await store.created(store.nextDeadline)
                    }
                    stores += companions
                case .removingRecovery(let id):
                    if try await !hasSibling(withRecoveryKey: id) { stores += companions }
                case .replacingSources, .rotating: break
                }
                try await changeHeaders(of: stores) { (store, header) throws(BackendError) in
                    try await store.unwrapped(header).changing(change, store.runtime.randomBytes)
                }
            }
        }

        package func takeOver(from old: OldHolder) async throws(BackendError) {
            try await withCompanions { (companions) throws(BackendError) in
                // No key is created and nothing is changed unless the old key opens every store that needs it.
                var locked: [PostgreSQLStore] = []
                for store in companions {
                    guard let header = try await storedHeader(nextDeadline, of: store)?.sealed else { continue }
                    if try await store.opensWithOwnKey(header) { continue }
                    do throws(BackendError) { _ = try await store.open(header, with: old) } catch {
                        guard error.code == .encryptionKeyMismatch else { throw error }
                        throw BackendError(
                            .encryptionKeyMismatch,
                            "The internal store \"\(store.context.scope)\" of the application does not open with this key, and no database opens without it. Add the recovery key again on a machine that has the key of the source; that includes the internal stores. Nothing was changed."
                        )
                    }
                    locked.append(store)
                }
                guard let header = try await storedHeader(nextDeadline)?.sealed else {
                    throw BackendError(.unavailable, "There is no sealed database on the server. Nothing was changed.")
                }
                _ = try await open(header, with: old)
                // The key of the source is recorded in the ledger, so the internal stores come first.
                if let first = locked.first {
                    try await first.changeHeaders(of: locked) { (store, header) throws(BackendError) in
                        try await store.takenOver(header, from: old)
                    }
                }
            }
            try await changeHeaders(of: [self]) { (store, header) throws(BackendError) in try await store.takenOver(header, from: old) }
        }

        /// Returns the header with the key of this store's source in the place of the keys of other sources.
        private func takenOver(_ header: ServerHeader, from old: OldHolder) async throws(BackendError) -> ServerHeader {
            let source = try requiredSource()
            // Do not create a key unless the old key opens the database.
            let opened = try await open(header, with: old)
            // A database that was restored from an older copy must open too. No machine refuses the new header.
            let noted = try await notes.latest(of: header.database)?.commits ?? 0
            switch old {
            case .source:
                let known = Set(header.keys.recipients.map(\.id))
                let key = try await keys.forSealing(from: source) { () async throws(BackendError) in
                    try await otherSealedIDs().subtracting(known)
                }
                return try opened.changing(.replacingSources(with: key, source: source.pin), above: noted, runtime.randomBytes)
            case .recovery:
                let own = try await keys.replacement(from: source)
                // A holder of the earlier keys cannot read later writes.
                let taken = try opened.changing(.replacingSources(with: own, source: source.pin), above: noted, runtime.randomBytes)
                return try taken.open(.key(own), in: context).activatingNewKey(for: [own], runtime.randomBytes)
            }
        }

        /// Accepts the present header, although this machine has noted a later one or another one. The counter of the new
        /// header is higher than both, so all machines accept it. Changes nothing without such a note.
        package func acceptHeader() async throws(BackendError) {
            guard source != nil, let header = try await storedHeader(nextDeadline)?.sealed else { return }
            do throws(BackendError) { return try await notes.refuseOlder(header.mark) } catch {
                guard error.code == .rolledBack else { throw error }
            }
            try await changeHeaders(of: [self]) { (store, header) throws(BackendError) in
                let opened = try await store.unwrapped(header, try store.requiredSource(), store.nextDeadline)
                let noted = try await store.notes.latest(of: header.database)?.commits ?? 0
                return try opened.renewed(above: noted, store.runtime.randomBytes)
            }
        }

        /// Opens a header with the key of an old holder. Does not ask the ledger which key its source has.
        private func open(_ header: ServerHeader, with old: OldHolder) async throws(BackendError) -> ServerKeys {
            switch old {
            case .recovery(let pair): return try header.open(.recovery(pair), in: context)
            case .source(let former):
                guard let keys = try await former.load() else {
                    throw BackendError(
                        .encryptionKeyMissing, "There is no key in \(former.identifier), and the database was sealed with one. Restore it.")
                }
                let ids = header.keys.ids(ofSource: former.pin)
                return try header.open(.key(keys.all.first { ids.contains($0.id) } ?? keys.current), in: context)
            }
        }

        /// Returns whether the present key of this store's source opens a header.
        private func opensWithOwnKey(_ header: ServerHeader) async throws(BackendError) -> Bool {
            do throws(BackendError) {
                _ = try await unwrapped(header, try requiredSource(), nextDeadline)
                return true
            } catch {
                guard error.code == .encryptionKeyMismatch || error.code == .encryptionKeyMissing else { throw error }
                return false
            }
        }

        /// Returns whether another database of the application has a recovery key as its recipient.
        private func hasSibling(withRecoveryKey id: [UInt8]) async throws(BackendError) -> Bool {
            let statement = facts.tables.recipients(ofSource: RecoveryRecipient.source)
            let rows = try await onLink(nextDeadline) { (connection, limit) throws(ServerFault) in
                try connection.run([statement], until: limit)[0].rows
            }
            return rows.contains { row in
                guard let place = try? StoreContext(bytes: row.bytes(0)) else { return false }
                return row.bytes(1) == id && place.application == context.application && place.kind == context.kind && place != context
            }
        }

        /// Runs work with the internal stores of the application, and closes them afterwards.
        func withCompanions(
            _ work: ([PostgreSQLStore]) async throws(BackendError) -> Void
        ) async throws(BackendError) {
            let stores = try companions()
            let failure: BackendError?
            do throws(BackendError) {
                try await work(stores)
                failure = nil
            } catch { failure = error }
            for store in stores { await store.close() }
            if let failure { throw failure }
        }
    }
#endif

#if SQLite
    package import BackendContract
    import BackendRuntime
    package import Sealing

    /// The recipients, which are the keys that can unwrap the data keys. Every change is one transaction of the tables
    /// `header`, `keys` and `wraps`. If the process is killed at any point, the database opens as before or as after
    /// the change.
    extension SQLiteStore: RecipientStore {
        /// Returns every recipient that the file names; none if there is no database yet.
        package func recipients() async throws(BackendError) -> [KeyTables.Recipient] {
            let (file, deadline) = (file, nextDeadline)
            return try await onLane(deadline) { () throws(BackendError) in try file.find(deadline: deadline)?.header.keys.recipients ?? [] }
        }

        /// Changes the recipients. One of this store's sources must hold a key that is a recipient now. Creates the
        /// database if there is none.
        package func change(_ change: KeyTables.Change) async throws(BackendError) {
            let deadline = nextDeadline
            var limit = deadline
            if try await opened(&limit) == nil { _ = try await openedOrCreated(&limit) }
            try await rewriteHeader(deadline: deadline) { (store, header) throws(BackendError) in
                try store.changed(header, change, by: try await store.holder(of: header, in: store.context))
            }
        }

        /// Makes the key of this store's source a recipient, in place of the keys of all former sources. The source may
        /// get a new key for this.
        package func takeOver(from old: OldHolder) async throws(BackendError) {
            try await rewriteHeader(deadline: nextDeadline) { (store, header) throws(BackendError) in
                switch old {
                case .source(let source):
                    let holder = KeyHolder.key(try await store.keys.key(for: header.keys.ids(ofSource: source.pin), from: source))
                    // Do not create a key unless the old key opens the database.
                    _ = try header.open(holder, in: store.context)
                    let database = header.keys.recipients.map(\.id)
                    let key = try await store.keys.forSealing(from: store.source) { () throws(BackendError) in
                        try await store.otherSealedIDs().subtracting(database)
                    }
                    return try store.changed(header, .replacingSources(with: key, source: store.source.pin), by: holder)
                case .recovery(let recovery): return try await store.recovered(header, with: recovery)
                }
            }
        }

        /// Returns the header for the key of this store's source, with a new data key. A holder of the earlier keys
        /// cannot read later writes.
        private func recovered(_ header: DatabaseHeader, with recovery: RecoveryKeyPair) async throws(BackendError) -> HeaderChange {
            let holder = KeyHolder.recovery(recovery)
            let keyset = try header.open(holder, in: context)
            let own = try await keys.replacement(from: source)
            let (unwrapped, database) = (try holder.open(header.keys, database: header.database), header.database)
            let tables = try header.keys
                .changed(.replacingSources(with: own, source: source.pin), unwrapped, database: database, runtime.randomBytes)
                .activatingNewKey(for: [own], unwrapped, database: database, runtime.randomBytes)
            let after = try Keyset.open(tables, database: database, formats: header.formats, kek: own)
            return HeaderChange(keyset, header.changed(after) { $0.keys = tables }, after: after)
        }

        /// Returns the key of the first source whose key is a recipient and opens the header.
        /// - Parameters:
        ///   - header: The header to open.
        ///   - place: The context (application, kind and scope) that the database must belong to; nil to accept any
        ///     context.
        func holder(of header: DatabaseHeader, in place: StoreContext?) async throws(BackendError) -> KeyHolder {
            var failure: BackendError?
            for source in sources where header.keys.recipients.contains(where: { $0.source == source.pin }) {
                do throws(BackendError) {
                    let holder = KeyHolder.key(try await keys.key(for: header.keys.ids(ofSource: source.pin), from: source))
                    _ = try header.open(holder, in: place)
                    return holder
                } catch { failure = failure ?? error }
            }
            if let failure { throw failure }
            // No key of this store's sources is a recipient. This call throws an error that names the recipients.
            _ = try await keyset(of: header, in: place)
            throw Keyset.damage
        }

        /// Returns the header with changed recipients.
        private func changed(
            _ header: DatabaseHeader, _ change: KeyTables.Change, by holder: KeyHolder
        ) throws(BackendError) -> HeaderChange {
            let keyset = try header.open(holder, in: context)
            let keys = try holder.open(header.keys, database: header.database)
            let tables = try header.keys.changed(change, keys, database: header.database, runtime.randomBytes)
            return HeaderChange(keyset, header.changed(keyset) { $0.keys = tables })
        }
    }
#endif

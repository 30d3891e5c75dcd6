#if SQLite
    package import BackendContract
    import BackendRuntime
    package import Sealing

    /// Who can unwrap the data keys. Every change is one transaction of the header, `keys` and `wraps`: killed at any point, the database
    /// opens as before or as after.
    extension SQLiteStore: RecipientStore {
        /// Everybody who can unwrap the data keys, as the file says; none where there is no database yet.
        package func recipients() async throws(BackendError) -> [KeyTables.Recipient] {
            let (file, deadline) = (file, nextDeadline)
            return try await onLane(deadline) { () throws(BackendError) in try file.find(deadline: deadline)?.header.keys.recipients ?? [] }
        }

        /// Changes the recipients with the key of the store's own source.
        package func change(_ change: KeyTables.Change) async throws(BackendError) {
            let deadline = nextDeadline
            if try await opened(deadline: deadline) == nil { _ = try await openedOrCreated(deadline: deadline) }
            try await rewrite(deadline: deadline) { (store, header) throws(BackendError) in
                (try await store.holder(of: header), change)
            }
        }

        /// Gives the database to the key of the store's own source, which may be new.
        package func takeOver(from old: OldHolder) async throws(BackendError) {
            try await rewrite(deadline: nextDeadline) { (store, header) throws(BackendError) in
                let holder: KeyHolder
                let key: SealingKey
                switch old {
                case .source(let source):
                    holder = .key(try await store.keys.existing(from: source))
                    // Nothing is made for a key that does not open the database.
                    _ = try header.open(holder, in: store.context)
                    let database = header.keys.recipients.map(\.id)
                    key = try await store.keys.forSealing(from: store.source) { () throws(BackendError) in
                        try await store.otherSealedIDs().subtracting(database)
                    }
                case .recovery(let recovery):
                    holder = .recovery(recovery)
                    _ = try header.open(holder, in: store.context)
                    key = try await store.keys.replacement(from: store.source)
                }
                return (holder, .replacingSources(with: key, source: store.source.pin))
            }
        }

        /// The first recipient that can be fetched.
        private func holder(of header: DatabaseHeader) async throws(BackendError) -> KeyHolder {
            var failure: BackendError?
            for source in sources where header.keys.recipients.contains(where: { $0.source == source.pin }) {
                do throws(BackendError) {
                    let holder = KeyHolder.key(try await keys.existing(from: source))
                    _ = try header.open(holder, in: context)
                    return holder
                } catch { failure = failure ?? error }
            }
            if let failure { throw failure }
            // Says who can.
            _ = try await keyset(of: header, in: context)
            throw Keyset.damage
        }

        /// Finds the header, lets a decision be made by it, and writes the change, unless the header is another one by then: then again.
        private func rewrite(
            deadline: MonotonicInstant,
            _ decide: @escaping @Sendable (SQLiteStore, DatabaseHeader) async throws(BackendError) -> (KeyHolder, KeyTables.Change)
        ) async throws(BackendError) {
            let file = file
            while true {
                let found = try await onLane(deadline) { () throws(BackendError) in try file.find(deadline: deadline) }
                guard let header = found?.header else {
                    throw BackendError(.unavailable, "There is no database here. Put the file here first; nothing was changed.")
                }
                let (holder, change) = try await runtime.run(until: deadline) { () throws(BackendError) in try await decide(self, header) }
                let isDone = try await lane.run(clock: runtime.clock, deadline: deadline, isMutation: true) { (call) throws(BackendError) in
                    try file.rewrite(header, holder, change, deadline: call.deadline)
                }
                if isDone { return }
            }
        }
    }

    extension DatabaseFile {
        /// Writes the header with other recipients; false when the header is another one by now.
        fileprivate func rewrite(
            _ header: DatabaseHeader, _ holder: KeyHolder, _ change: KeyTables.Change, deadline: MonotonicInstant
        ) throws(BackendError) -> Bool {
            let keyset = try header.open(holder, in: nil)
            let keys = try holder.open(header.keys, database: header.database)
            let tables = try header.keys.changed(change, keys, database: header.database, runtime.randomBytes)
            return try locked(deadline: deadline) { () throws(BackendError) -> Bool in
                guard let writer = try writer(deadline: deadline) else { return false }
                var isSame = false
                try writer.transaction(deadline: deadline) { (rows, current) throws(BackendError) in
                    isSame = current == header
                    guard isSame, header.keys != tables else { return false }
                    try rows.replaceHeader(header.changed(keyset) { $0.keys = tables })
                    // A recipient who was removed must not find a wrapped key in the log.
                    rows.hasRemoved = true
                    return true
                }
                if isSame {
                    try confirm(writer.file)
                    writer.scrubIfNeeded(deadline: min(deadline, clock.now.advanced(by: Self.scrubLimit)))
                }
                return isSame
            }
        }
    }
#endif

#if SQLite
    package import BackendContract
    package import BackendRuntime
    package import Sealing

    /// A database that is being restored: one file beside its final path. It contains no plaintext.
    ///
    /// `@unchecked Sendable`: only one call at a time, on the lane (a serial queue), uses the connection.
    package final class DatabaseDraft: RestoreDraft, @unchecked Sendable {
        private let path: String
        private let keys: [SealingKey]
        private let own: RestoredKey
        private let lane: any Lane
        private let runtime: Runtime
        private let deadline: Duration
        private var connection: Connection?
        private var inserter: RowInserter?
        /// Whether the backup contains the unchanged database file instead of rows.
        private var isFile = false

        /// Creates an empty draft. Removes the files of an earlier attempt.
        /// - Parameters:
        ///   - path: The path of the draft.
        ///   - keys: The keys of the backup. One of them opens the database.
        ///   - own: The key on this machine that will open the database. If the data keys are already wrapped for this
        ///     key, the database stays unchanged.
        package init(
            path: String, keys: [SealingKey], own: RestoredKey, deadline: Duration, runtime: Runtime
        ) async throws(BackendError) {
            (self.path, self.keys, self.own, self.deadline, self.runtime) = (path, keys, own, deadline, runtime)
            lane = runtime.makeLane("restore.\(lastComponent(of: path))")
            try await onLane { [self] () throws(BackendError) in
                do throws(FileError) { try runtime.files.createDirectory(parentDirectory(of: path)) } catch { throw error.backendError() }
                try beginAnew()
                do throws(SQLiteFault) {
                    let connection = try Connection(path: path, leavesLog: false)
                    for setting in [
                        "page_size = 4096", "application_id = \(DatabaseFormat.applicationID)", "user_version = \(DatabaseFormat.number)",
                    ] { try connection.execute("PRAGMA \(setting)") }
                    try connection.execute("BEGIN")
                    self.connection = connection
                } catch { throw error.backendError() }
            }
        }

        /// Replaces the draft with an empty file.
        private func beginAnew() throws(BackendError) {
            connection?.close()
            (connection, inserter) = (nil, nil)
            do throws(FileError) {
                for ending in ["", "-journal", "-wal", "-shm"] { try runtime.files.remove(path + ending) }
                try runtime.files.create(path, [])
            } catch { throw error.backendError() }
        }

        package func take(_ part: [UInt8]) async throws(BackendError) {
            try await onLane { [self] () throws(BackendError) in
                if let bytes = DatabaseParts.fileBytes(part) {
                    if !isFile { try beginAnew() }
                    isFile = true
                    do throws(FileError) { return try runtime.files.append(path, bytes) } catch { throw error.backendError() }
                }
                guard let connection, !isFile else { throw DatabaseParts.damage }
                guard let inserter else {
                    inserter = try RowInserter(try DatabaseParts.statements(part), in: connection)
                    return
                }
                try DatabaseParts.rows(part) { (row) throws(BackendError) in try inserter.insert(row) }
            }
        }

        package func finish() async throws(BackendError) {
            try await onLane { [self] () throws(BackendError) in
                if isFile {
                    do throws(SQLiteFault) {
                        let connection = try Connection(path: path, leavesLog: false)
                        try connection.execute("BEGIN IMMEDIATE")
                        self.connection = connection
                    } catch { throw error.backendError() }
                }
                guard let connection else { throw DatabaseParts.damage }
                try connection.checkFormat()
                try giveToOwn(connection)
                do throws(SQLiteFault) { try connection.execute("COMMIT; PRAGMA journal_mode = WAL") } catch { throw error.backendError() }
                // A draft must be a single file, so empty its write-ahead log.
                guard connection.checkpoint(isEmptied: true) else { throw BackendError(.failed, "The draft \(path) could not be written.") }
                connection.close()
                self.connection = nil
                do throws(FileError) { try runtime.files.synchronizeFile(path) } catch { throw error.backendError() }
            }
        }

        /// Wraps the data keys for the key on this machine that will open the database, unless they are already wrapped
        /// for it.
        private func giveToOwn(_ connection: Connection) throws(BackendError) {
            let header = try DatabaseHeader(reading: connection)
            if header.keys.recipients.contains(where: { $0.id == own.key.id && $0.source == own.source }) { return }
            guard let key = header.keys.recipients.lazy.compactMap({ recipient in self.keys.first { $0.id == recipient.id } }).first else {
                throw BackendError(.encryptionKeyMissing, "The backup has no key for one of its databases. Nothing was changed.")
            }
            let keyset = try header.open(.key(key), in: nil)
            let unwrapped = try KeyHolder.key(key).open(header.keys, database: header.database)
            let tables = try header.keys.changed(
                .replacingSources(with: own.key, source: own.source), unwrapped, database: header.database, runtime.randomBytes)
            let given = header.changed(keyset) { $0.keys = tables }
            let sealed = try connection.bytes(DatabaseFormat.stateQuery)
            guard var state = sealed.flatMap({ keyset.active.openState($0) }), state.header == header.tag else {
                throw DatabaseParts.damage
            }
            state.header = given.tag
            let resealed = try keyset.active.seal(state, runtime.randomBytes)
            do throws(SQLiteFault) {
                try given.write(to: connection)
                try connection.execute("DELETE FROM state")
                try connection.insert("INSERT INTO state VALUES (1, ?1)", [[.bytes(resealed)]])
            } catch { throw error.backendError() }
        }

        private func onLane(_ work: @escaping @Sendable () throws(BackendError) -> Void) async throws(BackendError) {
            try await lane.run(clock: runtime.clock, deadline: runtime.clock.now.advanced(by: deadline), isMutation: true) {
                (_) throws(BackendError) in try work()
            }
        }
    }
#endif

#if SQLite
    import BackendContract
    import BackendRuntime
    import Sealing

    /// Creation of a database. The file is written as a draft, which is a hidden file in the same folder. It is
    /// complete and durable before it gets its name, so no other process ever opens an incomplete database.
    extension DatabaseFile {
        /// Creates the database, unless it exists.
        /// - Parameters:
        ///   - kek: The key-encryption key, which wraps the data key.
        ///   - source: The short name of the source that holds the key-encryption key.
        ///   - context: The application, kind and scope that the database belongs to.
        ///   - deadline: When to stop waiting for the lock of another process.
        func create(kek: SealingKey, source: String, context: StoreContext, deadline: MonotonicInstant) throws(BackendError) {
            let directory = parentDirectory(of: path)
            // The lock file beside the database needs this folder. Without that lock, programs with different lock
            // folders would remove each other's drafts.
            do throws(FileError) { try files.createDirectory(directory) } catch { throw error.backendError() }
            // Create nothing in a folder that other users can change.
            try requireTrust()
            try locked(deadline: deadline) { () throws(BackendError) in
                guard try fileID() == nil else { return }
                let draft = "\(directory)/\(draftPrefix)\(hexadecimalText(of: runtime.randomBytes(8))).tmp"
                // Check again, because the lock files exist now.
                try requireTrust()
                try onFiles { (files) throws(FileError) in
                    try removeDrafts()
                    try files.create(draft, [])
                }
                defer { try? removeDrafts() }
                let database = runtime.randomBytes(Keyset.databaseLength)
                let (keyset, keys) = try Keyset.make(
                    database: database, formats: [SealedRow.format], kek: kek, source: source, randomBytes: runtime.randomBytes)
                let header = DatabaseHeader(database: database, context: context, keys: keys, tagged: keyset)
                try write(header, try keyset.active.seal(CommitState(header: header.tag), runtime.randomBytes), to: draft)
                try onFiles { (files) throws(FileError) in
                    try files.synchronizeFile(draft)
                    try files.link(draft, to: path)
                    try files.remove(draft)
                    try files.synchronizeDirectory(directory)
                }
            }
        }

        /// Writes the schema and the header into a draft. SQLite uses a rollback journal for this, so the draft is a
        /// single file once the connection is closed. The next connection uses a write-ahead log.
        private func write(_ header: DatabaseHeader, _ state: [UInt8], to draft: String) throws(BackendError) {
            try onDatabase { () throws(SQLiteFault) in
                let connection = try Connection(path: draft, leavesLog: false)
                defer { connection.close() }
                for setting in [
                    "page_size = 4096", "application_id = \(DatabaseFormat.applicationID)", "user_version = \(DatabaseFormat.number)",
                ] {
                    try connection.execute("PRAGMA \(setting)")
                }
                try connection.execute("BEGIN")
                for statement in DatabaseFormat.schema { try connection.execute(statement) }
                try header.write(to: connection)
                try connection.insert("INSERT INTO state VALUES (1, ?1)", [[.bytes(state)]])
                try connection.execute("COMMIT; PRAGMA journal_mode = WAL")
            }
        }

        private var draftPrefix: String { ".\(lastComponent(of: path)).localdata-" }

        /// Removes all drafts, including those of killed processes, because a draft may be a second hard link to the
        /// database. The caller holds the lock under which drafts are created.
        func removeDrafts() throws(FileError) {
            let directory = parentDirectory(of: path)
            for name in try files.list(directory) ?? [] where name.hasPrefix(draftPrefix) { try files.remove("\(directory)/\(name)") }
        }
    }
#endif

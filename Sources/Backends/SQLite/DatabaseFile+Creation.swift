#if SQLite
    import BackendContract
    import BackendRuntime
    import Sealing

    /// Creating a database: it is whole and durable before it gets its name, so no process ever sees half of one.
    extension DatabaseFile {
        /// Creates the database, unless there is one by now.
        /// - Parameters:
        ///   - kek: The key that wraps its data key.
        ///   - source: The short name of the key's source.
        ///   - context: Where the database belongs.
        ///   - deadline: Until when another process is waited for.
        func create(kek: SealingKey, source: String, context: StoreContext, deadline: MonotonicInstant) throws(BackendError) {
            let directory = parentDirectory(of: path)
            // The lock beside the database needs the folder: programs with other folders of locks would remove each other's drafts.
            do throws(FileError) { try files.createDirectory(directory) } catch { throw error.backendError() }
            // Nothing is made where others can write.
            try requireTrust()
            try locked(deadline: deadline) { () throws(BackendError) in
                guard try fileID() == nil else { return }
                let draft = "\(directory)/\(draftPrefix)\(hexadecimalText(of: runtime.randomBytes(8))).tmp"
                // Again, with the locks that were made.
                try requireTrust()
                do throws(FileError) {
                    try removeDrafts()
                    try files.create(draft, [])
                } catch {
                    throw error.backendError()
                }
                defer { try? removeDrafts() }
                let database = runtime.randomBytes(Keyset.databaseLength)
                let (keyset, keys) = try Keyset.make(
                    database: database, formats: [SealedRow.format], kek: kek, source: source, randomBytes: runtime.randomBytes)
                let header = DatabaseHeader(database: database, context: context, keys: keys, tagged: keyset)
                try write(header, try keyset.active.seal(CommitState(header: header.tag), runtime.randomBytes), to: draft)
                do throws(FileError) {
                    try files.synchronizeFile(draft)
                    try files.link(draft, to: path)
                    try files.remove(draft)
                    try files.synchronizeDirectory(directory)
                } catch {
                    throw error.backendError()
                }
            }
        }

        /// Fills a draft with a rollback journal. Once it is closed it is one file, and has a write-ahead log from then on.
        private func write(_ header: DatabaseHeader, _ state: [UInt8], to draft: String) throws(BackendError) {
            do throws(SQLiteFault) {
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
            } catch {
                throw error.backendError()
            }
        }

        private var draftPrefix: String { ".\(lastComponent(of: path)).localdata-" }

        /// Removes drafts, those of processes that were killed too: one of them may be a second name of the database. Called with the lock
        /// held, as they are made.
        func removeDrafts() throws(FileError) {
            let directory = parentDirectory(of: path)
            for name in try files.list(directory) ?? [] where name.hasPrefix(draftPrefix) { try files.remove("\(directory)/\(name)") }
        }
    }
#endif

#if SQLite
    import BackendContract
    import GRDBSQLite
    import Sealing
    import Synchronization

    /// The connection that lists rows, on a lane of its own.
    final class DatabaseScanner: Sendable {
        private struct Open: @unchecked Sendable {
            let connection: RawDatabase
            let file: DatabaseFile.FileID
        }

        private let path: String
        private let open = Mutex<Open?>(nil)

        init(path: String) { self.path = path }

        /// The names in a namespace, as of one moment.
        /// - Throws: ``BackendError`` with `corrupted` when a row does not open: which namespace it belongs to cannot be told.
        func addresses(in namespace: StorageNamespace, _ session: DatabaseSession) throws(BackendError) -> [StorageAddress] {
            let connection = try connection(session)
            var addresses: [StorageAddress] = []
            try connection.inReadTransaction { () throws(BackendError) in
                try connection.checkFormat()
                try connection.rows("SELECT slot, version, sealed FROM records") { (statement) throws(BackendError) in
                    switch RawRow(statement, firstColumn: 0).open(session.keyset) {
                    case .content(let content, _): if content.address.namespace == namespace { addresses.append(content.address) }
                    case .destroyed: return
                    case .refused(let error): throw error
                    case .unknownKey(let id): throw DatabaseSession.missingKey(id)
                    case .damaged(let corruption):
                        throw BackendError(
                            .corrupted,
                            "A row of the database is damaged (\(corruption.reason)); its name cannot be told, so the list would not be complete. Values that are asked for by name can still be read."
                        )
                    }
                }
            } _: {
                $0.backendError()
            }
            return addresses
        }

        private func connection(_ session: DatabaseSession) throws(BackendError) -> RawDatabase {
            if let known = open.withLock(\.self), known.file == session.file { return known.connection }
            do throws(SQLiteFault) {
                let connection = try RawDatabase(reading: path)
                let older = open.withLock { open in
                    defer { open = Open(connection: connection, file: session.file) }
                    return open
                }
                // Never the last connection to its file: it is the old file, which nobody can open any more.
                older?.connection.close()
                return connection
            } catch {
                throw error.backendError()
            }
        }

        /// Closes the connection. Called while nothing is listed, with the store's lock held.
        func close() {
            open.withLock { open in
                open?.connection.close()
                open = nil
            }
        }
    }
#endif

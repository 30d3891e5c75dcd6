#if SQLite
    import BackendContract
    import GRDBSQLite
    import Sealing
    import Synchronization

    /// The connection that lists rows, on a lane of its own.
    final class DatabaseScanner: Sendable {
        /// `@unchecked Sendable`: the connection is used and closed only while the mutex that it is in is held.
        private struct Open: @unchecked Sendable {
            let connection: RawDatabase
            let file: DatabaseFile.FileID
        }

        private let path: String
        /// Held while rows are listed, so that the connection is not closed under the list.
        private let open = Mutex<Open?>(nil)
        private let isClosing = Atomic(false)

        init(path: String) { self.path = path }

        /// The names in a namespace, as of one moment; nil when the database was closed meanwhile, or its keys are others than the session's.
        /// - Parameters:
        ///   - namespace: The namespace.
        ///   - session: The session.
        ///   - isCurrent: Whether the session's file still stands at the path.
        ///   - isWanted: Asked now and then; false ends the listing.
        /// - Throws: ``BackendError`` with `corrupted` when a row does not open: which namespace it belongs to cannot be told.
        func addresses(
            in namespace: StorageNamespace, _ session: DatabaseSession, isCurrent: () -> Bool, isWanted: () -> Bool
        ) throws(BackendError) -> [StorageAddress]? {
            let result = open.withLock { open -> Result<[StorageAddress]?, BackendError> in
                Result { () throws(BackendError) in
                    guard let connection = try connection(session, isCurrent, &open) else { return nil }
                    return try list(namespace, session, connection, isWanted)
                }
            }
            return try result.get()
        }

        private func list(
            _ namespace: StorageNamespace, _ session: DatabaseSession, _ connection: RawDatabase, _ isWanted: () -> Bool
        ) throws(BackendError) -> [StorageAddress]? {
            do throws(Interruption) {
                return try connection.inReadTransaction { () throws(Interruption) in
                    do throws(BackendError) {
                        try connection.checkFormat()
                        guard try connection.headerTag() == session.header.tag else { return nil }
                    } catch {
                        throw .failed(error)
                    }
                    var addresses: [StorageAddress] = []
                    var count = 0
                    var places = Places()
                    try connection.rows(
                        "SELECT slot, version, sealed, id FROM records ORDER BY id", { Interruption.failed($0.backendError()) }
                    ) { (statement) throws(Interruption) in
                        count += 1
                        if count % 64 == 0, isClosing.load(ordering: .relaxed) || !isWanted() { throw .ended }
                        let row = RawRow(statement, firstColumn: 0)
                        guard places.isReachable(sqlite3_column_int64(statement, 3), row.slot) else { throw .failed(Self.stray) }
                        let opened = row.open(session.keyset)
                        if let address = try Self.address(opened), address.namespace == namespace { addresses.append(address) }
                    }
                    return addresses
                } _: {
                    .failed($0.backendError())
                }
            } catch {
                switch error {
                case .ended: return nil
                case .failed(let error): throw error
                }
            }
        }

        /// Which rows a look for their slot can come to: those at their home, or above it without a gap between, the first of each slot.
        private struct Places {
            private var runStart = Int64.min
            private var last: Int64?
            private var run: [[UInt8]] = []

            /// Takes the next row, in the order of the places.
            mutating func isReachable(_ id: Int64, _ slot: UnsafeRawBufferPointer?) -> Bool {
                if last.map({ $0 < .max && $0 + 1 == id }) != true {
                    runStart = id
                    run.removeAll(keepingCapacity: true)
                }
                last = id
                // A row without a slot is damage of its own.
                guard let slot else { return true }
                let home = RowFinder.home(of: slot)
                defer { run.append(Array(slot)) }
                return home >= runStart && home <= id && !run.contains { $0.elementsEqual(slot) }
            }
        }

        private static var stray: BackendError {
            BackendError(
                .corrupted,
                "A row of the database stands where nothing looks for it: it was copied or moved by somebody else, and the list would not be right. Values that are asked for by name can still be read."
            )
        }

        private enum Interruption: Error {
            case ended
            case failed(BackendError)
        }

        private static func address(_ opened: RawRow.Opened) throws(Interruption) -> StorageAddress? {
            switch opened {
            case .content(let content, _): return content.address
            case .destroyed: return nil
            case .refused(let error): throw .failed(error)
            case .unknownKey(let id): throw .failed(DatabaseSession.missingKey(id))
            case .damaged(let corruption):
                throw .failed(
                    BackendError(
                        .corrupted,
                        "A row of the database is damaged (\(corruption.reason)); its name cannot be told, so the list would not be complete. Values that are asked for by name can still be read."
                    ))
            }
        }

        private func connection(
            _ session: DatabaseSession, _ isCurrent: () -> Bool, _ open: inout Open?
        ) throws(BackendError) -> RawDatabase? {
            if let known = open { return known.file == session.file ? known.connection : nil }
            let connection: RawDatabase
            do throws(SQLiteFault) { connection = try RawDatabase(reading: path) } catch { throw error.backendError() }
            guard isCurrent() else {
                connection.close()
                return nil
            }
            open = Open(connection: connection, file: session.file)
            return connection
        }

        /// Ends a listing that is under way and closes the connection. Called with the store's lock held.
        func close() {
            isClosing.store(true, ordering: .relaxed)
            open.withLock { open in
                open?.connection.close()
                open = nil
            }
            isClosing.store(false, ordering: .relaxed)
        }
    }
#endif

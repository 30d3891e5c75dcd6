#if SQLite
    import BackendContract
    import Sealing
    import Synchronization

    /// The connection that lists rows and reads pages of query results. It is used on a separate lane (a serial queue).
    final class DatabaseScanner: Sendable {
        /// `@unchecked Sendable`: the connection is used and closed only while the mutex that contains it is held.
        private struct Open: @unchecked Sendable {
            let connection: Connection
            let file: DatabaseFile.FileID
            let pages: PageReader
        }

        private typealias Interruption = PageReader.Interruption

        private let path: String
        /// The mutex is held while rows are listed, so that the connection is not closed during a listing.
        private let open = Mutex<Open?>(nil)
        private let isClosing = Atomic(false)

        init(path: String) { self.path = path }

        /// Lists the names in a namespace and every damaged row, in one read transaction. Returns nil if the database
        /// was closed during the call, or has other keys than the session, which is the open database with its keys.
        /// - Parameters:
        ///   - namespace: The namespace to list.
        ///   - session: The session whose keys open the rows.
        ///   - isCurrent: Returns whether the session's file is still at the path.
        ///   - isWanted: Called regularly. If it returns false, the listing ends.
        func listing(
            in namespace: StorageNamespace, _ session: DatabaseSession, isCurrent: () -> Bool, isWanted: () -> Bool
        ) throws(BackendError) -> StorageListing? {
            try reading(session, isCurrent) { (pages) throws(Interruption) in
                try list(namespace, session, pages.database, isWanted)
            }
        }

        /// Returns whether the rows match the sealed state, which has their number and a keyed sum over them; nil in
        /// the same cases as ``listing(in:_:isCurrent:isWanted:)``.
        func hasRowsAsWritten(_ session: DatabaseSession, isCurrent: () -> Bool, isWanted: () -> Bool) throws(BackendError) -> Bool? {
            try reading(session, isCurrent) { (pages) throws(Interruption) in
                try IntegrityCheck(session: session, connection: pages.database).hasRowsAsWritten { (_) throws(Interruption) in
                    if isClosing.load(ordering: .relaxed) || !isWanted() { throw .ended }
                }
            }
        }

        /// Checks everything in the database; nil in the same cases as ``listing(in:_:isCurrent:isWanted:)``.
        func check(
            _ session: DatabaseSession, isCurrent: () -> Bool, isWanted: () -> Bool, progress: (IntegrityProgress) -> Void
        ) throws(BackendError) -> IntegrityReport? {
            try reading(session, isCurrent) { (pages) throws(Interruption) in
                try IntegrityCheck(session: session, connection: pages.database).report { (done) throws(Interruption) in
                    if isClosing.load(ordering: .relaxed) || !isWanted() { throw .ended }
                    if let done { progress(done) }
                }
            }
        }

        /// Returns the damage at a location, which the user identified by a damage handle. The array is empty if there
        /// is no damage. Nil in the same cases as ``listing(in:_:isCurrent:isWanted:)``.
        func damage(
            at place: DamagePlace, _ session: DatabaseSession, isCurrent: () -> Bool
        ) throws(BackendError) -> [StorageCorruption]? {
            try reading(session, isCurrent) { (pages) throws(Interruption) in try pages.damage(at: place, session).map { [$0] } ?? [] }
        }

        /// Reads one page of a query's results in one read transaction; nil in the same cases as
        /// ``listing(in:_:isCurrent:isWanted:)``.
        func page(
            _ query: StorageQuery, after cursor: StorageCursor?, limit: Int, _ session: DatabaseSession, isCurrent: () -> Bool,
            isWanted: () -> Bool
        ) throws(BackendError) -> StoragePage? {
            try reading(session, isCurrent) { (pages) throws(Interruption) in
                try pages.page(PageReader.Request(query: query, limit: limit, session: session), after: cursor) {
                    !isClosing.load(ordering: .relaxed) && isWanted()
                }
            }
        }

        /// The result of a count.
        enum Count {
            case counted(Int)
            /// No single label (a property by which values are indexed) answers the query, so the values must be
            /// counted page by page.
            case needsPages
        }

        /// Returns the number of values with the label that answers a query; nil in the same cases as
        /// ``listing(in:_:isCurrent:isWanted:)``.
        func count(_ query: StorageQuery, _ session: DatabaseSession, isCurrent: () -> Bool) throws(BackendError) -> Count? {
            try reading(session, isCurrent) { (pages) throws(Interruption) in
                try pages.count(query, session).map(Count.counted) ?? .needsPages
            }
        }

        /// Returns the numbers in the sealed counts of queries, in one read transaction; nil in the same cases as
        /// ``listing(in:_:isCurrent:isWanted:)``.
        func sealedNumbers(
            _ queries: [StorageQuery], _ session: DatabaseSession, isCurrent: () -> Bool
        ) throws(BackendError) -> [Int?]? {
            try reading(session, isCurrent) { (pages) throws(PageReader.Interruption) in
                var numbers: [Int?] = []
                for query in queries { numbers.append(try pages.sealedNumber(query, session)) }
                return numbers
            }
        }

        func reading<R: Sendable>(
            _ session: DatabaseSession, _ isCurrent: () -> Bool, _ body: (PageReader) throws(PageReader.Interruption) -> R
        ) throws(BackendError) -> R? {
            let result = open.withLock { open -> Result<R?, BackendError> in
                Result { () throws(BackendError) in
                    guard let open = try opened(session, isCurrent, &open) else { return nil }
                    return try atOneMoment(session, open.connection) { () throws(Interruption) in try body(open.pages) }
                }
            }
            return try result.get()
        }

        /// Runs work in one read transaction. Returns nil if the database has another header than the session, or if
        /// reading was ended.
        private func atOneMoment<R>(
            _ session: DatabaseSession, _ connection: Connection, _ body: () throws(PageReader.Interruption) -> R
        ) throws(BackendError) -> R? {
            do throws(Interruption) {
                return try connection.inReadTransaction { () throws(Interruption) in
                    do throws(BackendError) {
                        try connection.checkFormat()
                        guard try connection.headerTag() == session.header.tag else { return nil }
                    } catch {
                        throw .failed(error)
                    }
                    return try body()
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

        private func list(
            _ namespace: StorageNamespace, _ session: DatabaseSession, _ connection: Connection, _ isWanted: () -> Bool
        ) throws(PageReader.Interruption) -> StorageListing {
            var addresses: [StorageAddress] = []
            var damaged: [DamagedSlot] = []
            var count = 0
            var places = Places()
            try connection.rows(
                "SELECT slot, version, sealed, id FROM records ORDER BY id", { Interruption.failed($0.backendError()) }
            ) { (statement) throws(Interruption) in
                count += 1
                if count % 64 == 0, isClosing.load(ordering: .relaxed) || !isWanted() { throw .ended }
                let row = RawRow(statement, firstColumn: 0)
                let id = statement.integer(3)
                let isReachable = places.isReachable(id, row.slot)
                if isReachable, case .content(let content, _) = row.open(session.keyset) {
                    if content.address.namespace == namespace { addresses.append(content.address) }
                } else if let corruption = row.damage(isReachable: isReachable, session.keyset) {
                    damaged.append(row.damagedSlot(at: id, corruption))
                }
            }
            return StorageListing(addresses, damaged: damaged)
        }

        /// Determines which rows a read can find. A row belongs to a slot, which is a keyed hash of its name. The slot
        /// determines the row's home id. A read checks the home id and the ids above it, until an id has no row. It
        /// finds only the first row with the slot.
        struct Places {
            private var runStart = Int64.min
            private var last: Int64?
            private var run: [[UInt8]] = []

            /// Adds the next row, in the order of the ids. Returns false if no read finds the row.
            mutating func isReachable(_ id: Int64, _ slot: UnsafeRawBufferPointer?) -> Bool {
                if last.map({ $0 < .max && $0 + 1 == id }) != true {
                    runStart = id
                    run.removeAll(keepingCapacity: true)
                }
                last = id
                // The check of single rows reports a row without a slot as damaged.
                guard let slot else { return true }
                let home = RowFinder.home(of: slot)
                defer { run.append(Array(slot)) }
                return home >= runStart && home <= id && !run.contains { $0.elementsEqual(slot) }
            }
        }

        /// Returns the error for a list that would be incomplete.
        static func incomplete(_ damage: StorageCorruption) -> BackendError {
            BackendError(
                .corrupted,
                "A row of the database is damaged (\(damage.reason)); its name is not known, so the list would not be complete. Values that are asked for by name can still be read."
            )
        }

        private func opened(
            _ session: DatabaseSession, _ isCurrent: () -> Bool, _ open: inout Open?
        ) throws(BackendError) -> Open? {
            if let known = open { return known.file == session.file ? known : nil }
            let connection = try onDatabase { () throws(SQLiteFault) in try Connection.reading(path) }
            // This opens the log, so the check that the file was not replaced covers the log too.
            let pages = try onDatabase { () throws(SQLiteFault) in try PageReader(connection) }
            guard isCurrent() else { return nil }
            open = Open(connection: connection, file: session.file, pages: pages)
            return open
        }

        /// Ends a running listing and closes the connection.
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

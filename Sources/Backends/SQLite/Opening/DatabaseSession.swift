#if SQLite
    import BackendContract
    import BackendRuntime
    import CSQLite
    import Sealing
    import Synchronization

    /// An open database: the file, its keys, and the connections that read slots. A slot is the location of one value.
    /// A read is one short statement on the caller's thread. It never waits for a writer. It waits for the disk only if
    /// the caller permits it.
    final class DatabaseSession: Sendable {
        let file: DatabaseFile.FileID
        let header: DatabaseHeader
        let keyset: Keyset
        private let first: Mutex<Reader>
        /// The second connection, which is opened when it is first needed. It is used while ``first`` is in use, and then by
        /// callers that may wait.
        private let second = Mutex(Reader.unopened)
        private let openSecond: @Sendable () throws(BackendError) -> Connection
        /// The time until which the file is assumed to be at its path, in nanoseconds; see
        /// ``DatabaseFile/isCurrent(_:_:)``.
        let trustedUntil = Atomic(Int64.min)

        /// A connection for reading, used while its mutex is held.
        private enum Reader {
            case unopened
            case open(SlotConnection)
            case closed

            mutating func close() {
                if case .open(let connection) = self { connection.close() }
                self = .closed
            }
        }

        /// Creates a session that reads with the connection that found the database.
        /// - Parameters:
        ///   - found: The database and its connection.
        ///   - keyset: The data keys. They are valid as long as the header's tag is unchanged.
        ///   - openSecond: Opens another connection to the same file.
        /// - Throws: ``BackendError``. The caller then still owns the connection.
        init(
            _ found: DatabaseFile.Found, _ keyset: Keyset, openSecond: @escaping @Sendable () throws(BackendError) -> Connection
        ) throws(BackendError) {
            first = Mutex(.open(try SlotConnection(found.connection, tag: found.header.tag)))
            file = found.file
            header = found.header
            self.keyset = keyset
            self.openSecond = openSecond
        }

        /// Closes the connections after the current reads have ended.
        func close() {
            first.withLock { $0.close() }
            second.withLock { $0.close() }
        }

        // MARK: Reading

        /// Whether a read may wait.
        enum Retry {
            /// The read must not wait. If it cannot continue without waiting, the caller repeats it on a lane (a serial
            /// queue).
            case none
            /// The read may wait for the disk, and until the deadline while SQLite is busy.
            case until(MonotonicInstant, any RuntimeClock)

            var mayWait: Bool { if case .none = self { false } else { true } }
        }

        /// Reads slots. Returns nil if the session is outdated, or if the read must not wait and cannot
        /// continue without waiting.
        /// - Parameter isSettled: Whether ``DatabaseFile/settleLog(deadline:)`` has just overwritten leftover
        ///   transactions, which killed processes left in the write-ahead log.
        /// - Throws: ``BackendError`` with `unsettled` if a slot is absent, the log has a leftover transaction, and the
        ///   read may wait.
        func probes(
            _ addresses: [StorageAddress], _ retry: Retry = .none, isSettled: Bool = false
        ) throws(BackendError) -> [StorageProbe]? {
            // Reads that must not wait stay short. So does a transaction, which keeps the log from being emptied.
            if retry.mayWait, (2...2_048).contains(addresses.count), let probes = try? together(addresses, isSettled) { return probes }
            var probes: [StorageProbe] = []
            probes.reserveCapacity(addresses.count)
            for address in addresses {
                var finding = try find(address, mayWait: retry.mayWait, isSettled)
                while case .busy = finding, case .until(let deadline, let clock) = retry {
                    guard clock.now < deadline else { throw SQLiteFault(SQLITE_BUSY).backendError() }
                    clock.pause(.milliseconds(1))
                    finding = try find(address, mayWait: true, isSettled)
                }
                switch finding {
                case .probe(let probe): probes.append(probe)
                case .unsettled where retry.mayWait:
                    throw BackendError(.unsettled, "The log of the database has a transaction of a killed process.")
                case .busy, .outdated, .unsettled: return nil
                }
            }
            return probes
        }

        /// Reads slots in one transaction. Returns nil if each must be read alone.
        private func together(_ addresses: [StorageAddress], _ isSettled: Bool) throws(BackendError) -> [StorageProbe]? {
            try withSecond { try? $0.find(addresses, keyset, isSettled) } ?? nil
        }

        /// Returns whether rows are stored, byte by byte. Returns false if the session is outdated.
        func isStored(_ rows: [WrittenRows.Row]) throws(BackendError) -> Bool { try withSecond { try? $0.isStored(rows) } == true }

        /// Uses the second connection, and opens it if necessary. Returns nil if the session is outdated.
        private func withSecond<R>(_ body: (SlotConnection) throws(BackendError) -> R) throws(BackendError) -> R? {
            try second.withLock { (reader) throws(BackendError) in
                if case .unopened = reader { reader = .open(try SlotConnection(try openSecond(), tag: header.tag)) }
                guard case .open(let connection) = reader else { return nil }
                return try body(connection)
            }
        }

        /// Reads one slot without waiting. Returns nil if the session is outdated, or if the read would have to wait.
        func probe(_ address: StorageAddress) throws(BackendError) -> StorageProbe? {
            if case .probe(let probe) = try find(address, mayWait: false, false) { probe } else { nil }
        }

        /// Returns whether the log has a transaction that is not in the log's index.
        func hasUnnamedTransaction() throws(BackendError) -> Bool {
            try withSecond { (connection) throws(BackendError) in try connection.hasUnnamedTransaction() } ?? false
        }

        /// Reads one slot on a free connection. The result is `busy` if the database is just being opened, closed or
        /// repaired. For a caller that may not wait, it is also `busy` if a page is not in memory or no connection is
        /// free.
        private func find(
            _ address: StorageAddress, mayWait: Bool, _ isSettled: Bool
        ) throws(BackendError) -> SlotConnection.Finding {
            func find(_ connection: SlotConnection) -> Result<SlotConnection.Finding, BackendError> {
                if mayWait { return connection.find(address, keyset, isSettled) }
                return PageWait.without { connection.find(address, keyset, isSettled) } ?? .success(.busy)
            }
            // A caller that may wait uses the second connection, so that the first one stays free for other callers. The
            // second one is opened when both are needed at once.
            let usesFirst = !mayWait || second.withLockIfAvailable { if case .unopened = $0 { true } else { false } } ?? false
            let result: Result<SlotConnection.Finding, BackendError>? =
                usesFirst
                ? first.withLockIfAvailable { reader in
                    if case .open(let connection) = reader { find(connection) } else { .success(.outdated) }
                } : nil
            let found = result ?? useSecond(mayWait: mayWait, find)
            if case .failure(let error) = found, error.code == .timedOut { return .busy }
            return try found.get()
        }

        private func useSecond(
            mayWait: Bool, _ find: (SlotConnection) -> Result<SlotConnection.Finding, BackendError>
        ) -> Result<SlotConnection.Finding, BackendError> {
            func use(_ reader: inout Reader) -> Result<SlotConnection.Finding, BackendError> {
                Result { () throws(BackendError) in
                    if case .unopened = reader {
                        guard mayWait else { return .busy }
                        reader = .open(try SlotConnection(try openSecond(), tag: header.tag))
                    }
                    guard case .open(let connection) = reader else { return .outdated }
                    return try find(connection).get()
                }
            }
            if mayWait { return second.withLock { use(&$0) } }
            return second.withLockIfAvailable { use(&$0) } ?? .success(.busy)
        }
    }

    /// A connection that reads single slots with prepared statements.
    ///
    /// `@unchecked Sendable`: nothing else refers to the connection. The session uses this object only while it holds
    /// the mutex that contains the object.
    final class SlotConnection: @unchecked Sendable {
        /// The result of a read.
        enum Finding {
            case probe(StorageProbe)
            /// SQLite was busy. The read can be repeated.
            case busy
            /// There is no value, but the log has a transaction that is not in the log's index. SQLite's next recovery
            /// may apply that transaction.
            case unsettled
            /// The connection was closed, or header or keys have changed. The name may have another slot now, or the
            /// row may have a key that the session does not have.
            case outdated
        }

        private let finder: RowFinder
        private var header: Statement?
        private let tag: [UInt8]
        private var schemaChanges: Int32

        /// Prepares the statement for rows.
        /// - Parameter tag: The header's tag. While it is unchanged, header and data keys are unchanged.
        init(_ database: Connection, tag: [UInt8]) throws(BackendError) {
            finder = try onDatabase { () throws(SQLiteFault) in try RowFinder(database) }
            self.tag = tag
            schemaChanges = finder.schemaChanges
        }

        func close() { finder.database.close() }

        /// Reads one slot.
        func find(_ address: StorageAddress, _ keyset: Keyset, _ isSettled: Bool) -> Result<Finding, BackendError> {
            do throws(SQLiteFault) {
                var result = try finder.find(address, keyset, inTransaction: false)
                var isUnchanged: Bool?
                if result.needsTransaction {
                    (result, isUnchanged) = try finder.database.inReadTransaction { () throws(SQLiteFault) in
                        (try finder.find(address, keyset, inTransaction: true), try isHeaderUnchanged())
                    } _: {
                        $0
                    }
                }
                let finding: Finding =
                    switch result {
                    // Only a header that was read in the row's transaction proves that the database does not have this
                    // key or format.
                    // Reason: "A row with an unlisted format or key is damaged" in Docs/Decisions/Database.md.
                    case .found(let found) where found.isStranger && isUnchanged == false: .outdated
                    case .found(let found): .probe(found.probe)
                    // The header is checked after the row was read: if it is unchanged now, it was unchanged then.
                    // Reason: "An empty slot is absent only under an unchanged header" in Docs/Decisions/Database.md.
                    case .absent: try isHeaderUnchanged() ? try absence(of: address, isSettled) : .outdated
                    case .needsTransaction: .busy
                    }
                // If the schema has changed, the result is valid only if the new schema still belongs to this format.
                let changes = finder.schemaChanges
                if changes != schemaChanges {
                    do throws(BackendError) { try finder.database.checkFormat() } catch { return .failure(error) }
                    schemaChanges = changes
                }
                return .success(finding)
            } catch {
                if error.isBusy { return .success(.busy) }
                // Another program may have changed the schema, which would be the cause of the error.
                do throws(BackendError) { try finder.database.checkFormat() } catch { return .failure(error) }
                return .success(.probe(.unavailable(error.readError())))
            }
        }

        /// Reads slots in one transaction. Returns nil if each must be read alone.
        func find(_ addresses: [StorageAddress], _ keyset: Keyset, _ isSettled: Bool) throws(SQLiteFault) -> [StorageProbe]? {
            let found: [StorageProbe]? = try finder.database.inReadTransaction { () throws(SQLiteFault) in
                guard try isHeaderUnchanged() else { return nil }
                var (probes, hasAbsent) = ([StorageProbe](), false)
                for address in addresses {
                    if case .found(let row) = try finder.find(address, keyset, inTransaction: true) {
                        probes.append(row.probe)
                    } else {
                        probes.append(address.probeOfNothing)
                        hasAbsent = true
                    }
                }
                if hasAbsent, !isSettled, try finder.database.hasUnnamedTransaction() { return nil }
                return probes
            } _: {
                $0
            }
            return finder.schemaChanges == schemaChanges ? found : nil
        }

        /// Returns whether rows are stored, byte by byte.
        func isStored(_ rows: [WrittenRows.Row]) throws(SQLiteFault) -> Bool {
            try finder.database.inReadTransaction { () throws(SQLiteFault) in
                for row in rows where try !finder.stores(row) { return false }
                return try isHeaderUnchanged()
            } _: {
                $0
            }
        }

        /// Returns the result for a slot without a row.
        /// Reason: "A read without a result checks the log" in Docs/Decisions/LocksAndCommits.md.
        private func absence(of address: StorageAddress, _ isSettled: Bool) throws(SQLiteFault) -> Finding {
            if !isSettled, try finder.database.hasUnnamedTransaction() { return .unsettled }
            return .probe(address.probeOfNothing)
        }

        /// Returns whether the log has a transaction that is not in the log's index.
        func hasUnnamedTransaction() throws(BackendError) -> Bool {
            do throws(SQLiteFault) { return try finder.database.hasUnnamedTransaction() } catch { throw error.readError() }
        }

        private func isHeaderUnchanged() throws(SQLiteFault) -> Bool {
            let header = if let header { header } else { try finder.database.keptStatement(DatabaseFormat.tagQuery) }
            self.header = header
            defer { header.reset() }
            return try header.step() && header.blob(0).elementsEqual(tag)
        }
    }

    extension BackendError.Code {
        /// The log has a leftover transaction, which must be overwritten before a slot can be reported as absent. The
        /// store handles this code internally.
        static let unsettled = BackendError.Code("unsettled")
        /// The store cannot determine whether a slot has a value.
        static let cannotTell = BackendError.Code("cannotTell")
    }
#endif

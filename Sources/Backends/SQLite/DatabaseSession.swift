#if SQLite
    import BackendContract
    import BackendRuntime
    import CSQLite
    import Sealing
    import Synchronization

    /// An open database: the file, its keys, and the connections that read single slots. Each read is one short statement on the caller's
    /// own thread, and waits for no writer, nor for the disk.
    final class DatabaseSession: Sendable {
        let file: DatabaseFile.FileID
        let header: DatabaseHeader
        let keyset: Keyset
        private let first: Mutex<Reader>
        /// Used while the first is in use.
        private let second = Mutex(Reader.unopened)
        private let openSecond: @Sendable () throws(BackendError) -> Connection
        /// Until when the file is assumed to be at its path, in nanoseconds; see ``DatabaseFile/isCurrent(_:_:)``.
        let trustedUntil = Atomic(Int64.min)

        /// A connection that reads, used while its mutex is held.
        private enum Reader {
            case unopened
            case open(SlotConnection)
            case closed

            mutating func close() {
                if case .open(let connection) = self { connection.close() }
                self = .closed
            }
        }

        /// Takes a connection to read with.
        /// - Parameters:
        ///   - found: The database, and the connection that found it.
        ///   - keyset: The keys. They are the right ones while the header's tag is the same.
        ///   - openSecond: Opens another connection to the same file.
        /// - Throws: ``BackendError``; the connection is still the caller's then.
        init(
            _ found: DatabaseFile.Found, _ keyset: Keyset, openSecond: @escaping @Sendable () throws(BackendError) -> Connection
        ) throws(BackendError) {
            first = Mutex(.open(try SlotConnection(found.connection, tag: found.header.tag)))
            file = found.file
            header = found.header
            self.keyset = keyset
            self.openSecond = openSecond
        }

        /// Closes the connections, after the reads that are under way.
        func close() {
            first.withLock { $0.close() }
            second.withLock { $0.close() }
        }

        // MARK: Reading

        /// Whether a read may wait.
        enum Retry {
            /// Not here: the caller repeats it on a lane.
            case none
            /// For the disk, and while SQLite is busy, until the deadline.
            case until(MonotonicInstant, any RuntimeClock)

            var mayWait: Bool { if case .none = self { false } else { true } }
        }

        /// The values in slots; nil when the session is out of date, or the read would have had to wait.
        /// - Parameter isSettled: Whether the log was settled a moment ago: see ``DatabaseFile/settleLog(deadline:)``.
        /// - Throws: ``BackendError`` with `unsettled` if a slot is absent and the log must be settled first.
        func probes(
            _ addresses: [StorageAddress], _ retry: Retry = .none, isSettled: Bool = false
        ) throws(BackendError) -> [StorageProbe]? {
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
                case .unsettled where retry.mayWait: throw BackendError(.unsettled, "A change in the log of the database has no owner.")
                case .busy, .outdated, .unsettled: return nil
                }
            }
            return probes
        }

        /// The value in a slot, where no wait is needed; nil when the session is out of date, or the read would have had to wait.
        func probe(_ address: StorageAddress) throws(BackendError) -> StorageProbe? {
            if case .probe(let probe) = try find(address, mayWait: false, false) { probe } else { nil }
        }

        /// Whether the log has a transaction that its index does not name.
        func hasUnnamedTransaction() throws(BackendError) -> Bool {
            try second.withLock { (reader) throws(BackendError) in
                if case .unopened = reader { reader = .open(try SlotConnection(try openSecond(), tag: header.tag)) }
                guard case .open(let connection) = reader else { return false }
                return try connection.hasUnnamedTransaction()
            }
        }

        /// Reads one slot, on the connection that is free if one is. What fails because the database is being opened, closed or repaired at the
        /// moment counts as busy, and so does, for a caller that may not wait, what is not in memory.
        private func find(
            _ address: StorageAddress, mayWait: Bool, _ isSettled: Bool
        ) throws(BackendError) -> SlotConnection.Finding {
            func find(_ connection: SlotConnection) -> Result<SlotConnection.Finding, BackendError> {
                if mayWait { return connection.find(address, keyset, isSettled) }
                return PageWait.without { connection.find(address, keyset, isSettled) } ?? .success(.busy)
            }
            // A caller that may wait takes the second connection, and opens it: others find the first one free meanwhile.
            let result: Result<SlotConnection.Finding, BackendError>? =
                mayWait
                ? nil
                : first.withLockIfAvailable { reader in
                    if case .open(let connection) = reader { find(connection) } else { .success(.outdated) }
                }
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

    /// A connection that reads single slots with kept statements, until it is closed.
    ///
    /// `@unchecked Sendable`: nothing else refers to the connection, and the session uses this only while it holds the mutex that it is in.
    final class SlotConnection: @unchecked Sendable {
        /// The result of a read.
        enum Finding {
            case probe(StorageProbe)
            /// SQLite was busy: the read can be repeated.
            case busy
            /// There is no value, and the log has a transaction that its index does not name: the next recovery may play it back.
            case unsettled
            /// The connection was closed, or header or keys have changed: the name may have another slot by now, and a row a key that the
            /// session does not know.
            case outdated
        }

        private let finder: RowFinder
        private let header: Statement
        private let tag: [UInt8]
        private var schemaChanges: Int32

        /// - Parameter tag: The header's tag. While it is the same, header and keyset are unchanged, and so are the keys.
        init(_ database: Connection, tag: [UInt8]) throws(BackendError) {
            do throws(SQLiteFault) {
                finder = try RowFinder(database)
                header = try database.keptStatement(DatabaseFormat.tagQuery)
            } catch {
                throw error.backendError()
            }
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
                    // Only header and keys of the row's own transaction can say that its key or format is none of the database's.
                    case .found(let found) where found.isStranger && isUnchanged == false: .outdated
                    case .found(let found): .probe(found.probe)
                    // Checked after the row was read: if the header is unchanged now, it was unchanged then.
                    case .absent: try isHeaderUnchanged() ? try absence(of: address, isSettled) : .outdated
                    case .needsTransaction: .busy
                    }
                // The answer counts only if the table it came from is still the one that belongs here.
                let changes = finder.schemaChanges
                if changes != schemaChanges {
                    do throws(BackendError) { try finder.database.checkFormat() } catch { return .failure(error) }
                    schemaChanges = changes
                }
                return .success(finding)
            } catch {
                if error.isBusy { return .success(.busy) }
                // The cause may be a schema that another program has changed.
                do throws(BackendError) { try finder.database.checkFormat() } catch { return .failure(error) }
                return .success(.probe(.unavailable(error.readError())))
            }
        }

        /// The answer where there is no row.
        private func absence(of address: StorageAddress, _ isSettled: Bool) throws(SQLiteFault) -> Finding {
            if !isSettled, try finder.database.hasUnnamedTransaction() { return .unsettled }
            return .probe(address.probeOfNothing)
        }

        /// Whether the log has a transaction that its index does not name.
        func hasUnnamedTransaction() throws(BackendError) -> Bool {
            do throws(SQLiteFault) { return try finder.database.hasUnnamedTransaction() } catch { throw error.readError() }
        }

        private func isHeaderUnchanged() throws(SQLiteFault) -> Bool {
            defer { header.reset() }
            return try header.step() && header.blob(0).elementsEqual(tag)
        }
    }

    extension BackendError.Code {
        /// The log must be settled before the store answers that a value is absent. The store handles this code itself.
        static let unsettled = BackendError.Code("unsettled")
        /// The store cannot determine whether there is a value.
        static let cannotTell = BackendError.Code("cannotTell")
    }

    extension StorageAddress {
        /// What is in a slot that has no row: a name that cannot be used is not absent.
        var probeOfNothing: StorageProbe {
            do throws(BackendError) { try validate() } catch { return .unavailable(error) }
            return .absent
        }
    }
#endif

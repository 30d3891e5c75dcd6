#if SQLite
    import BackendContract
    import BackendRuntime
    import CSQLite
    import Sealing
    import Synchronization

    /// Connections that read single slots: each read is one short statement on the caller's own thread, and waits for no writer.
    final class SlotReader: Sendable {
        /// The result of a read.
        fileprivate enum Answer {
            case probe(StorageProbe)
            /// SQLite was busy: the read can be repeated.
            case busy
            /// A row names a key that is not in the keyset: the keyset may have changed.
            case unknownKey([UInt8])
            /// No row was found, and header or keyset have changed: the name may have another slot by now.
            case otherHeader
            /// The connection was closed: there is another session by now, or none.
            case closed
        }

        /// Whether a read that found SQLite busy is repeated.
        enum Retry {
            /// Not here: the caller repeats it on a lane.
            case none
            /// While SQLite is busy, until the deadline.
            case until(MonotonicInstant, any RuntimeClock)
        }

        private let first: SlotConnection
        private let second = Mutex<Second>(.none)
        private let keyset: Keyset
        private let openSecond: @Sendable () throws(BackendError) -> Connection
        private let tag: [UInt8]

        /// The connection that is opened when the first is in use for the first time.
        private enum Second {
            case none
            case open(SlotConnection)
            case closed
        }

        /// Takes a connection to read with.
        /// - Parameters:
        ///   - connection: The connection.
        ///   - keyset: The keys.
        ///   - tag: The header's tag. While it is the same, header and keyset are unchanged, and so are the keys.
        ///   - openSecond: Opens another connection to the same file.
        /// - Throws: ``BackendError``; the connection is still the caller's then.
        init(
            _ connection: Connection, keyset: Keyset, tag: [UInt8],
            openSecond: @escaping @Sendable () throws(BackendError) -> Connection
        ) throws(BackendError) {
            first = try SlotConnection(connection, tag: tag)
            self.keyset = keyset
            self.tag = tag
            self.openSecond = openSecond
        }

        /// Closes the connections, after the reads that are under way.
        func close() {
            first.close()
            second.withLock { second in
                if case .open(let connection) = second { connection.close() }
                second = .closed
            }
        }

        /// The values in slots; nil when the session is out of date, or SQLite was busy.
        func probes(_ addresses: [StorageAddress], _ retry: Retry = .none) throws(BackendError) -> [StorageProbe]? {
            var probes: [StorageProbe] = []
            probes.reserveCapacity(addresses.count)
            for address in addresses {
                guard case .probe(let probe) = try answer(address, retry) else { return nil }
                probes.append(probe)
            }
            return probes
        }

        /// The values in slots, once header and keyset were found to be unchanged: a row whose key is not in the keyset is an error then.
        func finalProbes(_ addresses: [StorageAddress], _ retry: Retry) throws(BackendError) -> [StorageProbe]? {
            var probes: [StorageProbe] = []
            for address in addresses {
                switch try answer(address, retry) {
                case .probe(let probe): probes.append(probe)
                case .unknownKey(let id): probes.append(.unavailable(DatabaseSession.missingKey(id)))
                case .busy, .otherHeader, .closed: return nil
                }
            }
            return probes
        }

        private func answer(_ address: StorageAddress, _ retry: Retry) throws(BackendError) -> Answer {
            var answer = try look(address)
            guard case .until(let deadline, let clock) = retry else { return answer }
            while case .busy = answer {
                guard clock.now < deadline else { throw SQLiteFault(SQLITE_BUSY).backendError() }
                clock.pause(.milliseconds(1))
                answer = try look(address)
            }
            return answer
        }

        /// Reads one slot. What fails because the database is being opened, closed or repaired at the moment counts as busy.
        private func look(_ address: StorageAddress) throws(BackendError) -> Answer {
            do throws(BackendError) { try address.validate() } catch { return .probe(.unavailable(error)) }
            do throws(BackendError) { return try lookAtOnce(address) } catch {
                if error.code == .timedOut { return .busy }
                throw error
            }
        }

        /// Reads one slot, on the connection that is free if one is.
        private func lookAtOnce(_ address: StorageAddress) throws(BackendError) -> Answer {
            if let answer = first.lookIfFree(address, keyset) { return try answer.get() }
            guard let other = try otherConnection() else { return .closed }
            return try other.look(address, keyset).get()
        }

        private func otherConnection() throws(BackendError) -> SlotConnection? {
            let result = second.withLock { second -> Result<SlotConnection?, BackendError> in
                switch second {
                case .open(let connection): return .success(connection)
                case .closed: return .success(nil)
                case .none: break
                }
                return Result { () throws(BackendError) in
                    let made = try SlotConnection(try openSecond(), tag: tag)
                    second = .open(made)
                    return made
                }
            }
            return try result.get()
        }
    }

    /// One connection of a reader, until it is closed. Nothing else refers to it, so any thread may use it with the lock held.
    private final class SlotConnection: Sendable {
        /// `@unchecked Sendable`: the statements are stepped and closed only while the mutex that they are in is held.
        private struct Open: @unchecked Sendable {
            let finder: RowFinder
            let header: HeaderWatch
            var schemaChanges: Int32
        }

        private let open: Mutex<Open?>

        init(_ database: Connection, tag: [UInt8]) throws(BackendError) {
            do throws(SQLiteFault) {
                let finder = try RowFinder(database)
                let header = try HeaderWatch(database, tag: tag)
                open = Mutex(Open(finder: finder, header: header, schemaChanges: finder.schemaChanges))
            } catch {
                throw error.backendError()
            }
        }

        /// Reads if the connection is free; nil when it is not.
        func lookIfFree(_ address: StorageAddress, _ keyset: Keyset) -> Result<SlotReader.Answer, BackendError>? {
            open.withLockIfAvailable { Self.look(address, keyset, &$0) }
        }

        func look(_ address: StorageAddress, _ keyset: Keyset) -> Result<SlotReader.Answer, BackendError> {
            open.withLock { Self.look(address, keyset, &$0) }
        }

        func close() {
            open.withLock { connection in
                connection?.finder.database.close()
                connection = nil
            }
        }

        private static func look(
            _ address: StorageAddress, _ keyset: Keyset, _ connection: inout Open?
        ) -> Result<SlotReader.Answer, BackendError> {
            guard let (finder, header) = connection.map({ ($0.finder, $0.header) }) else { return .success(.closed) }
            do throws(SQLiteFault) {
                var result = try finder.find(address, keyset, inTransaction: false)
                if case .needsTransaction = result {
                    result = try finder.database.inReadTransaction { () throws(SQLiteFault) in
                        try finder.find(address, keyset, inTransaction: true)
                    } _: {
                        $0
                    }
                }
                var answer: SlotReader.Answer
                switch result {
                case .found(let found): answer = .probe(found.probe)
                // Checked after the row was read: if the header is unchanged now, it was unchanged then.
                case .absent: answer = try header.isUnchanged() ? .probe(.absent) : .otherHeader
                case .unknownKey(let id): answer = .unknownKey(id)
                case .needsTransaction: answer = .busy
                }
                // The answer counts only if the table it came from is still the one that belongs here.
                let changes = finder.schemaChanges
                if changes != connection?.schemaChanges {
                    do throws(BackendError) { try finder.database.checkFormat() } catch { return .failure(error) }
                    connection?.schemaChanges = changes
                }
                return .success(answer)
            } catch {
                if error.isBusy { return .success(.busy) }
                // The cause may be a schema that another program has changed.
                do throws(BackendError) { try finder.database.checkFormat() } catch { return .failure(error) }
                return .success(.probe(.unavailable(error.readError())))
            }
        }
    }

    /// Tells whether header and keyset are unchanged, with a statement that is kept.
    private struct HeaderWatch {
        private let statement: Statement
        private let tag: [UInt8]

        init(_ database: Connection, tag: [UInt8]) throws(SQLiteFault) {
            statement = try database.keptStatement(DatabaseFormat.tagQuery)
            self.tag = tag
        }

        func isUnchanged() throws(SQLiteFault) -> Bool {
            defer { statement.reset() }
            return try statement.step() && statement.blob(0).elementsEqual(tag)
        }
    }
#endif
